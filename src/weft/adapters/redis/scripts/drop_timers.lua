-- drop_timers: timers are cancelled: they are gone. (ports/timers.py)
--
-- KEYS  [1] scheduler:timers  [2] scheduler:payloads  [3] scheduler:processing  [4] scheduler:leases
-- ARGV  timers
-- returns  1
for _, timer in ipairs(ARGV) do
  redis.call('ZREM', KEYS[1], timer)
  redis.call('ZREM', KEYS[3], timer)
  redis.call('HDEL', KEYS[2], timer)
  redis.call('HDEL', KEYS[4], timer)
end
return 1
