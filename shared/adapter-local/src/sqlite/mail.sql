-- The last failure, as JSON, for the e-mail to the webhook's owner.
ALTER TABLE webhook_configs ADD COLUMN last_failure TEXT;

-- The mail outbox: e-mails about failing webhooks, inserted with the change they report. An e-mail that was sent, or
-- never will be, has no due_at; it stays for a while so the owner is not notified twice.
CREATE TABLE letters (
  id          INTEGER PRIMARY KEY,
  tenant      TEXT NOT NULL,
  webhook_id  TEXT NOT NULL,
  trouble     TEXT NOT NULL,
  episode     INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  event       TEXT NOT NULL,
  tries       INTEGER NOT NULL DEFAULT 0,
  refusals    INTEGER NOT NULL DEFAULT 0,
  due_at      INTEGER
) STRICT;
CREATE INDEX letters_due ON letters (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX letters_about ON letters (tenant, webhook_id, trouble, episode);
