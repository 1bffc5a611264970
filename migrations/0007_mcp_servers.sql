-- Remote MCP servers. What was approved of one is a bundle under its hash (plugin_bundles); which servers are enabled with
-- which approval is part of each generation. A server that was removed stays as a row, so that its epoch goes on.
CREATE TABLE mcp_servers (
  id TEXT PRIMARY KEY,
  config TEXT NOT NULL CHECK (json_valid(config)),
  state TEXT NOT NULL CHECK (state IN ('added', 'enabled', 'disabled', 'removed')),
  approved_hash TEXT,
  confirmed TEXT NOT NULL CHECK (json_valid(confirmed)),
  epoch INTEGER NOT NULL,
  added_by TEXT NOT NULL,
  added_at_ms INTEGER NOT NULL
) STRICT;
