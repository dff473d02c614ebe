-- adjust: change the window and the budget of a barrier. (kernel/coordination.py, `adjust`)
--
-- KEYS  [1] run:done  [2] split:head
-- ARGV  [1] window  [2] budget or ""
-- returns  1, or 0: the barrier is closed or not there, or the run is over
if over() or not holds(KEYS[2]) then return 0 end
redis.call('HSET', KEYS[2], 'window', ARGV[1], 'budget', ARGV[2])
return 1
