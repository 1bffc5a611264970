-- Whose objects have long-term memory: their keys are sealed anew when the master key changes. No note is in here.
CREATE TABLE memory_owners (
  principal TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
