-- Agents that need no plugin. `version` is the one in force, 0 while the first waits for an operator. A row is never
-- deleted: an id that was somebody's is nobody else's later.
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'archived', 'deleted')),
  version INTEGER NOT NULL,
  newest INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL
) STRICT;

-- Their texts, none of which is ever changed. `body` is the whole version as JSON; one that no operator has allowed yet
-- has no `approved_by`.
CREATE TABLE agent_versions (
  agent TEXT NOT NULL REFERENCES agents (id),
  version INTEGER NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  approved_by TEXT,
  approved_at_ms INTEGER,
  PRIMARY KEY (agent, version)
) STRICT, WITHOUT ROWID;
