-- discard_split: keep only the tombstone of a barrier. (kernel/coordination.py, `discard_split`)
--
-- KEYS  [1] run:done  [2] split:head  [3] split:slot  [4] split:results  [5] split:origin
-- returns  1
if over() then return 1 end
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('HSET', KEYS[2], 'discarded', 1)
  redis.call('UNLINK', KEYS[3], KEYS[4], KEYS[5])
end
return 1
