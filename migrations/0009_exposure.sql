-- What the operator offers to MCP clients (JSON), from this generation on. Each change is a row of its own; going back to
-- an earlier generation leaves it as it is.
CREATE TABLE exposures (
  generation INTEGER PRIMARY KEY,
  exposure TEXT NOT NULL CHECK (json_valid(exposure)),
  made_by TEXT NOT NULL,
  made_at_ms INTEGER NOT NULL
) STRICT;
