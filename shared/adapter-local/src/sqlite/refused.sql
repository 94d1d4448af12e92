-- Version 3: rejected requests, for the owners of sources. The content of a request is only in sealed, encrypted.

CREATE TABLE refused_tallies (
  tenant     TEXT NOT NULL,
  source_id  TEXT NOT NULL,
  kept       INTEGER NOT NULL,
  counted    INTEGER NOT NULL,
  minute     INTEGER NOT NULL,
  in_minute  INTEGER NOT NULL,
  PRIMARY KEY (tenant, source_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE refused (
  id          INTEGER PRIMARY KEY,
  tenant      TEXT NOT NULL,
  source_id   TEXT NOT NULL,
  place       INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  reason      TEXT NOT NULL,
  body_bytes  INTEGER NOT NULL,
  is_cut      INTEGER NOT NULL,
  sealed      BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX refused_of_source ON refused (tenant, source_id, place);
CREATE INDEX refused_by_age ON refused (at);
