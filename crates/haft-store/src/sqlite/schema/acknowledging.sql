-- The hash of the entry that says that somebody has looked, and the store's signature under that. What an
-- older haft wrote has neither, and counts for nothing.
ALTER TABLE acknowledged ADD COLUMN hash BLOB;
ALTER TABLE acknowledged ADD COLUMN signature TEXT;
