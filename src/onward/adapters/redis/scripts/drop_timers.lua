-- drop_timers: timers are cancelled: they are gone. (ports/cluster/timers.py)
--
-- KEYS  [1] scheduler:timers  [2] scheduler:payloads  [3] scheduler:processing  [4] scheduler:leases
--       then for each timer: run:timers of its run
-- ARGV  for each timer: its name among all, and what its run calls it
-- returns  1
--
-- A timer and its place in the run's list go together: one that was unlisted and set again in between
-- would outlive its run.
for at = 1, #ARGV, 2 do
  local timer = ARGV[at]
  redis.call('ZREM', KEYS[1], timer)
  redis.call('ZREM', KEYS[3], timer)
  redis.call('HDEL', KEYS[2], timer)
  redis.call('HDEL', KEYS[4], timer)
  redis.call('SREM', KEYS[4 + (at + 1) / 2], ARGV[at + 1])
end
return 1
