-- Version 2: inbound sources. A request names only the source, so its id is the key. Secrets are only in sealed,
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
