-- Why a row waits is not on the row: the columns parked and paced are gone, and a row can be claimed unless it is closed or
-- held. A column cannot be dropped while a view, an index or another column uses it.

DROP VIEW webhook_deliveries_with_payload;
DROP INDEX deliveries_wake;
ALTER TABLE webhook_deliveries DROP COLUMN wake_at;
ALTER TABLE webhook_deliveries DROP COLUMN parked;
ALTER TABLE webhook_deliveries DROP COLUMN paced;

-- When a row that can be claimed is due; null for one that is closed or held.
ALTER TABLE webhook_deliveries ADD COLUMN wake_at INTEGER AS (CASE WHEN status IN ('pending', 'failed')
  AND lease_process IS NULL THEN next_retry_at END);
CREATE INDEX deliveries_wake ON webhook_deliveries (tenant, webhook_id, is_retry, wake_at) WHERE wake_at IS NOT NULL;
CREATE VIEW webhook_deliveries_with_payload AS
  SELECT d.*, e.payload FROM webhook_deliveries AS d JOIN events AS e ON e.id = d.event;

-- Deleted webhooks that may still have open rows, which the sweep ends.
CREATE TABLE deleted_webhooks (
  tenant      TEXT NOT NULL,
  webhook_id  TEXT NOT NULL,
  PRIMARY KEY (tenant, webhook_id)
) STRICT, WITHOUT ROWID;
INSERT INTO deleted_webhooks
  SELECT DISTINCT tenant, webhook_id FROM webhook_deliveries AS d
  WHERE status IN ('pending', 'failed')
    AND NOT EXISTS (SELECT 1 FROM webhook_configs AS w WHERE w.tenant = d.tenant AND w.id = d.webhook_id);
