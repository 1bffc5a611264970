-- What is kept of versions of plugins. The row of a version stays for good, so that its number goes on meaning what it
-- meant: `size_bytes` of its bundle, and when that was taken away, since nobody could need it any more.
ALTER TABLE plugin_versions ADD COLUMN size_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plugin_versions ADD COLUMN collected_at_ms INTEGER;
UPDATE plugin_versions SET size_bytes = coalesce(
  (SELECT sum(length(CAST(text AS BLOB))) FROM plugin_bundles WHERE plugin_bundles.hash = plugin_versions.hash), 0);
-- What counts for the quota of whoever brought it.
CREATE INDEX plugin_versions_kept ON plugin_versions (installed_by) WHERE collected_at_ms IS NULL;

-- What somebody added in the last hour.
CREATE INDEX audit_plugin_added ON audit (principal, at_ms) WHERE type = 'plugin_added';

-- When a bundle came last. 0: before this was known.
ALTER TABLE plugin_bundles ADD COLUMN saved_at_ms INTEGER NOT NULL DEFAULT 0;
UPDATE plugin_bundles SET saved_at_ms = coalesce(
  (SELECT max(installed_at_ms) FROM plugin_versions WHERE plugin_versions.hash = plugin_bundles.hash), 0);

-- Found without reading the texts.
CREATE INDEX plugin_bundles_saved ON plugin_bundles (saved_at_ms, hash) WHERE part = 0;

-- Whose an id is stands in its row from now on: who brought its oldest version, if nothing was said. NULL: it ships, or
-- shipped, with the deployment.
UPDATE manifests SET owner = coalesce(
  (SELECT installed_by FROM plugin_versions WHERE plugin = manifests.id ORDER BY installed_at_ms, hash DESC LIMIT 1), '')
  WHERE owner IS NULL AND tier <> 'builtin';
