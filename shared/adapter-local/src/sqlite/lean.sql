-- A delivery that its first attempt delivers leaves less behind: the attempt is in its row, not in a table of its own.
ALTER TABLE webhook_deliveries ADD COLUMN first_attempt TEXT;

-- Without AUTOINCREMENT, which writes a second table for every notification. A sequence number is still not used twice: the
-- newest notification is never deleted, only emptied, so that no tenant sees it.
CREATE TABLE notifications (
  seq     INTEGER PRIMARY KEY,
  tenant  TEXT NOT NULL,
  kind    TEXT NOT NULL,
  at      INTEGER NOT NULL,
  event   TEXT NOT NULL
) STRICT;
INSERT INTO notifications SELECT seq, tenant, kind, at, event FROM outbox;
INSERT INTO notifications SELECT seq, '', '', 0, '' FROM sqlite_sequence
  WHERE name = 'outbox' AND seq > coalesce((SELECT max(seq) FROM outbox), 0);
DROP TABLE outbox;
ALTER TABLE notifications RENAME TO outbox;
