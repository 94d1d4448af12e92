-- Whether a webhook failed right after it was resumed.

ALTER TABLE webhook_configs ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
