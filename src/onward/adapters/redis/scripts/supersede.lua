-- supersede: close a state for good, unless the run ended in it. (kernel/coordination.py, `supersede`)
--
-- KEYS  [1] run:done
-- ARGV  [1] who says so
-- returns  the completion if the run has ended and is not forgotten, else nil
local done = redis.call('HMGET', KEYS[1], 'by', 'completion')
if done[2] then return done[2] end
if not done[1] then redis.call('HSET', KEYS[1], 'by', ARGV[1]) end
return false
