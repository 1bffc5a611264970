-- The tables of the first release. Later changes are files of their own, 0002 and on: a file that was released is never
-- changed. A database whose first migration has another name was made before the first release and is refused.

-- The record of what happened to the deployment itself, a row an event, in the order of arrival: `session` is empty.
-- `id` is the reader's cursor; an explicit key survives export and VACUUM, an implicit rowid does not. `erased` is the
-- sha-256 of what the row told before a person was erased from it.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  run TEXT NOT NULL,
  trace TEXT NOT NULL,
  agent TEXT NOT NULL,
  principal TEXT NOT NULL,
  type TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  data TEXT NOT NULL CHECK (json_valid(data)),
  erased TEXT,
  UNIQUE (session, since_ms, seq)
) STRICT;

CREATE INDEX audit_by_trace ON audit (trace);
-- What happened since a moment, and what it cost, is read from there on: not the whole record.
CREATE INDEX audit_by_time ON audit (at_ms);
-- What operators did to one session.
CREATE INDEX audit_about_session ON audit (data->>'session') WHERE session = '';
-- What a principal added in the last hour.
CREATE INDEX audit_plugin_added ON audit (principal, at_ms) WHERE type = 'plugin_added';
CREATE INDEX audit_skill_added ON audit (principal, at_ms) WHERE type = 'skill_added';

-- The record of sessions, in as few rows as it has runs: a stretch of one run's events, in the order in which they
-- happened. Sessions deliver in batches that may come twice; since_ms is when the session was made, since a name that is
-- deleted may be used again. A run that is over when it is carried is one stretch; one that waited, or went on for long,
-- is some. No row is changed. `id` is the place of its last event; those before it count down from there, and each place
-- is given once, over this table and `audit`. It grows as rows arrive and is a time as well: the database's clock in
-- milliseconds, times 100, or one more than the highest there is. So what happened in a time is found along the key,
-- without an index that every run would write to. A row whose events are not of the minute before or after its arrival
-- is `off_time`, and only those have an index for it. A row spans a minute at most.
CREATE TABLE audit_runs (
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  run TEXT NOT NULL,
  trace TEXT NOT NULL,
  agent TEXT NOT NULL,
  principal TEXT NOT NULL,
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  off_time INTEGER NOT NULL CHECK (off_time IN (0, 1)),
  -- An array of { type, atMs, data }, one for each number from first_seq to last_seq.
  events TEXT NOT NULL CHECK (json_valid(events)),
  -- What reports add up of a row's events, written with them, so that none has to be read for it. A row that ends more
  -- than one run has no `tally` and is not to be added up like this: there its events are read.
  starts INTEGER,
  -- How many events cost something, or might have.
  spends INTEGER,
  -- Requests to models that are counted, and those of them that were answered.
  model_calls INTEGER,
  model_answers INTEGER,
  tool_calls INTEGER,
  input_tokens INTEGER,
  output_tokens INTEGER,
  booked_tokens INTEGER,
  cost_nano_usd INTEGER,
  -- How the run ended, if it is in this row.
  state TEXT,
  turns INTEGER,
  -- By model, tool and plugin: an array of { type, atMs, data } like `events`, in which events that differ in nothing
  -- but amounts are one, with their sums and how many they are (`count`).
  tally TEXT CHECK (json_valid(tally)),
  -- What the platform was made to do for the run itself, as far as this row tells of it: an object of amounts by unit, of
  -- which what is absent is zero, and their price at that time. What is below the run is in rows of its own. NULL where
  -- nothing is told.
  platform TEXT CHECK (json_valid(platform)),
  platform_nano_usd INTEGER,
  -- The same of what no run made it do, in this isolate and until this row was written.
  others TEXT CHECK (json_valid(others)),
  erased TEXT
) STRICT;

-- Each ends with the id, so that the rows of a session and of a trace are read in order, page by page.
CREATE INDEX audit_runs_by_session ON audit_runs (session);
CREATE INDEX audit_runs_by_trace ON audit_runs (trace);
CREATE INDEX audit_runs_off_time ON audit_runs (to_ms) WHERE off_time = 1;

-- All events as `audit` has them, for a person who looks at the database by hand: no index helps to read it.
CREATE VIEW audit_events AS
  SELECT id, session, since_ms, seq, run, trace, agent, principal, type, at_ms, data FROM audit
  UNION ALL
  SELECT r.id - r.last_seq + r.first_seq + e.key, r.session, r.since_ms, r.first_seq + e.key, r.run, r.trace, r.agent,
    r.principal, e.value->>'type', e.value->>'atMs', e.value->'data'
  FROM audit_runs AS r CROSS JOIN json_each(r.events) AS e;

