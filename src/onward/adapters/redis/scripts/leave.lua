-- leave: a unit leaves its scope; the last one closes it. (kernel/coordination.py, `leave`)
--
-- KEYS  [1] run:done  [2] scope:closed  [3] scope:left  [4] scope:fate  [5] scope:live  [6] run:groups
--       and for an item's scope  [7] split:slot  [8] split:head
-- ARGV  [1] by  [2] unit, or "" to ask only  [3] value  [4] scope's group name  [5] item index
-- returns  {"open"} | {"closed"} (the caller reads scope:left) | {"aborted", error} | {"filed"}
local by = ARGV[1]
if over(by) then return {'open'} end
if #KEYS > 6 then
  local slot = redis.call('HGET', KEYS[7], ARGV[5])
  if slot then
    if first(slot) == by then return {'filed'} end
    return {'open'}
  end
  if not holds(KEYS[8], by) then return {'open'} end
end
local closed = redis.call('HMGET', KEYS[2], 'by', 'error')
if closed[1] then
  if closed[1] ~= by then return {'open'} end
  if closed[2] then return {'aborted', closed[2]} end
  return {'closed'}
end
local unit = ARGV[2]
if unit == '' or redis.call('HEXISTS', KEYS[3], unit) == 1 then return {'open'} end
local fate = redis.call('HGET', KEYS[4], unit)
if fate and last(fate) ~= '0' then return {'open'} end
redis.call('HSET', KEYS[3], unit, ARGV[3])
redis.call('SADD', KEYS[6], ARGV[4])
if not fate then redis.call('HSET', KEYS[4], unit, 'end' .. US .. '0') end
redis.call('SETNX', KEYS[5], 1)
if redis.call('DECR', KEYS[5]) ~= 0 then return {'open'} end
redis.call('HSET', KEYS[2], 'by', by)
return {'closed'}
