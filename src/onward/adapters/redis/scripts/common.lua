-- common: what every script begins with (`scripting.py` puts it in front).
--
-- KEYS  [1] is run:done in every script about a run
-- US          separates the parts of a value
-- over(by)    has the run ended, or is its state lost, so that the bearer of `by` gets no answer?
-- first(v)    the part of a value before the first separator
-- last(v)     the part of a value behind the last separator
-- holds(...)  does a barrier still wait for its items?
-- closed(...) is the run, or a scope on a lineage, closed? "" no, "lost", "other", or the depth that
--             `by` closed
local US = '\31'

local function over(by)
  local done = redis.call('HMGET', KEYS[1], 'by', 'completion', 'forgetting', 'born')
  return not done[4] or done[1] and (not done[2] or done[3] or (by and done[1] ~= by))
end

local function first(value) return string.match(value, '^([^' .. US .. ']*)') end

local function last(value) return string.match(value, '([^' .. US .. ']*)$') end

-- Does the barrier whose head is at `key` still wait for its items, as far as `by` is concerned?
local function holds(key, by)
  local head = redis.call('HMGET', key, 'total', 'closed_by', 'discarded')
  return head[1] and not head[3] and (not head[2] or head[2] == by)
end

-- The frames' keys (split:head, split:slot, item:closed) begin at KEYS[key + 1], outermost first, and
-- the indexes of their items at ARGV[argument + 1]. KEYS[key] is run:closed.
local function closed(by, key, argument)
  local function mine(owner, depth) return owner == by and tostring(depth) or 'other' end
  local done = redis.call('HMGET', KEYS[1], 'by', 'completion', 'born')
  if done[1] then return done[2] and mine(done[1], 0) or 'other' end
  if not done[3] then return 'lost' end
  local root = redis.call('HGET', KEYS[key], 'by')
  if root then return mine(root, 0) end
  for depth = 1, (#KEYS - key) / 3 do
    local at = key + (depth - 1) * 3
    if not holds(KEYS[at + 1], by) then return 'other' end
    local slot = redis.call('HGET', KEYS[at + 2], ARGV[argument + depth])
    if slot then return mine(first(slot), depth) end
    local owner = redis.call('HGET', KEYS[at + 3], 'by')
    if owner then return mine(owner, depth) end
  end
  return ''
end
