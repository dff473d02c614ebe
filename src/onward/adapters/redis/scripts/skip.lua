-- skip: mark edges dead, then read back every dead edge of the scope. (kernel/coordination.py, `skip`)
--
-- KEYS  [1] run:done  [2] scope:dead  [3] run:groups
-- ARGV  [1] scope's group name  [2...] edges
-- returns  all dead edges, or nil: the run is over
if over() then return false end
for at = 2, #ARGV do redis.call('HSET', KEYS[2], ARGV[at], 1) end
redis.call('SADD', KEYS[3], ARGV[1])
return redis.call('HKEYS', KEYS[2])
