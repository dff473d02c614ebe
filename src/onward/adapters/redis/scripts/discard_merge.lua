-- discard_merge: drop what arrived at a merge; its tombstone and the units' names stay.
-- (kernel/coordination.py, `discard_merge`)
--
-- KEYS  [1] run:done  [2] scope:merge  [3] scope:arrival
-- ARGV  [1] node  [2...] edges into it
-- returns  1
if over() then return 1 end
local merge = redis.call('HGET', KEYS[2], ARGV[1])
if not merge then return 1 end
redis.call('HSET', KEYS[2], ARGV[1], string.match(merge, '^(.*)' .. US) .. US .. '1')
for at = 2, #ARGV do
  local field = ARGV[1] .. US .. ARGV[at]
  local arrival = redis.call('HGET', KEYS[3], field)
  if arrival then
    redis.call('HSET', KEYS[3], field, first(arrival) .. US)
  end
end
return 1
