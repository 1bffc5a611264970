-- The record in as few rows as it has runs: a stretch of one run's events, in the order in which they happened. A run
-- that is over when it is carried is one stretch; one that waited, or went on for long, is some. No row is changed.
-- `id` is the place of its last event; those before it count down from there, and each place is given once, over this
-- table and `audit`. It grows as rows arrive and is a time as well: the database's clock in milliseconds, times 100, or
-- one more than the highest there is. So what happened in a time is found along the key, without an index that every
-- run would write to. A row whose events are not of the minute before or after its arrival is `off_time`, and only
-- those have an index for it. A row spans a minute at most.
CREATE TABLE audit_runs (
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  run TEXT NOT NULL,
  trace TEXT NOT NULL,
  agent TEXT NOT NULL,
  principal TEXT NOT NULL,
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  off_time INTEGER NOT NULL CHECK (off_time IN (0, 1)),
  -- An array of { type, atMs, data }, one for each number from first_seq to last_seq.
  events TEXT NOT NULL CHECK (json_valid(events))
) STRICT;

-- Each ends with the id, so that the rows of a session and of a trace are read in order, page by page.
CREATE INDEX audit_runs_by_session ON audit_runs (session);
CREATE INDEX audit_runs_by_trace ON audit_runs (trace);
CREATE INDEX audit_runs_off_time ON audit_runs (to_ms) WHERE off_time = 1;

-- All events as `audit` has them, for whoever looks at the database by hand: no index helps to read it.
CREATE VIEW audit_events AS
  SELECT id, session, since_ms, seq, run, trace, agent, principal, type, at_ms, data FROM audit
  UNION ALL
  SELECT r.id - r.last_seq + r.first_seq + e.key, r.session, r.since_ms, r.first_seq + e.key, r.run, r.trace, r.agent,
    r.principal, e.value->>'type', e.value->>'atMs', e.value->'data'
  FROM audit_runs AS r CROSS JOIN json_each(r.events) AS e;

-- When a session was used changes with each run. What sweeps up needs to know it to the month only, of 30 days.
ALTER TABLE sessions ADD COLUMN used_month INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET used_month = used_at_ms / 2592000000;
DROP INDEX sessions_by_use;
DROP INDEX sessions_unnamed_by_use;
CREATE INDEX sessions_by_month ON sessions (used_month) WHERE kind <> 'stateless';
CREATE INDEX sessions_unnamed_by_month ON sessions (used_month) WHERE kind = 'stateless';
