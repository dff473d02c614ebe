-- deliver: give a signal to the first who waits for it, or keep it. (kernel/coordination.py, `deliver`)
--
-- KEYS  [1] run:done  [2] run:signal  [3] run:waiter  [4] run:heard  [5] run:groups  [6] run:closed
--       and the keys of the items that those who wait are in (same hash tag, so the same slot)
-- ARGV  [1] signal  [2] address  [3] content  [4] what the run's keys begin with
-- returns  the unit that has it, or nil: it is kept, or the run is over
local signal, address, prefix = ARGV[1], ARGV[2], ARGV[4]
if over(signal) then return false end
local heard = redis.call('HGET', KEYS[4], signal)
if heard then return heard ~= '' and heard end

-- Is a scope on the path of somebody who waits closed? As `closed`, for whoever it was.
local function gone(path)
  if redis.call('HEXISTS', KEYS[6], 'by') == 1 then return true end
  for split, index in string.gmatch(path, '([^' .. US .. ']+)' .. US .. '([^' .. US .. ']+)') do
    local at = prefix .. split
    if not holds(at .. ':head', '') then return true end
    if redis.call('HEXISTS', at .. ':slot', index) == 1 then return true end
    if redis.call('HEXISTS', at .. '/' .. index .. ':closed', 'by') == 1 then return true end
  end
  return false
end

local waiting = redis.call('HGET', KEYS[3], address)
waiting = waiting and cmsgpack.unpack(waiting) or {}
while waiting[1] do
  local unit, scope, path = unpack(table.remove(waiting, 1))
  if not gone(path) then
    redis.call('HSET', KEYS[3], address, cmsgpack.pack(waiting))
    redis.call('HSET', KEYS[4], signal, unit)
    local group = scope == '' and 'run' or scope
    redis.call('HSET', prefix .. group .. ':taken', unit, cmsgpack.pack({signal, ARGV[3]}))
    redis.call('SADD', KEYS[5], '', scope)
    return unit
  end
end
redis.call('HDEL', KEYS[3], address)
local kept = redis.call('HGET', KEYS[2], address)
kept = kept and cmsgpack.unpack(kept) or {}
kept[#kept + 1] = {signal, ARGV[3]}
redis.call('HSET', KEYS[2], address, cmsgpack.pack(kept))
redis.call('HSET', KEYS[4], signal, '')
redis.call('SADD', KEYS[5], '')
return false
