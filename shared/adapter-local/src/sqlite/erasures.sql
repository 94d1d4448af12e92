-- Erasures and the deletion of tenants. `erasure` is JSON: how far it has come, then the record of it.
CREATE TABLE erasures (
  tenant    TEXT NOT NULL,
  id        TEXT NOT NULL,
  begun_at  INTEGER NOT NULL,
  is_open   INTEGER NOT NULL,
  erasure   TEXT NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX erasures_newest ON erasures (tenant, begun_at, id);
CREATE INDEX erasures_open ON erasures (tenant, id) WHERE is_open = 1;

-- When the content of an event was erased.
ALTER TABLE events ADD COLUMN erased_at INTEGER;

-- A deleted tenant does not exist, but the version of its webhooks goes on if it is created again: a process may still
-- have the old ones in memory.
ALTER TABLE tenants ADD COLUMN is_deleted INTEGER NOT NULL DEFAULT 0;
