-- Skills that were installed beside those that ship. A version stays as it came, named by the sha-256 of all it is made of,
-- which is a bundle (plugin_bundles); which are enabled is part of each generation. One that was removed stays as a row.
CREATE TABLE skills (
  name TEXT PRIMARY KEY,
  hash TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('installed', 'enabled', 'disabled', 'removed')),
  owner TEXT NOT NULL
) STRICT;
CREATE INDEX skills_hash ON skills (hash) WHERE state <> 'removed';

-- `about` is what a list and a search know of it, as JSON.
CREATE TABLE skill_versions (
  skill TEXT NOT NULL,
  hash TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('trusted', 'community')),
  source TEXT NOT NULL,
  signer TEXT,
  about TEXT NOT NULL CHECK (json_valid(about)),
  installed_by TEXT NOT NULL,
  installed_at_ms INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  collected_at_ms INTEGER,
  PRIMARY KEY (skill, hash)
) STRICT;
CREATE INDEX skill_versions_hash ON skill_versions (hash);

-- They count for the quota of whoever brought them, beside plugins.
CREATE TRIGGER skill_usage_came AFTER INSERT ON skill_versions WHEN new.collected_at_ms IS NULL BEGIN INSERT INTO plugin_usage VALUES (new.installed_by, 1, new.size_bytes) ON CONFLICT (principal) DO UPDATE SET versions = versions + 1, bytes = bytes + excluded.bytes; END;
CREATE TRIGGER skill_usage_went AFTER UPDATE OF installed_by, size_bytes, collected_at_ms ON skill_versions WHEN old.collected_at_ms IS NULL BEGIN UPDATE plugin_usage SET versions = versions - 1, bytes = bytes - old.size_bytes WHERE principal = old.installed_by; END;
CREATE TRIGGER skill_usage_again AFTER UPDATE OF installed_by, size_bytes, collected_at_ms ON skill_versions WHEN new.collected_at_ms IS NULL BEGIN INSERT INTO plugin_usage VALUES (new.installed_by, 1, new.size_bytes) ON CONFLICT (principal) DO UPDATE SET versions = versions + 1, bytes = bytes + excluded.bytes; END;

-- What somebody added in the last hour.
CREATE INDEX audit_skill_added ON audit (principal, at_ms) WHERE type = 'skill_added';
