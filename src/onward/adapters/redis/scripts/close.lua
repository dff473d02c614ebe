-- close: end a run, once. (kernel/coordination.py, `close`)
--
-- KEYS  [1] run:done  [2] run:fate
-- ARGV  [1] by  [2] unit  [3] completion, or "" to ask only
-- returns  the one completion if it was you who ended the run, else nil
local done = redis.call('HMGET', KEYS[1], 'by', 'completion')
if not done[1] then
  if ARGV[3] == '' then return false end
  local fate = redis.call('HGET', KEYS[2], ARGV[2])
  if fate and last(fate) ~= '0' then return false end
  redis.call('HSET', KEYS[1], 'by', ARGV[1], 'completion', ARGV[3])
  return ARGV[3]
end
if done[1] ~= ARGV[1] or not done[2] then return false end
return done[2]
