-- What the platform was made to do for the run itself, as far as this row tells of it: an object of amounts by unit, of
-- which what is absent is zero, and their price at that time. What is below the run is in rows of its own. NULL in rows
-- of before, and where nothing is told.
ALTER TABLE audit_runs ADD COLUMN platform TEXT CHECK (json_valid(platform));
ALTER TABLE audit_runs ADD COLUMN platform_nano_usd INTEGER;
-- The same of what no run made it do, in this isolate and until this row was written.
ALTER TABLE audit_runs ADD COLUMN others TEXT CHECK (json_valid(others));
