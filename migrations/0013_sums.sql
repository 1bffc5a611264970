-- What reports add up of a row's events, written with them, so that none has to be read for it. A row that has no
-- `tally` was written before, or is not to be added up like this: there its events are read. Nothing is filled in
-- later: such rows expire.
ALTER TABLE audit_runs ADD COLUMN starts INTEGER;
-- How many events cost something, or might have.
ALTER TABLE audit_runs ADD COLUMN spends INTEGER;
-- Requests to models that are counted, and those of them that were answered.
ALTER TABLE audit_runs ADD COLUMN model_calls INTEGER;
ALTER TABLE audit_runs ADD COLUMN model_answers INTEGER;
ALTER TABLE audit_runs ADD COLUMN tool_calls INTEGER;
ALTER TABLE audit_runs ADD COLUMN input_tokens INTEGER;
ALTER TABLE audit_runs ADD COLUMN output_tokens INTEGER;
ALTER TABLE audit_runs ADD COLUMN booked_tokens INTEGER;
ALTER TABLE audit_runs ADD COLUMN cost_nano_usd INTEGER;
-- How the run ended, if it is in this row.
ALTER TABLE audit_runs ADD COLUMN state TEXT;
ALTER TABLE audit_runs ADD COLUMN turns INTEGER;
-- By model, tool and plugin: an array of { type, atMs, data } like `events`, in which events that differ in nothing but
-- amounts are one, with their sums and how many they are (`count`).
ALTER TABLE audit_runs ADD COLUMN tally TEXT CHECK (json_valid(tally));
