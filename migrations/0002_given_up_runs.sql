-- Runs that were given up after too many interruptions: the list an operator works through. A row arrives with
-- the batch of the audit log that says so, once however often the batch comes; since_ms is when the session was
-- made, since a name that is deleted may be used again and then give a run the same id.
CREATE TABLE given_up_runs (
  run TEXT PRIMARY KEY,
  session TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  principal TEXT NOT NULL,
  agent TEXT NOT NULL,
  trace TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'retried', 'dropped'))
) STRICT;

CREATE INDEX given_up_runs_by_state ON given_up_runs (state, at_ms);
