-- A generation in parts: a row is what was in force of one part (a plugin, an MCP server, a policy, …) from generation
-- `since` until before `until`, or still. A change writes the parts that it changes. Generations of before are JSON in
-- `generations.plugins`, with `policies` and `exposures`; of those since it is {}.
CREATE TABLE generation_parts (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER,
  pin TEXT NOT NULL CHECK (json_valid(pin)),
  PRIMARY KEY (kind, id, since)
) STRICT, WITHOUT ROWID;
CREATE INDEX generation_parts_open ON generation_parts (kind, id) WHERE until IS NULL;
