-- Version 2: inbound senders. A request names the source alone, so its id is the key. Secrets are in sealed alone,
-- encrypted.

CREATE TABLE sources (
  id          TEXT NOT NULL PRIMARY KEY,
  tenant      TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  settings    TEXT NOT NULL,
  sealed      BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sources_of_tenant ON sources (tenant, id);
