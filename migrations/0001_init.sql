-- The record of everything that happened, in the order it arrived. Sessions deliver in batches that may come
-- twice: (session, since_ms, seq) makes them land once; since_ms is when the session was made, since a name that
-- is deleted may be used again. `id` is the reader's cursor; an explicit key survives export and
-- VACUUM, an implicit rowid does not.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  run TEXT NOT NULL,
  trace TEXT NOT NULL,
  agent TEXT NOT NULL,
  principal TEXT NOT NULL,
  type TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  data TEXT NOT NULL CHECK (json_valid(data)),
  UNIQUE (session, since_ms, seq)
) STRICT;

CREATE INDEX audit_by_trace ON audit (trace);

-- What is installed: one row a plugin, the version in use. State: installed, enabled, disabled, removed.
CREATE TABLE manifests (
  id TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  hash TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('builtin', 'trusted', 'community')),
  manifest TEXT NOT NULL CHECK (json_valid(manifest)),
  state TEXT NOT NULL CHECK (state IN ('installed', 'enabled', 'disabled', 'removed')),
  updated_at_ms INTEGER NOT NULL
) STRICT;
