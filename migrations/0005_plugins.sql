-- Plugins that were installed beside those the Worker carries. Every version stays as it came, named by the sha-256 of
-- all it is made of: nothing in these rows is ever changed.
CREATE TABLE plugin_versions (
  plugin TEXT NOT NULL,
  hash TEXT NOT NULL,
  version TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('trusted', 'community')),
  source TEXT NOT NULL,
  signer TEXT,
  manifest TEXT NOT NULL CHECK (json_valid(manifest)),
  installed_by TEXT NOT NULL,
  installed_at_ms INTEGER NOT NULL,
  PRIMARY KEY (plugin, hash)
) STRICT;

-- The bundles themselves, for when KV does not have one. In parts, since a row holds 2 MB at most.
CREATE TABLE plugin_bundles (
  hash TEXT NOT NULL,
  part INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (hash, part)
) STRICT;

-- One numbered set of what is enabled with what it may do: JSON, as the Catalog hands it out.
CREATE TABLE generations (
  number INTEGER PRIMARY KEY,
  plugins TEXT NOT NULL CHECK (json_valid(plugins)),
  reason TEXT NOT NULL,
  made_by TEXT NOT NULL,
  made_at_ms INTEGER NOT NULL
) STRICT;

-- `permit` is what the operator allowed (JSON), for exactly the version of `permit_hash`. The epoch counts up with each
-- change of it. `problem` says why it was switched off, if it was not by the operator.
ALTER TABLE manifests ADD COLUMN permit TEXT CHECK (json_valid(permit));
ALTER TABLE manifests ADD COLUMN permit_hash TEXT;
ALTER TABLE manifests ADD COLUMN grant_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE manifests ADD COLUMN config TEXT CHECK (json_valid(config));
ALTER TABLE manifests ADD COLUMN problem TEXT CHECK (json_valid(problem));

-- Values are sealed under ISOLA_MASTER_KEY; `key_id` names the key, so that a rotation knows what is left.
CREATE TABLE secrets (
  name TEXT PRIMARY KEY,
  sealed TEXT NOT NULL,
  key_id TEXT NOT NULL,
  set_by TEXT NOT NULL,
  set_at_ms INTEGER NOT NULL
) STRICT;

-- Ed25519 keys whose signatures make a plugin `trusted`.
CREATE TABLE trusted_keys (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  public_key TEXT NOT NULL,
  added_by TEXT NOT NULL,
  added_at_ms INTEGER NOT NULL
) STRICT;
