-- Whose a plugin's id is, and what it keeps under it: the principal that brought it. Empty: nobody's, since all that was
-- kept is gone. NULL (of a version before): who brought its oldest version.
ALTER TABLE manifests ADD COLUMN owner TEXT;
-- Of an enabled plugin: hashes of newer versions that wait for an operator (JSON, newest first), and the version of which
-- an operator has read what it tells models of itself.
ALTER TABLE manifests ADD COLUMN waiting TEXT;
ALTER TABLE manifests ADD COLUMN told_hash TEXT;