-- Runs that were given up after too many interruptions: the list an operator works through. A row arrives with the
-- batch of the record that says so, once however often the batch comes; since_ms as in `audit_runs`.
CREATE TABLE given_up_runs (
  run TEXT PRIMARY KEY,
  session TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  principal TEXT NOT NULL,
  agent TEXT NOT NULL,
  trace TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'retried', 'dropped'))
) STRICT;

CREATE INDEX given_up_runs_by_state ON given_up_runs (state, at_ms);

-- People and programs that may ask, a role each. `agents` and `models` are JSON lists of names, NULL for all of them; a
-- limit is for a day, NULL for what the deployment sets.
CREATE TABLE principals (
  id TEXT PRIMARY KEY,
  role TEXT NOT NULL CHECK (role IN ('operator', 'author', 'user', 'auditor')),
  agents TEXT CHECK (json_valid(agents)),
  models TEXT CHECK (json_valid(models)),
  daily_tokens INTEGER CHECK (daily_tokens >= 0),
  daily_cost_nano_usd INTEGER CHECK (daily_cost_nano_usd >= 0),
  created_at_ms INTEGER NOT NULL
) STRICT;

-- What they show: the key itself is nowhere, only its sha-256. `hint` is its beginning, by which its holder tells it from
-- another. A row is never deleted, so that the record can say whose key it was. `followed_by` is the key that took its
-- place when it was rotated: what was begun with the old key ends with the new one. NULL: none did, or it was revoked
-- since. `persona` is what the orchestrator speaks as to the key's holder, where neither request nor session says. NULL:
-- as itself.
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  principal TEXT NOT NULL REFERENCES principals (id),
  hash TEXT NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  revoked_at_ms INTEGER,
  followed_by TEXT,
  persona TEXT
) STRICT;

CREATE INDEX keys_by_principal ON keys (principal);

-- What a person allowed a client in an OAuth sign-in. The tokens are in KV; whether they still hold is asked here with
-- each request, since KV forgets late. `id` comes of the consent page's handle, so that a page is good for one row.
-- `signed_in_with` is the key's id, `operator` or `oidc:` + subject; `library_id` is the grant in KV, once there is one.
-- `followed_by` is the sign-in that repeated this one.
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
  revoked_at_ms INTEGER,
  followed_by TEXT
) STRICT;

CREATE INDEX oauth_grants_by_principal ON oauth_grants (principal, created_at_ms);
CREATE INDEX oauth_grants_by_end ON oauth_grants (expires_at_ms);

-- The list of sessions, and how far the log of each has arrived. A row is written in one go with a batch of the log,
-- as the session stood then; `seq` is the last event that came, so that a batch which arrives late changes nothing, and
-- stays when the events themselves have expired. It goes with its session. since_ms is when the session was made,
-- since a name that is deleted may be used again. `state` is that of the last run, NULL before the first. When a session
-- was used changes with each run; what sweeps up needs to know it to the month only, of 30 days.
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  since_ms INTEGER NOT NULL,
  principal TEXT NOT NULL,
  agent TEXT,
  kind TEXT NOT NULL CHECK (kind IN ('named', 'stateless', 'child')),
  used_at_ms INTEGER NOT NULL,
  runs INTEGER NOT NULL,
  state TEXT,
  seq INTEGER NOT NULL,
  used_month INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_principal ON sessions (principal, since_ms, id) WHERE kind <> 'child';
CREATE INDEX sessions_by_age ON sessions (since_ms, id) WHERE kind <> 'child';
CREATE INDEX sessions_by_agent ON sessions (agent, since_ms, id) WHERE kind <> 'child';
CREATE INDEX sessions_by_state ON sessions (state, since_ms, id) WHERE kind <> 'child';
-- For what sweeps up: each row is in one of them.
CREATE INDEX sessions_by_month ON sessions (used_month) WHERE kind <> 'stateless';
CREATE INDEX sessions_unnamed_by_month ON sessions (used_month) WHERE kind = 'stateless';

