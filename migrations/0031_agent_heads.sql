-- What lists and searches need of the version in force, so that they read no text: `head` is its number, hash, name,
-- descriptions, mode and acl as JSON. `behind` counts changes of an agent since its schedules were last brought in line
-- with it; what was there before is looked at once.
ALTER TABLE agents ADD COLUMN head TEXT;
ALTER TABLE agents ADD COLUMN behind INTEGER NOT NULL DEFAULT 0;
UPDATE agents SET behind = 1 WHERE state <> 'deleted';

CREATE INDEX agents_kept ON agents (id) WHERE state <> 'deleted';
CREATE INDEX agents_by_owner ON agents (owner);
CREATE INDEX agents_behind ON agents (id) WHERE behind > 0;
