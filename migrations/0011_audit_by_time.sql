-- What happened since a moment, and what it cost, is read from there on: not the whole record.
CREATE INDEX audit_by_time ON audit (at_ms);
