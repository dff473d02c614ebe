-- scatter: declare the barrier of one run of a split. (kernel/coordination.py, `scatter`)
--
-- KEYS  [1] run:done  [2] split:head  [3] split:origin  [4] scope:split  [5] run:groups
--       [6] run:closed  then for each frame: split:head  split:slot  item:closed
-- ARGV  [1] split  [2] total  [3] window  [4] budget or ""  [5] origin  [6] scope's group name
--       then for each frame: item index
-- returns  1: send the items, 0: the barrier is closed, or the scope or the run is over
if over() then return 0 end
if closed(ARGV[1], 6, 6) ~= '' then return 0 end
if redis.call('EXISTS', KEYS[2]) == 1 then
  return 1 - redis.call('HEXISTS', KEYS[2], 'closed_by')
end
redis.call('HSET', KEYS[2], 'total', ARGV[2], 'window', ARGV[3], 'budget', ARGV[4],
  'next', math.min(tonumber(ARGV[2]), tonumber(ARGV[3])), 'filled', 0, 'failed', 0)
redis.call('SET', KEYS[3], ARGV[5])
redis.call('HSET', KEYS[4], ARGV[1], 1)
redis.call('SADD', KEYS[5], ARGV[1], ARGV[6])
return 1
