-- Events and the bytes of their payloads, counted with the webhook of their first delivery.
ALTER TABLE stats ADD COLUMN published INTEGER NOT NULL DEFAULT 0;
ALTER TABLE stats ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
