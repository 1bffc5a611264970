-- A person is erased in passes over all places; a row is how far that came, and afterwards the report of it. `principal` is
-- whose it is while it runs, then the pseudonym (the id), which the record has in their place.
CREATE TABLE erasures (
  id TEXT PRIMARY KEY,
  principal TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'done')),
  asked_by TEXT NOT NULL,
  asked_at_ms INTEGER NOT NULL,
  next_ms INTEGER,
  progress TEXT NOT NULL CHECK (json_valid(progress))
) STRICT;
CREATE UNIQUE INDEX erasures_running ON erasures (principal) WHERE state = 'running';
CREATE INDEX erasures_by_time ON erasures (asked_at_ms, id);

-- sha-256 of what a row of the record told before a person was erased from it.
ALTER TABLE audit ADD COLUMN erased TEXT;
ALTER TABLE audit_runs ADD COLUMN erased TEXT;

-- Nobody is let in as somebody who is being erased, whatever way is added.
CREATE TRIGGER erasing_keys BEFORE INSERT ON keys
  WHEN EXISTS (SELECT 1 FROM erasures WHERE principal = new.principal AND state = 'running')
  BEGIN SELECT RAISE(ABORT, 'principal is being erased'); END;
CREATE TRIGGER erasing_grants BEFORE INSERT ON oauth_grants
  WHEN EXISTS (SELECT 1 FROM erasures WHERE principal = new.principal AND state = 'running')
  BEGIN SELECT RAISE(ABORT, 'principal is being erased'); END;
