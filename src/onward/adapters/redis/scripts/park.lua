-- park: keep the message of a paused run until it goes on. (ports/cluster/timers.py, `park`)
--
-- KEYS  [1] scheduler:timers  [2] scheduler:payloads  [3] scheduler:processing  [4] run:timers
--       [5] run:done
-- ARGV  [1] timer  [2] when to look again at the latest, epoch ms  [3] message
--       [4] what the run itself calls the timer
-- returns  1: kept, 0: the run is not paused (any more): claim the token again
--
-- One that is parked again while a scheduler still holds its last sending is not confirmed away:
-- as a lease, it leaves `processing` and stands.
local done = redis.call('HMGET', KEYS[5], 'by', 'paused')
if done[1] or done[2] ~= '1' then return 0 end
redis.call('SADD', KEYS[4], ARGV[4])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return 1
