-- When a tenant's entries were written.
CREATE INDEX audit_time ON audit (tenant, at_ms);
-- Entries that tell of something else than how a call ended: few, and looked through for what they say.
CREATE INDEX audit_rare ON audit (tenant)
    WHERE kind <> 'call' AND kind <> 'settle' AND kind <> 'late';
-- What was asked in a session.
CREATE INDEX confirmations_session ON confirmations (tenant, body ->> '$.session', asked_at_ms)
    WHERE body ->> '$.session' IS NOT NULL;
