-- resolve: which signal has a unit taken? One that has none gives up. (kernel/coordination.py, `resolve`)
--
-- KEYS  [1] run:done  [2] run:signal  [3] run:waiter  [4] run:heard  [5] scope:taken  [6] run:groups
-- ARGV  [1] by  [2] address  [3] unit  [4] scope's group name
-- returns  {signal or "", content}  |  nil: the run is over
if over(ARGV[1]) then return false end
local taken = redis.call('HGET', KEYS[5], ARGV[3])
if taken then return cmsgpack.unpack(taken) end
local waiting = redis.call('HGET', KEYS[3], ARGV[2])
if waiting then
  local left = {}
  for _, one in ipairs(cmsgpack.unpack(waiting)) do
    if one[1] ~= ARGV[3] then left[#left + 1] = one end
  end
  redis.call('HSET', KEYS[3], ARGV[2], cmsgpack.pack(left))
end
redis.call('HSET', KEYS[5], ARGV[3], cmsgpack.pack({'', ''}))
redis.call('SADD', KEYS[6], '', ARGV[4])
return {'', ''}
