-- overdue: close a split barrier that took too long. (kernel/coordination.py, `overdue`)
--
-- KEYS  [1] run:done  [2] split:head  [3] split:origin
-- ARGV  [1] by
-- returns  the origin, or nil: it opened first
if over(ARGV[1]) then return false end
if not holds(KEYS[2], ARGV[1]) then return false end
if redis.call('HSETNX', KEYS[2], 'closed_by', ARGV[1]) == 1 then
  redis.call('HSET', KEYS[2], 'verdict', 'overdue')
end
return redis.call('GET', KEYS[3])
