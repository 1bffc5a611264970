-- Calls that wait or waited for somebody's yes, over all sessions. A row is written in one go with the batch of the audit
-- log that says so: the session has the truth, and the arguments. `seq` is the event of its log that said it last, so
-- that a batch which comes late changes nothing; since_ms is when the session was made, since a name that is deleted may
-- be used again. Runs that asked nobody have no row. `shape` is alike for calls that may be decided together.
CREATE TABLE approvals (
  id TEXT PRIMARY KEY,
  session TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  run TEXT NOT NULL,
  call TEXT NOT NULL,
  principal TEXT NOT NULL,
  agent TEXT NOT NULL,
  tool TEXT NOT NULL,
  approver TEXT NOT NULL,
  args_hash TEXT NOT NULL,
  shape TEXT NOT NULL,
  label TEXT NOT NULL,
  reason TEXT NOT NULL,
  rule TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'approved', 'denied', 'expired', 'ended')),
  decided_by TEXT,
  decided_at_ms INTEGER,
  seq INTEGER NOT NULL
) STRICT;

CREATE INDEX approvals_by_state ON approvals (state, at_ms, id);
CREATE INDEX approvals_by_session ON approvals (session, run);

-- What an approval allows besides its own call: for one principal's agent, one version of a tool, arguments of one shape
-- and a label no worse than this one. With a session only there, and gone with it.
CREATE TABLE approval_rules (
  id TEXT PRIMARY KEY,
  principal TEXT NOT NULL,
  agent TEXT NOT NULL,
  tool TEXT NOT NULL,
  definition_hash TEXT NOT NULL,
  session TEXT,
  free TEXT NOT NULL,
  shape TEXT NOT NULL,
  label TEXT NOT NULL,
  decided_by TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX approval_rules_by_tool ON approval_rules (principal, tool, expires_at_ms);
CREATE INDEX approval_rules_by_session ON approval_rules (session) WHERE session IS NOT NULL;
CREATE INDEX approval_rules_by_age ON approval_rules (created_at_ms, id);
CREATE INDEX approval_rules_by_end ON approval_rules (expires_at_ms);
