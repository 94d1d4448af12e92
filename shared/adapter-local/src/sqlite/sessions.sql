-- Sessions of the Inspector that were ended by logging out, until they would have ended anyway.

CREATE TABLE ended_sessions (
  tenant  TEXT NOT NULL,
  id      BLOB NOT NULL,
  until   INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ended_sessions_until ON ended_sessions (until);
