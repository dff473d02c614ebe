-- set_timer: set a timer; the first setting stands. (ports/cluster/timers.py, `set`)
--
-- KEYS  [1] scheduler:timers  [2] scheduler:payloads  [3] scheduler:processing  [4] run:timers
--       [5] run:done
-- ARGV  [1] timer  [2] due, epoch ms  [3] token  [4] channel to wake schedulers on
--       [5] what the run itself calls the timer
-- returns  1: set, 0: it was set before, or the run has ended: whoever was slow to notice leaves nothing
--
-- key                   type  meaning
-- scheduler:timers      zset  timer -> when it is due, epoch ms
-- scheduler:processing  zset  timer -> when the lease of the scheduler that claimed it runs out
-- scheduler:payloads    hash  timer -> the token it sends
-- run:timers            set   the timers that were set for the run, to cancel when it ends
if redis.call('HEXISTS', KEYS[5], 'by') == 1 then return 0 end
redis.call('SADD', KEYS[4], ARGV[5])
if redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[3]) == 0 then return 0 end
local earliest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
if not earliest[2] or tonumber(ARGV[2]) < tonumber(earliest[2]) then
  redis.call('PUBLISH', ARGV[4], ARGV[2])
end
return 1
