-- Links to the portal that were not used yet.

CREATE TABLE portal_links (
  digest      BLOB PRIMARY KEY,
  expires_at  INTEGER NOT NULL,
  link        TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX portal_links_expires_at ON portal_links (expires_at);

-- When the portal of a deleted tenant was ended, for as long as a link or session from before could be valid.
CREATE TABLE ended_portals (
  tenant    TEXT PRIMARY KEY,
  ended_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX ended_portals_ended_at ON ended_portals (ended_at);
