-- How fast each webhook can be sent to, and when a failed one is probed. A rate is in thousandths of an attempt per
-- second; without one, the webhook's configured rate applies.

ALTER TABLE pace ADD COLUMN rate_milli INTEGER;
ALTER TABLE pace ADD COLUMN halved_at INTEGER;
ALTER TABLE pace ADD COLUMN changed_at INTEGER;

ALTER TABLE webhook_configs ADD COLUMN on_probation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook_configs ADD COLUMN tests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook_configs ADD COLUMN next_test_at INTEGER;
-- Only failed webhooks have one.
CREATE INDEX webhooks_to_test ON webhook_configs (next_test_at) WHERE next_test_at IS NOT NULL;
