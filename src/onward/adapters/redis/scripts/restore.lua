-- restore: put an outcome on record that history knows. (kernel/coordination.py, `restore`)
--
-- KEYS  [1] run:done  [2] scope:record  [3] run:groups
-- ARGV  [1] token  [2] outcome  [3] scope's group name
-- returns  1, or 0: the run has ended
if redis.call('HEXISTS', KEYS[1], 'by') == 1 then return 0 end
redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2])
redis.call('SADD', KEYS[3], ARGV[3])
return 1
