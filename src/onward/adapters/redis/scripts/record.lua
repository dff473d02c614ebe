-- record: fix the outcome of a step before its effects. (kernel/coordination.py, `record`)
--
-- KEYS  [1] run:done  [2] scope:record  [3] scope:fate  [4] scope:live  [5] run:groups
-- ARGV  [1] token  [2] tag  [3] siblings  [4] outcome  [5] scope's group name
-- returns  the outcome on record, or nil: another outcome is already being followed
if over() then return false end
local earlier = redis.call('HGET', KEYS[2], ARGV[1])
if earlier then return earlier end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return false end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[4])
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2] .. US .. ARGV[3])
redis.call('SADD', KEYS[5], ARGV[5])
if ARGV[3] ~= '0' then
  redis.call('SETNX', KEYS[4], 1)
  redis.call('INCRBY', KEYS[4], tonumber(ARGV[3]) - 1)
end
return ARGV[4]
