-- confirm_timers: the tokens of timers are published: the timers are gone. (ports/timers.py)
--
-- KEYS  [1] scheduler:timers  [2] scheduler:payloads  [3] scheduler:processing  [4] scheduler:leases
-- ARGV  timers
-- returns  for each 1: gone, 0: not claimed any more: it is gone already, or was set again
local answer = {}
for at, timer in ipairs(ARGV) do
  answer[at] = redis.call('ZREM', KEYS[3], timer)
  if answer[at] == 1 then
    redis.call('HDEL', KEYS[2], timer)
    redis.call('HDEL', KEYS[4], timer)
  end
end
return answer
