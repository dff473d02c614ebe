-- forget: drop a run that has ended but for its tombstone, if it is small. (RedisCoordinator._forget)
--
-- KEYS  [1] run:done  [2] run:groups  [3] run:holders  then every key of the run's own group
-- ARGV  [1] seconds that the tombstone stays
-- returns  0 the run has not ended  |  1 it is forgotten
--          2 it has more groups: nobody may write any more, and the caller drops them page by page
if redis.call('HEXISTS', KEYS[1], 'by') == 0 then return 0 end
local groups = redis.call('SCARD', KEYS[2])
if groups > 1 or (groups == 1 and redis.call('SISMEMBER', KEYS[2], '') == 0) then
  redis.call('HSET', KEYS[1], 'forgetting', 1)
  return 2
end
redis.call('UNLINK', unpack(KEYS, 2))
redis.call('HDEL', KEYS[1], 'completion', 'forgetting', 'paused')
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
