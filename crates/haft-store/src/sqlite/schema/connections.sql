-- Accounts elsewhere. What proves who they are is sealed; the rest is for everyone who may look.
CREATE TABLE connections (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    nonce BLOB NOT NULL,
    sealed BLOB NOT NULL,
    held_until_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Who may use them.
CREATE TABLE connection_grants (
    tenant TEXT NOT NULL,
    connection TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, connection, body)
) STRICT, WITHOUT ROWID;
