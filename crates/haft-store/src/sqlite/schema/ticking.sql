-- For how many ticks the machine's clock has not jumped, what these are counted from and how many they were, and a
-- jump that is not believed yet: so that processes of one start of the machine tell how long it has been between them.
ALTER TABLE clock ADD COLUMN held_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE clock ADD COLUMN boot TEXT;
ALTER TABLE clock ADD COLUMN ticks_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE clock ADD COLUMN jump_offset_ms INTEGER;
ALTER TABLE clock ADD COLUMN jump_since_ms INTEGER;
ALTER TABLE clock ADD COLUMN jump_off_ms INTEGER;
ALTER TABLE clock DROP COLUMN since_ms;
