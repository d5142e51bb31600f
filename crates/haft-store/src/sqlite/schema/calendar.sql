-- Times that were proposed. They hold nothing.
CREATE TABLE drafts (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    meeting TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX drafts_by_end ON drafts (expires_ms);

-- Drafts that were booked. One draft is one event.
CREATE TABLE bookings (
    tenant TEXT NOT NULL,
    event TEXT NOT NULL,
    draft TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, event),
    UNIQUE (tenant, draft)
) STRICT, WITHOUT ROWID;

-- Whose time they take. What is only held ends by itself; what is cancelled takes none.
CREATE TABLE booked_time (
    tenant TEXT NOT NULL,
    person TEXT NOT NULL,
    start_ms INTEGER NOT NULL,
    event TEXT NOT NULL,
    end_ms INTEGER NOT NULL,
    held_until_ms INTEGER,
    PRIMARY KEY (tenant, person, start_ms, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX booked_time_by_event ON booked_time (tenant, event);
