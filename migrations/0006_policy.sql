-- What the operator allows tools to do (JSON), from this generation on. Each change is a row of its own: plugins that are
-- rolled back leave it as it is, unless the operator asks for the policy of then.
CREATE TABLE policies (
  generation INTEGER PRIMARY KEY,
  policy TEXT NOT NULL CHECK (json_valid(policy)),
  made_by TEXT NOT NULL,
  made_at_ms INTEGER NOT NULL
) STRICT;
