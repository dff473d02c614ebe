-- confirm_timers: the tokens of timers are published: the timers are gone. (ports/cluster/timers.py)
--
-- KEYS  [1] scheduler:timers  [2] scheduler:payloads  [3] scheduler:processing  [4] scheduler:leases
--       then for each timer: run:timers of its run
-- ARGV  for each timer: its name among all, and what its run calls it
-- returns  how many are gone; the others are not claimed any more: gone already, or set again
local gone = 0
for at = 1, #ARGV, 2 do
  local timer = ARGV[at]
  if redis.call('ZREM', KEYS[3], timer) == 1 then
    redis.call('HDEL', KEYS[2], timer)
    redis.call('HDEL', KEYS[4], timer)
    redis.call('SREM', KEYS[4 + (at + 1) / 2], ARGV[at + 1])
    gone = gone + 1
  end
end
return gone