-- What is installed: one row a plugin, the version in use. `permit` is what the operator allowed (JSON), for exactly the
-- version of `permit_hash`; the epoch counts up with each change of it. `problem` says why it was switched off, if it was
-- not by the operator. `owner` is the principal that brought it, whose what it keeps under its id is; empty: nobody's,
-- since all that was kept is gone; NULL: it ships, or shipped, with the deployment. Of an enabled plugin `waiting` has
-- hashes of newer versions that wait for an operator (JSON, newest first), and `told_hash` the version of which an
-- operator has read what it tells models of itself.
CREATE TABLE manifests (
  id TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  hash TEXT NOT NULL,
  tier TEXT NOT NULL CHECK (tier IN ('builtin', 'trusted', 'community')),
  manifest TEXT NOT NULL CHECK (json_valid(manifest)),
  state TEXT NOT NULL CHECK (state IN ('installed', 'enabled', 'disabled', 'removed')),
  updated_at_ms INTEGER NOT NULL,
  permit TEXT CHECK (json_valid(permit)),
  permit_hash TEXT,
  grant_epoch INTEGER NOT NULL DEFAULT 0,
  config TEXT CHECK (json_valid(config)),
  problem TEXT CHECK (json_valid(problem)),
  owner TEXT,
  waiting TEXT,
  told_hash TEXT
) STRICT;

-- Names of what is there, found without reading manifests.
CREATE INDEX manifests_there ON manifests (id) WHERE state <> 'removed';
-- The few that have a problem.
CREATE INDEX manifests_failed ON manifests (id) WHERE problem IS NOT NULL;

-- Plugins that were installed beside those the Worker carries. Every version stays as it came, named by the sha-256 of
-- all it is made of, and its row stays for good, so that its number goes on meaning what it meant: `size_bytes` of its
-- bundle, and when that was taken away, since nothing could need it any more.
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
  size_bytes INTEGER NOT NULL DEFAULT 0,
  collected_at_ms INTEGER,
  PRIMARY KEY (plugin, hash)
) STRICT;

-- The bundles themselves, for when KV does not have one. In parts, since a row holds 2 MB at most. `saved_at_ms`: when
-- the bundle came last.
CREATE TABLE plugin_bundles (
  hash TEXT NOT NULL,
  part INTEGER NOT NULL,
  text TEXT NOT NULL,
  saved_at_ms INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (hash, part)
) STRICT;

-- Found without reading the texts.
CREATE INDEX plugin_bundles_saved ON plugin_bundles (saved_at_ms, hash) WHERE part = 0;

-- What a principal has brought and is still kept, for its quota: kept up with every version that comes, changes or is
-- collected, so that bringing one more does not read all that came before. A trigger is one line, since that is how
-- migrations are taken apart.
CREATE TABLE plugin_usage (
  principal TEXT PRIMARY KEY,
  versions INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER plugin_usage_came AFTER INSERT ON plugin_versions WHEN new.collected_at_ms IS NULL BEGIN INSERT INTO plugin_usage VALUES (new.installed_by, 1, new.size_bytes) ON CONFLICT (principal) DO UPDATE SET versions = versions + 1, bytes = bytes + excluded.bytes; END;
CREATE TRIGGER plugin_usage_went AFTER UPDATE OF installed_by, size_bytes, collected_at_ms ON plugin_versions WHEN old.collected_at_ms IS NULL BEGIN UPDATE plugin_usage SET versions = versions - 1, bytes = bytes - old.size_bytes WHERE principal = old.installed_by; END;
CREATE TRIGGER plugin_usage_again AFTER UPDATE OF installed_by, size_bytes, collected_at_ms ON plugin_versions WHEN new.collected_at_ms IS NULL BEGIN INSERT INTO plugin_usage VALUES (new.installed_by, 1, new.size_bytes) ON CONFLICT (principal) DO UPDATE SET versions = versions + 1, bytes = bytes + excluded.bytes; END;
CREATE TRIGGER plugin_usage_gone AFTER DELETE ON plugin_versions WHEN old.collected_at_ms IS NULL BEGIN UPDATE plugin_usage SET versions = versions - 1, bytes = bytes - old.size_bytes WHERE principal = old.installed_by; END;

-- The numbered sets of what is in force and what it may do.
CREATE TABLE generations (
  number INTEGER PRIMARY KEY,
  reason TEXT NOT NULL,
  made_by TEXT NOT NULL,
  made_at_ms INTEGER NOT NULL
) STRICT;

-- A generation in parts: a row is what was in force of one part (a plugin, an MCP server, a policy, …) from generation
-- `since` until before `until`, or still. A change writes the parts that it changes.
CREATE TABLE generation_parts (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER,
  pin TEXT NOT NULL CHECK (json_valid(pin)),
  PRIMARY KEY (kind, id, since)
) STRICT, WITHOUT ROWID;
CREATE INDEX generation_parts_open ON generation_parts (kind, id) WHERE until IS NULL;

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

-- Remote MCP servers. What was approved of one is a bundle under its hash (plugin_bundles); which servers are enabled with
-- which approval is part of each generation. A server that was removed stays as a row, so that its epoch goes on.
CREATE TABLE mcp_servers (
  id TEXT PRIMARY KEY,
  config TEXT NOT NULL CHECK (json_valid(config)),
  state TEXT NOT NULL CHECK (state IN ('added', 'enabled', 'disabled', 'removed')),
  approved_hash TEXT,
  confirmed TEXT NOT NULL CHECK (json_valid(confirmed)),
  epoch INTEGER NOT NULL,
  added_by TEXT NOT NULL,
  added_at_ms INTEGER NOT NULL
) STRICT;

-- Calls that wait or waited for a person's yes, over all sessions. A row is written in one go with the batch of the
-- record that says so: the session has the truth, and the arguments. `seq` is the event of its log that said it last, so
-- that a batch which comes late changes nothing; since_ms as in `audit_runs`. Runs that asked for no yes have no row.
-- `shape` is alike for calls that may be decided together.
CREATE TABLE approvals (
  id TEXT PRIMARY KEY,
  session TEXT NOT NULL,
  since_ms INTEGER NOT NULL,
  run TEXT NOT NULL,
  call TEXT NOT NULL,
  principal TEXT NOT NULL,
  agent TEXT NOT NULL,
  tool TEXT NOT NULL,
  approver TEXT NOT NULL,
  args_hash TEXT NOT NULL,
  shape TEXT NOT NULL,
  label TEXT NOT NULL,
  reason TEXT NOT NULL,
  rule TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'approved', 'denied', 'expired', 'ended')),
  decided_by TEXT,
  decided_at_ms INTEGER,
  seq INTEGER NOT NULL
) STRICT;

