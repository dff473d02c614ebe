-- await: wait for a signal, or take one that was kept. (kernel/coordination.py, `await_signal`)
--
-- KEYS  [1] run:done  [2] run:signal  [3] run:waiter  [4] run:heard  [5] scope:taken  [6] run:groups
--       [7] run:closed  then for each frame: split:head  split:slot  item:closed
-- ARGV  [1] unit  [2] address  [3] scope's group name  [4] split US index US split US index ...
--       then for each frame: item index
-- returns  {signal, content}: taken  |  nil: it waits, or its scope or the run is over
--
-- key          type  meaning
-- scope:taken  hash  unit -> packed {signal or "", content}: what its wait came to
-- run:signal   hash  address -> packed list of {signal, content} that nobody has taken
-- run:waiter   hash  address -> packed list of {unit, scope, path}: who waits, and in which items
-- run:heard    hash  signal -> the unit that has it, or ""
local unit, address, scope = ARGV[1], ARGV[2], ARGV[3]
if over(unit) then return false end
if closed(unit, 7, 4) ~= '' then return false end
local taken = redis.call('HGET', KEYS[5], unit)
if taken then return cmsgpack.unpack(taken) end
local kept = redis.call('HGET', KEYS[2], address)
kept = kept and cmsgpack.unpack(kept) or {}
if kept[1] then
  local first = table.remove(kept, 1)
  redis.call('HSET', KEYS[2], address, cmsgpack.pack(kept))
  redis.call('HSET', KEYS[4], first[1], unit)
  redis.call('HSET', KEYS[5], unit, cmsgpack.pack(first))
  redis.call('SADD', KEYS[6], '', scope)
  return first
end
local waiting = redis.call('HGET', KEYS[3], address)
waiting = waiting and cmsgpack.unpack(waiting) or {}
for _, one in ipairs(waiting) do
  if one[1] == unit then return false end
end
waiting[#waiting + 1] = {unit, scope, ARGV[4]}
redis.call('HSET', KEYS[3], address, cmsgpack.pack(waiting))
redis.call('SADD', KEYS[6], '')
return false
