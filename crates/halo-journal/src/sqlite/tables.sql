-- Keyed by the growing number: random keys cost several times as much at every commit.
CREATE TABLE record (
  number      INTEGER PRIMARY KEY,
  at          TEXT NOT NULL,
  kind        TEXT NOT NULL,
  body        TEXT,
  body_digest BLOB NOT NULL,
  previous    BLOB NOT NULL,
  hash        BLOB NOT NULL
) STRICT;

CREATE TABLE current (
  address     TEXT PRIMARY KEY NOT NULL,
  accepted_at TEXT NOT NULL,
  since       INTEGER NOT NULL,
  record      TEXT NOT NULL
) STRICT;

CREATE TABLE snapshot (
  number      INTEGER PRIMARY KEY,
  hash        BLOB NOT NULL,
  digest      BLOB NOT NULL,
  bytes       BLOB NOT NULL
) STRICT;
