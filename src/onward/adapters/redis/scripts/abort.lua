-- abort: close an item's scope with an error. (kernel/coordination.py, `abort`)
--
-- KEYS  [1] run:done  [2] scope:closed  [3] scope:fate  [4] split:slot  [5] split:head  [6] run:groups
-- ARGV  [1] by  [2] unit  [3] error  [4] item index  [5] scope's group name
-- returns  1: it was you, 0: somebody else was first
local by = ARGV[1]
if over(by) then return 0 end
local slot = redis.call('HGET', KEYS[4], ARGV[4])
if slot then
  return first(slot) == by and 1 or 0
end
local closed_by = redis.call('HGET', KEYS[2], 'by')
if closed_by then return closed_by == by and 1 or 0 end
local fate = redis.call('HGET', KEYS[3], ARGV[2])
if fate and last(fate) ~= '0' then return 0 end
if not holds(KEYS[5], by) then return 0 end
redis.call('HSET', KEYS[2], 'by', by, 'error', ARGV[3])
redis.call('SADD', KEYS[6], ARGV[5])
return 1
