-- When a tenant's entries were written.
CREATE INDEX audit_time ON audit (tenant, at_ms);
-- Entries that tell of something else than how a call ended: few, and looked through for what they say.
CREATE INDEX audit_rare ON audit (tenant)
    WHERE kind <> 'call' AND kind <> 'settle' AND kind <> 'late';
-- What was asked in a session. A row that cannot be read is not found by it, and harms no other.
CREATE INDEX confirmations_session
    ON confirmations (tenant, iif(json_valid(body), body ->> '$.session', NULL), asked_at_ms)
    WHERE iif(json_valid(body), body ->> '$.session', NULL) IS NOT NULL;
