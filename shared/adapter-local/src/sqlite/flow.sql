-- First attempts and retries of a webhook are read separately: a retry may have to wait for its rate, and the first
-- attempts behind it must be found without reading it.

DROP INDEX deliveries_wake;
ALTER TABLE webhook_deliveries ADD COLUMN is_retry INTEGER AS (attempts_total > 0);
CREATE INDEX deliveries_wake ON webhook_deliveries (tenant, webhook_id, is_retry, wake_at) WHERE wake_at IS NOT NULL;
