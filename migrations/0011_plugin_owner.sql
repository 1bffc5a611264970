-- Whose a plugin's id is, and what it keeps under it: the principal that brought it. Empty: nobody's, since all that was
-- kept is gone. NULL (of a version before): who brought its oldest version.
ALTER TABLE manifests ADD COLUMN owner TEXT;
