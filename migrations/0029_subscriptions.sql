-- Subscriptions are schedules that events fire. `event`: the pattern of one that is not paused; `hears`: whose events, a
-- principal's or `*`. Whoever has something to tell asks by the two. A plugin's object keeps several: found by their owner.
ALTER TABLE schedules ADD COLUMN event TEXT;
ALTER TABLE schedules ADD COLUMN hears TEXT;

CREATE INDEX schedules_by_event ON schedules (event, hears, owner) WHERE event IS NOT NULL;
CREATE INDEX schedules_by_owner ON schedules (owner);
