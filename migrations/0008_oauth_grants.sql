-- What somebody allowed a client in an OAuth sign-in. The tokens are in KV; whether they still hold is asked here with
-- each request, since KV forgets late. `id` comes of the consent page's handle, so that a page is good for one row.
-- `signed_in_with` is the key's id, `operator` or `oidc:` + subject; `library_id` is the grant in KV, once there is one.
CREATE TABLE oauth_grants (
  id TEXT PRIMARY KEY,
  principal TEXT NOT NULL,
  client TEXT NOT NULL,
  client_name TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  resource TEXT NOT NULL,
  scopes TEXT NOT NULL CHECK (json_valid(scopes)),
  signed_in_with TEXT NOT NULL,
  library_id TEXT UNIQUE,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  redeemed_at_ms INTEGER,
  revoked_at_ms INTEGER
) STRICT;

CREATE INDEX oauth_grants_by_principal ON oauth_grants (principal, created_at_ms);
CREATE INDEX oauth_grants_by_end ON oauth_grants (expires_at_ms);
