-- Who may ask: people and programs, one role each. `agents` and `models` are JSON lists of names, NULL for all of
-- them; a limit is for a day, NULL for what the deployment sets.
CREATE TABLE principals (
  id TEXT PRIMARY KEY,
  role TEXT NOT NULL CHECK (role IN ('operator', 'author', 'user', 'auditor')),
  agents TEXT CHECK (json_valid(agents)),
  models TEXT CHECK (json_valid(models)),
  daily_tokens INTEGER CHECK (daily_tokens >= 0),
  daily_cost_nano_usd INTEGER CHECK (daily_cost_nano_usd >= 0),
  created_at_ms INTEGER NOT NULL
) STRICT;

-- What they show: the key itself is nowhere, only its sha-256. `hint` is its beginning, by which its holder tells
-- it from another. A row is never deleted, so that the record can say whose key it was.
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  principal TEXT NOT NULL REFERENCES principals (id),
  hash TEXT NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  revoked_at_ms INTEGER
) STRICT;

CREATE INDEX keys_by_principal ON keys (principal);
