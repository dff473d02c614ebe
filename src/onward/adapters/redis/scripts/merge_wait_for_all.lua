-- merge_wait_for_all: a token arrives at a merge, dead edges complete one, or its time is up.
-- (kernel/coordination.py, `arrive`, `try_open` and `expire_merge`; `any` and `n` are quotas)
--
-- KEYS  [1] run:done  [2] scope:arrival  [3] scope:merge  [4] scope:dead  [5] scope:live  [6] run:groups
-- ARGV  [1] arrive | try | expire  [2] node  [3] by  [4] quota or ""  [5] edge  [6] unit  [7] payload
--       [8] scope's group name  [9...] expected edges
-- returns  {"none"} | {"late"} | {"pending", arrived} | {"opened", edge, payload, edge, payload ...}
local mode, node, by = ARGV[1], ARGV[2], ARGV[3]
if over(by) then return {mode == 'arrive' and 'late' or 'none'} end
local merge = redis.call('HGET', KEYS[3], node)
if mode == 'arrive' then
  local field = node .. US .. ARGV[5]
  local arrival = redis.call('HGET', KEYS[2], field)
  if arrival then
    if first(arrival) ~= ARGV[6] then return {'late'} end
  elseif merge then
    return {'late'}
  else
    redis.call('HSET', KEYS[2], field, ARGV[6] .. US .. ARGV[7])
    redis.call('SADD', KEYS[6], ARGV[8])
  end
end

local arrived, payloads, complete = 0, {}, true
for at = 9, #ARGV do
  local edge = ARGV[at]
  local arrival = redis.call('HGET', KEYS[2], node .. US .. edge)
  if arrival then
    arrived = arrived + 1
    payloads[#payloads + 1] = edge
    payloads[#payloads + 1] = string.sub(arrival, string.find(arrival, US, 1, true) + 1)
  elseif redis.call('HEXISTS', KEYS[4], edge) == 0 then
    complete = false
  end
end
local function closed() return {mode == 'arrive' and 'pending' or 'none', tostring(arrived)} end
if not merge then
  local enough = ARGV[4] ~= '' and arrived >= tonumber(ARGV[4])
  if arrived == 0 or not (mode == 'expire' or complete or enough) then return closed() end
  merge = by .. US .. '0'
  redis.call('HSET', KEYS[3], node, merge)
  redis.call('SETNX', KEYS[5], 1)
  redis.call('INCRBY', KEYS[5], 1 - arrived)
end
if merge ~= by .. US .. '0' then return closed() end
table.insert(payloads, 1, 'opened')
return payloads
