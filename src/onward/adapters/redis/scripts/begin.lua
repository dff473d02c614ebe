-- begin: the run may begin: its tokens find a state. (kernel/coordination.py, `begin`)
--
-- KEYS  [1] run:done
-- returns  1: begun, 0: the run has ended
if redis.call('HEXISTS', KEYS[1], 'by') == 1 then return 0 end
redis.call('HSET', KEYS[1], 'born', 1)
return 1
