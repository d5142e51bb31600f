-- The ledger: one row per key.
CREATE TABLE effects (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    fingerprint BLOB NOT NULL,
    act BLOB NOT NULL,
    tenant TEXT NOT NULL,
    call TEXT NOT NULL,
    tool TEXT NOT NULL,
    session TEXT,
    turn_group TEXT,
    class TEXT NOT NULL,
    state TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    owner BLOB NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    keep_result_ms INTEGER NOT NULL,
    keep_key_ms INTEGER NOT NULL,
    due_at_ms INTEGER,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    effect TEXT NOT NULL,
    result TEXT,
    error TEXT,
    intents TEXT,
    confirmation TEXT,
    resolution TEXT,
    compensation_id TEXT,
    compensation_result TEXT
) STRICT;
CREATE INDEX effects_call ON effects (call);
CREATE INDEX effects_tenant ON effects (tenant);
CREATE INDEX effects_session ON effects (session) WHERE session IS NOT NULL;
CREATE INDEX effects_turn_group ON effects (turn_group) WHERE turn_group IS NOT NULL;
-- These hold few rows at a time, whatever the ledger's size. Conditions with OR, not with IN: for
-- a longer list SQLite would build a table for every row that is written.
CREATE INDEX effects_open ON effects (act) WHERE state = 'started' OR state = 'unknown';
CREATE INDEX effects_attention ON effects (tenant)
    WHERE state = 'unknown' OR state = 'compensating' OR state = 'stuck';
CREATE INDEX effects_due ON effects (due_at_ms) WHERE due_at_ms IS NOT NULL;

-- The audit trail. Bodies of calls live here, and only here, so that they are part of the chain.
CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    previous BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;
CREATE TRIGGER audit_keeps BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER audit_keeps_all BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

-- Where to find calls in it.
CREATE TABLE calls (
    number INTEGER PRIMARY KEY REFERENCES audit (number),
    tenant TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    session TEXT,
    call TEXT NOT NULL,
    error TEXT,
    started_at_ms INTEGER NOT NULL,
    duration_us INTEGER NOT NULL
) STRICT;
CREATE INDEX calls_tenant ON calls (tenant, started_at_ms);
CREATE INDEX calls_tool ON calls (tenant, tool, started_at_ms);
CREATE INDEX calls_call ON calls (call);
CREATE INDEX calls_session ON calls (session) WHERE session IS NOT NULL;

CREATE TABLE confirmations (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    binding BLOB NOT NULL,
    status TEXT NOT NULL,
    asked_at_ms INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX confirmations_binding ON confirmations (tenant, binding);
CREATE INDEX confirmations_asked ON confirmations (tenant, asked_at_ms);

CREATE TABLE sessions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;

CREATE TABLE blocks (
    tenant TEXT NOT NULL,
    principal TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (tenant, principal)
) STRICT, WITHOUT ROWID;

-- The latest time that anybody was told.
CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    now_ms INTEGER NOT NULL
) STRICT;
INSERT INTO clock VALUES (1, 0);

-- Faults of the trail that a person has looked at.
CREATE TABLE acknowledged (
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    by TEXT NOT NULL
) STRICT;
