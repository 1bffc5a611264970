-- The list of sessions, and how far the log of each has arrived. A row is written in one go with a batch of the log,
-- as the session stood then; `seq` is the last event that came, so that a batch which arrives late changes nothing, and
-- stays when the events themselves have expired. It goes with its session. since_ms is when the session was made,
-- since a name that is deleted may be used again. `state` is that of the last run, NULL before the first.
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  since_ms INTEGER NOT NULL,
  principal TEXT NOT NULL,
  agent TEXT,
  kind TEXT NOT NULL CHECK (kind IN ('named', 'stateless', 'child')),
  used_at_ms INTEGER NOT NULL,
  runs INTEGER NOT NULL,
  state TEXT,
  seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_principal ON sessions (principal, since_ms, id) WHERE kind <> 'child';
CREATE INDEX sessions_by_age ON sessions (since_ms, id) WHERE kind <> 'child';
CREATE INDEX sessions_by_agent ON sessions (agent, since_ms, id) WHERE kind <> 'child';
CREATE INDEX sessions_by_state ON sessions (state, since_ms, id) WHERE kind <> 'child';
-- For what sweeps up: each row is in one of them.
CREATE INDEX sessions_by_use ON sessions (used_at_ms) WHERE kind <> 'stateless';
CREATE INDEX sessions_unnamed_by_use ON sessions (used_at_ms) WHERE kind = 'stateless';
