-- The last head of the trail that was signed, as far as the database knows. It is signed in its own words, so
-- that nobody without the key can take back that there was one.
CREATE TABLE signed (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL,
    hash BLOB NOT NULL,
    at_ms INTEGER NOT NULL,
    signature TEXT NOT NULL
) STRICT;
