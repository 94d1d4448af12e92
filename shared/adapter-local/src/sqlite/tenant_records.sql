-- Names and limits of tenants. A tenant without a record has no limits of its own.

CREATE TABLE tenant_records (
  tenant      TEXT NOT NULL PRIMARY KEY,
  updated_at  INTEGER NOT NULL,
  record      TEXT NOT NULL
) STRICT, WITHOUT ROWID;
