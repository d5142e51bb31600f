-- What is configured: one row per thing. A row without a body is a thing that was removed; its
-- version goes on when it is put back, so that nobody who read the old one can overwrite it.
CREATE TABLE configs (
    kind TEXT NOT NULL,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT,
    changed_at_ms INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (kind, tenant, id)
) STRICT, WITHOUT ROWID;

-- What it said before, for the kinds of which that may be kept.
CREATE TABLE config_versions (
    kind TEXT NOT NULL,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    changed_at_ms INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (kind, tenant, id, version)
) STRICT, WITHOUT ROWID;

-- How many changes there were, for whoever watches.
CREATE TABLE config_changes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    changes INTEGER NOT NULL
) STRICT;
INSERT INTO config_changes VALUES (1, 0);
