-- Entries of the audit trail that were forgotten in their time, and what they stood between.
CREATE TABLE forgotten (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    previous BLOB NOT NULL,
    hash BLOB NOT NULL,
    at_ms INTEGER NOT NULL,
    signature TEXT NOT NULL
) STRICT;

-- Only what stands in there may go.
DROP TRIGGER audit_keeps_all;
CREATE TRIGGER audit_keeps_all BEFORE DELETE ON audit
    WHEN coalesce((SELECT last FROM forgotten WHERE first <= old.number
                   ORDER BY first DESC LIMIT 1), 0) < old.number
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

CREATE INDEX confirmations_age ON confirmations (asked_at_ms);

-- When a session was written last. Without an index: it would be written with every call.
ALTER TABLE sessions ADD COLUMN touched_at_ms INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET touched_at_ms = (SELECT now_ms FROM clock);
