-- pause: let nothing of a run begin, or let it again. (kernel/coordination.py, `pause`)
--
-- KEYS  [1] run:done
-- ARGV  [1] 1 to pause, 0 to go on
-- returns  1, or 0: the run has ended, or its state is lost
local done = redis.call('HMGET', KEYS[1], 'by', 'born')
if done[1] or not done[2] then return 0 end
redis.call('HSET', KEYS[1], 'paused', ARGV[1])
return 1