CREATE INDEX approvals_by_state ON approvals (state, at_ms, id);
CREATE INDEX approvals_by_session ON approvals (session, run);

-- What an approval allows besides its own call: for one principal's agent, one version of a tool, arguments of one shape
-- and a label no worse than this one. With a session only there, and gone with it.
CREATE TABLE approval_rules (
  id TEXT PRIMARY KEY,
  principal TEXT NOT NULL,
  agent TEXT NOT NULL,
  tool TEXT NOT NULL,
  definition_hash TEXT NOT NULL,
  session TEXT,
  free TEXT NOT NULL,
  shape TEXT NOT NULL,
  label TEXT NOT NULL,
  decided_by TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX approval_rules_by_tool ON approval_rules (principal, tool, expires_at_ms);
CREATE INDEX approval_rules_by_session ON approval_rules (session) WHERE session IS NOT NULL;
CREATE INDEX approval_rules_by_age ON approval_rules (created_at_ms, id);
CREATE INDEX approval_rules_by_end ON approval_rules (expires_at_ms);

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

-- They count for the quota of the principal that brought them, beside plugins.
CREATE TRIGGER skill_usage_came AFTER INSERT ON skill_versions WHEN new.collected_at_ms IS NULL BEGIN INSERT INTO plugin_usage VALUES (new.installed_by, 1, new.size_bytes) ON CONFLICT (principal) DO UPDATE SET versions = versions + 1, bytes = bytes + excluded.bytes; END;
CREATE TRIGGER skill_usage_went AFTER UPDATE OF installed_by, size_bytes, collected_at_ms ON skill_versions WHEN old.collected_at_ms IS NULL BEGIN UPDATE plugin_usage SET versions = versions - 1, bytes = bytes - old.size_bytes WHERE principal = old.installed_by; END;
CREATE TRIGGER skill_usage_again AFTER UPDATE OF installed_by, size_bytes, collected_at_ms ON skill_versions WHEN new.collected_at_ms IS NULL BEGIN INSERT INTO plugin_usage VALUES (new.installed_by, 1, new.size_bytes) ON CONFLICT (principal) DO UPDATE SET versions = versions + 1, bytes = bytes + excluded.bytes; END;

-- Skills that agents wrote: a draft is found by no model and loaded by nothing until an operator has promoted it. `n`
-- counts up and is never given twice: a writer says which was the newest when it looked for one like it. `sketch` is what
-- a new text is compared with, `label` and `principal` are of the writer of the text that it has.
CREATE TABLE skill_drafts (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('open', 'promoted')),
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  requires TEXT NOT NULL,
  hash TEXT NOT NULL,
  files TEXT NOT NULL,
  sketch TEXT NOT NULL,
  label TEXT NOT NULL,
  principal TEXT NOT NULL,
  count INTEGER NOT NULL,
  first_at_ms INTEGER NOT NULL,
  last_at_ms INTEGER NOT NULL,
  promoted_by TEXT,
  promoted_at_ms INTEGER
) STRICT;

