-- What calls in sessions were answered, for whoever sends one again. Not in the session's own row, which
-- is read and written with every call.
CREATE TABLE session_answers (
    place INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    call TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (tenant, session, call),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
) STRICT;
