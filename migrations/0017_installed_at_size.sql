-- What a principal has brought and is still kept, for its quota: kept up with every version that comes, changes or is
-- collected, so that bringing one more does not read all that came before. A trigger is one line, since that is how
-- migrations are taken apart.
CREATE TABLE plugin_usage (
  principal TEXT PRIMARY KEY,
  versions INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO plugin_usage SELECT installed_by, count(*), sum(size_bytes) FROM plugin_versions
  WHERE collected_at_ms IS NULL GROUP BY installed_by;
CREATE TRIGGER plugin_usage_came AFTER INSERT ON plugin_versions WHEN new.collected_at_ms IS NULL BEGIN INSERT INTO plugin_usage VALUES (new.installed_by, 1, new.size_bytes) ON CONFLICT (principal) DO UPDATE SET versions = versions + 1, bytes = bytes + excluded.bytes; END;
CREATE TRIGGER plugin_usage_went AFTER UPDATE OF installed_by, size_bytes, collected_at_ms ON plugin_versions WHEN old.collected_at_ms IS NULL BEGIN UPDATE plugin_usage SET versions = versions - 1, bytes = bytes - old.size_bytes WHERE principal = old.installed_by; END;
CREATE TRIGGER plugin_usage_again AFTER UPDATE OF installed_by, size_bytes, collected_at_ms ON plugin_versions WHEN new.collected_at_ms IS NULL BEGIN INSERT INTO plugin_usage VALUES (new.installed_by, 1, new.size_bytes) ON CONFLICT (principal) DO UPDATE SET versions = versions + 1, bytes = bytes + excluded.bytes; END;
CREATE TRIGGER plugin_usage_gone AFTER DELETE ON plugin_versions WHEN old.collected_at_ms IS NULL BEGIN UPDATE plugin_usage SET versions = versions - 1, bytes = bytes - old.size_bytes WHERE principal = old.installed_by; END;

-- The sums take its place.
DROP INDEX plugin_versions_kept;

-- Names of what is there, found without reading manifests.
CREATE INDEX manifests_there ON manifests (id) WHERE state <> 'removed';
-- The few that have a problem.
CREATE INDEX manifests_failed ON manifests (id) WHERE problem IS NOT NULL;
