-- Links to the portal that were not used yet.

CREATE TABLE portal_links (
  digest      BLOB PRIMARY KEY,
  expires_at  INTEGER NOT NULL,
  link        TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX portal_links_expires_at ON portal_links (expires_at);
