-- mark: a probe has come through the queue. (ports/cluster/liveness.py, `mark`)
--
-- KEYS  [1] run:done
-- ARGV  [1] probe
-- returns  1, or 0: the run is over or its state is lost
if over() then return 0 end
redis.call('HSET', KEYS[1], 'probe', ARGV[1])
return 1
