-- What happened since a moment, and what it cost, is read from there on: not the whole record.
CREATE INDEX audit_by_time ON audit (at_ms);

-- What operators did to one session, of everything that the deployment's own log has.
CREATE INDEX audit_about_session ON audit (data->>'session') WHERE session = '';
