-- What the orchestrator speaks as to whoever shows a key, where neither request nor session says. NULL: as itself.
ALTER TABLE keys ADD COLUMN persona TEXT;
