-- claim: may the bearer of a token execute it? (kernel/coordination.py, `claim`)
--
-- KEYS  [1] run:done  [2] scope:fate  [3] scope:live  [4] scope:owner  [5] scope:record
--       [6] run:groups  [7] run:holders  [8] run:closed
--       then for each frame, outermost first: split:head  split:slot  item:closed
-- ARGV  [1] token  [2] publish id  [3] parent  [4] outcome  [5] siblings  [6] scope's group name
--       [7] the worker that asks, or ""  then for each frame: item index
-- returns  {"drop", why} | {"finish", depth} | {"park"} | {"run"} | {"run", recorded outcome}
--
-- key          type    meaning
-- run:done     hash    born (absent: the state was lost), by, completion (absent once the run is
--                      forgotten), forgetting (nobody may write), paused (1: nothing may begin)
-- *:closed     hash    by, error: the scope is closed and its slot not yet filled
-- scope:fate   hash    step -> tag US children: the outcome that is being followed
-- scope:live   string  tokens alive in the scope (1 when absent)
-- scope:owner  hash    token -> publish id of the copy that runs
-- scope:record hash    token -> outcome fixed before several effects
-- split:head   hash    total window budget next filled failed closed_by verdict discarded
-- split:slot   hash    index -> by US start US count
-- run:groups   set     every group that has keys, for the final clean-up
-- run:holders  hash    token -> worker US since, epoch ms: a note, no script reads it
local token = ARGV[1]
local closure = closed(token, 8, 7)
if closure == 'other' then return {'drop', 'closed'} end
if closure == 'lost' then return {'drop', 'lost'} end
if closure ~= '' then return {'finish', closure} end
if redis.call('HGET', KEYS[1], 'paused') == '1' then return {'park'} end

local fate = redis.call('HGET', KEYS[2], ARGV[3])
if not fate then
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[4] .. US .. ARGV[5])
  redis.call('SETNX', KEYS[3], 1)
  redis.call('INCRBY', KEYS[3], tonumber(ARGV[5]) - 1)
  redis.call('SADD', KEYS[6], ARGV[6])
elseif string.match(fate, '^(.*)' .. US) ~= ARGV[4] then
  return {'drop', 'superseded'}
end
if redis.call('HSETNX', KEYS[4], token, ARGV[2]) == 0
    and redis.call('HGET', KEYS[4], token) ~= ARGV[2] then
  return {'drop', 'duplicate'}
end
local recorded = redis.call('HGET', KEYS[5], token)
local own = not recorded and redis.call('HGET', KEYS[2], token)
if own and last(own) == '1' then return {'drop', 'settled'} end
if ARGV[7] ~= '' then
  local now = redis.call('TIME')
  redis.call('HSET', KEYS[7], token, ARGV[7] .. US .. now[1] .. string.format('%03d', now[2] / 1000))
end
return {'run', recorded or nil}
