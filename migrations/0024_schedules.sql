-- The list of all schedules, as the object that keeps each told it last; the object has the truth. `due_ms` is when it will
-- have something to do with it next: one that is long past says that its alarm was lost. `version` counts the changes of a
-- schedule, so that what comes late changes nothing, and its events are written once.
CREATE TABLE schedules (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  principal TEXT NOT NULL,
  due_ms INTEGER,
  version INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE INDEX schedules_by_due ON schedules (due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX schedules_by_principal ON schedules (principal, id);
