-- hasten_timer: let a timer be due now, and wake the schedulers. (ports/cluster/timers.py, `hasten`)
--
-- KEYS  [1] scheduler:timers
-- ARGV  [1] timer  [2] now, epoch ms  [3] channel to wake schedulers on
-- returns  1: it is due, 0: there is no such timer, or a scheduler is sending it
local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not due then return 0 end
if tonumber(due) > tonumber(ARGV[2]) then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
  redis.call('PUBLISH', ARGV[3], ARGV[2])
end
return 1
