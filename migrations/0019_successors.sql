-- What took the place of a key that was rotated, or of a sign-in that was repeated: what was begun with the old one ends
-- with the new one. NULL: nothing did, or it was revoked since.
ALTER TABLE keys ADD COLUMN followed_by TEXT;
ALTER TABLE oauth_grants ADD COLUMN followed_by TEXT;
