-- The kind of failure of an attempt, and the status code of a delivery's last one.

ALTER TABLE attempts ADD COLUMN kind TEXT;
ALTER TABLE webhook_deliveries ADD COLUMN last_status INTEGER;
