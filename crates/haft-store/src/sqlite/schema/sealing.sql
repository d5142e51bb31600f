-- One key per tenant, sealed with the one that seals connections. What callers wrote is sealed with it;
-- without its row, nothing of that opens any more.
CREATE TABLE tenant_keys (
    tenant TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    sealed_with TEXT NOT NULL,
    nonce BLOB NOT NULL,
    sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;
-- Texts that begin with a space are sealed ones. Reasons were the only texts that somebody else began.
UPDATE blocks SET reason = ltrim(reason);
