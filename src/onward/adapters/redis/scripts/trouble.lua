-- trouble: note that a message could not be handled and will come again. (ports/cluster/workers.py)
--
-- KEYS  [1] run:done  [2] run:holders
-- ARGV  [1] token  [2] why and when, as JSON
-- returns  1: noted, 0: the run is over
if over() then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1
