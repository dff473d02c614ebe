-- poll_timers: lease timers that are due, and those whose lease has run out. (RFC 006, 5.2 and 7.1)
--
-- KEYS  [1] scheduler:timers  [2] scheduler:payloads  [3] scheduler:processing
-- ARGV  [1] now, epoch ms  [2] end of the lease, epoch ms  [3] most timers  [4] most bytes of tokens
-- returns  {timer, token, timer, token ...}
--
-- A timer moves from `timers` to `processing` here and is gone only when it is confirmed, so a
-- scheduler that dies in between loses nothing. One at least is leased, however large its token.
local answer, bytes = {}, 0

-- Lease what is due in the sorted set at `key`; false when no more may be leased this time.
local function lease(key)
  local due = redis.call('ZRANGEBYSCORE', key, '-inf', ARGV[1], 'LIMIT', 0,
    tonumber(ARGV[3]) - #answer / 2)
  for _, timer in ipairs(due) do
    local token = redis.call('HGET', KEYS[2], timer)
    if token then
      bytes = bytes + #token
      if #answer > 0 and bytes > tonumber(ARGV[4]) then return false end
      answer[#answer + 1] = timer
      answer[#answer + 1] = token
    end
    if key ~= KEYS[3] or not token then redis.call('ZREM', key, timer) end
    if token then redis.call('ZADD', KEYS[3], ARGV[2], timer) end
  end
  return true
end

if lease(KEYS[3]) then lease(KEYS[1]) end
return answer
