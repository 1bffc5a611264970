-- Skills that agents wrote: a draft is found by no model and loaded by nothing until an operator has promoted it. `n`
-- counts up and is never given twice: whoever adds one says which was the newest when it looked for one like it.
-- `sketch` is what a new text is compared with, `label` and `principal` are of whoever wrote the text that it has.
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