CREATE INDEX skill_drafts_by_state ON skill_drafts (state, last_at_ms);

-- Each time that an agent wrote one, or nearly the same again. It is written before the draft and counts for the budgets
-- of its run and of its principal's day, so `draft` is empty until it is known which one has it.
CREATE TABLE skill_draft_writings (
  run TEXT NOT NULL,
  call TEXT NOT NULL,
  draft TEXT NOT NULL,
  session TEXT NOT NULL,
  principal TEXT NOT NULL,
  agent TEXT NOT NULL,
  model TEXT,
  tools TEXT NOT NULL,
  label TEXT NOT NULL,
  hash TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (run, call)
) STRICT, WITHOUT ROWID;

CREATE INDEX skill_draft_writings_by_day ON skill_draft_writings (principal, at_ms);
CREATE INDEX skill_draft_writings_by_draft ON skill_draft_writings (draft, at_ms);

-- The list of all schedules, as the object that keeps each told it last; the object has the truth. `due_ms` is when it will
-- have something to do with it next: a time that is long past says that its alarm was lost. `version` counts the changes
-- of a schedule, so that what comes late changes nothing, and its events are written once. Subscriptions are schedules
-- that events fire. `event`: the pattern of one that is not paused; `hears`: whose events, a principal's or `*`; a session
-- that has an event to tell asks by the two. A plugin's object keeps several: found by their owner.
CREATE TABLE schedules (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  principal TEXT NOT NULL,
  due_ms INTEGER,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  event TEXT,
  hears TEXT
) STRICT;

CREATE INDEX schedules_by_due ON schedules (due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX schedules_by_principal ON schedules (principal, id);
CREATE INDEX schedules_by_event ON schedules (event, hears, owner) WHERE event IS NOT NULL;
CREATE INDEX schedules_by_owner ON schedules (owner);

-- Principals whose objects have long-term memory: their keys are sealed anew when the master key changes. No note is in
-- here.
CREATE TABLE memory_owners (
  principal TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Agents that need no plugin. `version` is the one in force, 0 while the first waits for an operator. A row is never
-- deleted: an id that was a principal's is no other's later. `head` is what lists and searches need of the version in
-- force, so that they read no text: its number, hash, name, descriptions, mode and acl as JSON. `behind` counts changes
-- of an agent since its schedules were last brought in line with it.
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'archived', 'deleted')),
  version INTEGER NOT NULL,
  newest INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  head TEXT,
  behind INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX agents_kept ON agents (id) WHERE state <> 'deleted';
CREATE INDEX agents_by_owner ON agents (owner);
CREATE INDEX agents_behind ON agents (id) WHERE behind > 0;

-- Their texts, none of which is ever changed. `body` is the whole version as JSON; one that no operator has allowed yet
-- has no `approved_by`.
CREATE TABLE agent_versions (
  agent TEXT NOT NULL REFERENCES agents (id),
  version INTEGER NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  approved_by TEXT,
  approved_at_ms INTEGER,
  PRIMARY KEY (agent, version)
) STRICT, WITHOUT ROWID;

-- A person is erased in passes over all places; a row is how far that came, and afterwards the report of it. `principal` is
-- whose it is while it runs, then the pseudonym (the id), which the record has in their place.
CREATE TABLE erasures (
  id TEXT PRIMARY KEY,
  principal TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'done')),
  asked_by TEXT NOT NULL,
  asked_at_ms INTEGER NOT NULL,
  next_ms INTEGER,
  progress TEXT NOT NULL CHECK (json_valid(progress))
) STRICT;
CREATE UNIQUE INDEX erasures_running ON erasures (principal) WHERE state = 'running';
CREATE INDEX erasures_by_time ON erasures (asked_at_ms, id);

-- No person is let in while they are being erased, whatever way is added.
CREATE TRIGGER erasing_keys BEFORE INSERT ON keys
  WHEN EXISTS (SELECT 1 FROM erasures WHERE principal = new.principal AND state = 'running')
  BEGIN SELECT RAISE(ABORT, 'principal is being erased'); END;
CREATE TRIGGER erasing_grants BEFORE INSERT ON oauth_grants
  WHEN EXISTS (SELECT 1 FROM erasures WHERE principal = new.principal AND state = 'running')
  BEGIN SELECT RAISE(ABORT, 'principal is being erased'); END;
