-- A run can end as cancelled.

ALTER TABLE execution DROP CONSTRAINT execution_status_check;
ALTER TABLE execution ADD CONSTRAINT execution_status_check
  CHECK (status IN ('running', 'completed', 'failed', 'halted', 'cancelled'));
