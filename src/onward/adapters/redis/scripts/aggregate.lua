-- aggregate: fill one slot of a split barrier. (kernel/coordination.py, `fill`)
--
-- KEYS  [1] run:done  [2] split:head  [3] split:slot  [4] split:results  [5] split:origin
--       [6] run:groups  [7] item:split  then every other key of the item's scope, which ends here;
--       the barriers that item:split names end with it (same hash tag, so the same slot)
-- ARGV  [1] by  [2] item index  [3] value  [4] failed (0 or 1)  [5] item scope's group name
--       [6] what the run's keys begin with
-- returns  nil: somebody else filled it, or the barrier is closed
--          {verdict, start, count, filled, failed, total, origin}
local by, index = ARGV[1], ARGV[2]
if over(by) then return false end
local head = redis.call('HMGET', KEYS[2], 'total', 'window', 'budget', 'next', 'filled', 'failed',
  'closed_by', 'verdict', 'discarded')
if not head[1] or head[9] then return false end
local total, window, next = tonumber(head[1]), tonumber(head[2]), tonumber(head[4])
local filled, failed = tonumber(head[5]), tonumber(head[6])
local closed_by, verdict = head[7], head[8] or ''
local start, count
local slot = redis.call('HGET', KEYS[3], index)
if slot then
  local owner, from, many = string.match(slot, '^(.*)' .. US .. '(.*)' .. US .. '(.*)$')
  if owner ~= by then return false end
  start, count = from, many
else
  if closed_by then return false end
  filled, failed = filled + 1, failed + tonumber(ARGV[4])
  local over = head[3] ~= '' and failed > tonumber(head[3])
  start, count = next, 0
  if not over then count = math.max(0, math.min(window - (next - filled), total - next)) end
  if over then verdict = 'failed' elseif filled == total then verdict = 'opened' end
  redis.call('HSET', KEYS[2], 'filled', filled, 'failed', failed, 'next', next + count)
  if verdict ~= '' then
    redis.call('HSET', KEYS[2], 'closed_by', by, 'verdict', verdict)
    closed_by = by
  end
  redis.call('HSET', KEYS[3], index, by .. US .. start .. US .. count)
  redis.call('HSET', KEYS[4], index, ARGV[3])
  for _, inner in ipairs(redis.call('HKEYS', KEYS[7])) do
    for _, kind in ipairs({'head', 'slot', 'results', 'origin'}) do
      redis.call('UNLINK', ARGV[6] .. inner .. ':' .. kind)
    end
    redis.call('SREM', KEYS[6], inner)
  end
  for at = 7, #KEYS do redis.call('UNLINK', KEYS[at]) end
  redis.call('SREM', KEYS[6], ARGV[5])
end
if closed_by ~= by then verdict = '' end
return {verdict, tostring(start), tostring(count), tostring(filled), tostring(failed),
  tostring(total), redis.call('GET', KEYS[5])}
