-- Version 1. Instants are milliseconds since the epoch; ids are written as in the API, so that an operator can read the
-- file with a SQLite shell. Secrets and header values are only in webhook_configs.sealed, encrypted.

CREATE TABLE tenants (
  tenant          TEXT PRIMARY KEY,
  config_version  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_configs (
  tenant         TEXT NOT NULL,
  id             TEXT NOT NULL,
  status         TEXT NOT NULL,
  failure_count  INTEGER NOT NULL,
  generation     INTEGER NOT NULL,
  reason         TEXT,
  changed_at     INTEGER,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  settings       TEXT NOT NULL,
  sealed         BLOB NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- One row, sealed with secret.key, so that a wrong key is detected when the store is opened.
CREATE TABLE vault (
  sealed  BLOB NOT NULL
) STRICT;

CREATE TABLE api_keys (
  digest        BLOB NOT NULL PRIMARY KEY,
  id            TEXT NOT NULL,
  tenant        TEXT NOT NULL,
  name          TEXT NOT NULL,
  scopes        TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  last_used_at  INTEGER,
  UNIQUE (tenant, id)
) STRICT;

CREATE TABLE events (
  id            INTEGER PRIMARY KEY,
  event_id      TEXT NOT NULL,
  tenant        TEXT NOT NULL,
  event_type    TEXT NOT NULL,
  session_id    TEXT,
  content_type  TEXT NOT NULL,
  origin        TEXT NOT NULL,
  request_hash  BLOB NOT NULL,
  created_at    INTEGER NOT NULL,
  payload       BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_key ON events (event_id, tenant);

-- The first eleven columns are ADR-020's (payload is stored once per event, see the view). wake_at is when a row that could
-- be claimed is due; null for one that is closed, parked or held. Later versions drop paced and parked.
CREATE TABLE webhook_deliveries (
  id                 INTEGER PRIMARY KEY,
  webhook_id         TEXT NOT NULL,
  session_id         TEXT,
  target_url         TEXT NOT NULL,
  signature          TEXT NOT NULL,
  -- Not IN: for more than two values SQLite builds a temporary index, at every write.
  status             TEXT NOT NULL CHECK (status = 'pending' OR status = 'failed' OR status = 'delivered'
                                          OR status = 'dead'),
  attempt_count      INTEGER NOT NULL,
  last_attempted_at  INTEGER,
  next_retry_at      INTEGER CHECK (next_retry_at IS NOT NULL OR status IN ('delivered', 'dead')),
  created_at         INTEGER NOT NULL,
  error_detail       TEXT,
  tenant             TEXT NOT NULL,
  event              INTEGER NOT NULL REFERENCES events (id),
  event_id           TEXT NOT NULL,
  event_type         TEXT NOT NULL,
  intent             TEXT,
  dead_cause         TEXT,
  attempts_total     INTEGER NOT NULL,
  max_attempts       INTEGER NOT NULL,
  generation         INTEGER NOT NULL,
  paced              INTEGER NOT NULL,
  parked             INTEGER NOT NULL,
  version            INTEGER NOT NULL,
  lease_process      TEXT,
  lease_claim        INTEGER,
  lease_until        INTEGER NOT NULL,
  wake_at            INTEGER AS (CASE WHEN status IN ('pending', 'failed') AND parked = 0 AND lease_process IS NULL
                                      THEN next_retry_at END)
) STRICT;
CREATE UNIQUE INDEX deliveries_key ON webhook_deliveries (event, webhook_id);

-- An open row is in exactly one of these three: free, held or parked. So a row that is accepted already claimed, and
-- delivered at the first attempt, touches only the second. Held rows are found by process, to find those of processes
-- that are gone.
CREATE INDEX deliveries_wake ON webhook_deliveries (tenant, webhook_id, wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX deliveries_held ON webhook_deliveries (lease_process, tenant, webhook_id, lease_until)
  WHERE lease_process IS NOT NULL;
CREATE INDEX deliveries_parked ON webhook_deliveries (tenant, webhook_id, next_retry_at) WHERE parked = 1;

-- For lists, newest first. Only trouble changes after the insert.
CREATE INDEX deliveries_recent ON webhook_deliveries (tenant, created_at);
CREATE INDEX deliveries_by_webhook ON webhook_deliveries (tenant, webhook_id, created_at);
CREATE INDEX deliveries_by_session ON webhook_deliveries (tenant, session_id, created_at) WHERE session_id IS NOT NULL;
CREATE INDEX deliveries_trouble ON webhook_deliveries (tenant, status, created_at) WHERE status IN ('failed', 'dead');

CREATE VIEW webhook_deliveries_with_payload AS
  SELECT d.*, e.payload FROM webhook_deliveries AS d JOIN events AS e ON e.id = d.event;

CREATE TABLE attempts (
  delivery       INTEGER NOT NULL REFERENCES webhook_deliveries (id) ON DELETE CASCADE,
  version        INTEGER NOT NULL,
  number         INTEGER NOT NULL,
  at             INTEGER NOT NULL,
  status_code    INTEGER,
  error          TEXT,
  phase          TEXT,
  dns_ms         INTEGER,
  connect_ms     INTEGER,
  tls_ms         INTEGER,
  first_byte_ms  INTEGER,
  body_ms        INTEGER,
  total_ms       INTEGER NOT NULL,
  response_body  TEXT,
  PRIMARY KEY (delivery, version)
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT, because a sequence number must not be reused after the newest notification was deleted.
CREATE TABLE outbox (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant  TEXT NOT NULL,
  kind    TEXT NOT NULL,
  at      INTEGER NOT NULL,
  event   TEXT NOT NULL
) STRICT;

CREATE TABLE stats (
  tenant      TEXT NOT NULL,
  webhook_id  TEXT NOT NULL,
  hour        INTEGER NOT NULL,
  delivered   INTEGER NOT NULL,
  dead        INTEGER NOT NULL,
  attempts    INTEGER NOT NULL,
  retried     INTEGER NOT NULL,
  retries     INTEGER NOT NULL,
  latency     TEXT NOT NULL,
  PRIMARY KEY (tenant, webhook_id, hour)
) STRICT, WITHOUT ROWID;

-- The next free turn, in microseconds: at 10,000 a second turns are a tenth of a millisecond apart.
CREATE TABLE pace (
  tenant       TEXT NOT NULL,
  webhook_id   TEXT NOT NULL,
  free_at_us   INTEGER NOT NULL,
  PRIMARY KEY (tenant, webhook_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
  tenant      TEXT NOT NULL,
  id          TEXT NOT NULL,
  state       TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  job         TEXT NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_running ON jobs (created_at) WHERE state = 'running';
