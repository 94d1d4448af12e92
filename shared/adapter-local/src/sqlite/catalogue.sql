-- What a tenant says about its event types. `entry` is JSON.

CREATE TABLE event_types (
  tenant  TEXT NOT NULL,
  name    TEXT NOT NULL,
  entry   TEXT NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
