-- First attempts and retries of a webhook are read separately: a retry may have to wait for its rate, and the first
-- attempts behind it must be found without reading it.

DROP INDEX deliveries_wake;
ALTER TABLE webhook_deliveries ADD COLUMN is_retry INTEGER AS (attempts_total > 0);
-- Rows of stopped webhooks used to be marked, and were freed when the webhook was resumed.
UPDATE webhook_deliveries SET parked = 0, paced = 0 WHERE parked = 1;
CREATE INDEX deliveries_wake ON webhook_deliveries (tenant, webhook_id, is_retry, wake_at) WHERE wake_at IS NOT NULL;
