-- poll_timers: lease timers that are due, and those whose lease has run out. (RFC 006, 5.2 and 7.1)
--
-- KEYS  [1] scheduler:timers  [2] scheduler:payloads  [3] scheduler:processing
-- ARGV  [1] now, epoch ms  [2] end of the lease, epoch ms  [3] limit
-- returns  {timer, token, timer, token ...}
--
-- A timer moves from `timers` to `processing` here and is gone only when it is confirmed, so a
-- scheduler that dies in between loses nothing.
local late = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
for _, timer in ipairs(late) do redis.call('ZADD', KEYS[3], ARGV[2], timer) end
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0,
  tonumber(ARGV[3]) - #late)
for _, timer in ipairs(due) do
  redis.call('ZREM', KEYS[1], timer)
  redis.call('ZADD', KEYS[3], ARGV[2], timer)
  late[#late + 1] = timer
end
local answer = {}
for _, timer in ipairs(late) do
  local token = redis.call('HGET', KEYS[2], timer)
  if token then
    answer[#answer + 1] = timer
    answer[#answer + 1] = token
  else
    redis.call('ZREM', KEYS[3], timer)
  end
end
return answer
