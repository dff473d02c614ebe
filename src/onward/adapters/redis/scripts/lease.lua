-- lease: keep the message of a long node as a timer that its owner moves on. (ports/cluster/workers.py)
--
-- KEYS  [1] scheduler:timers  [2] scheduler:payloads  [3] scheduler:processing  [4] scheduler:leases
--       [5] run:timers
-- ARGV  [1] take | extend | end  [2] timer  [3] what the run calls it  [4] owner
--       [5] end of the lease, epoch ms  [6] message
-- returns  1: done, 0: the lease is not the owner's any more
--
-- key               type  meaning
-- scheduler:leases  hash  timer -> owner: which of the timers are leases, and whose
--
-- A lease stands while it is in `timers`. A scheduler that finds it due moves it to `processing`: from
-- then on it is nobody's, and its message is on its way to another worker.
local mode, timer, owner = ARGV[1], ARGV[2], ARGV[4]
if mode == 'take' then
  redis.call('SADD', KEYS[5], ARGV[3])
  redis.call('HSET', KEYS[2], timer, ARGV[6])
  redis.call('HSET', KEYS[4], timer, owner)
  redis.call('ZREM', KEYS[3], timer)
  redis.call('ZADD', KEYS[1], ARGV[5], timer)
  return 1
end
if redis.call('HGET', KEYS[4], timer) ~= owner then return 0 end
if mode == 'extend' then
  if not redis.call('ZSCORE', KEYS[1], timer) then return 0 end
  redis.call('ZADD', KEYS[1], ARGV[5], timer)
  return 1
end
redis.call('SREM', KEYS[5], ARGV[3])
redis.call('ZREM', KEYS[1], timer)
redis.call('ZREM', KEYS[3], timer)
redis.call('HDEL', KEYS[2], timer)
redis.call('HDEL', KEYS[4], timer)
return 1
