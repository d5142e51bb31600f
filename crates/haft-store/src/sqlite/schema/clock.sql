-- Since when the machine's clock has not jumped, what is certainly not later than it is, and behind
-- what time never goes back. Of a file that has none of it, only the time is known, and not whether it
-- is right.
ALTER TABLE clock ADD COLUMN since_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE clock ADD COLUMN sure_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE clock ADD COLUMN floor_ms INTEGER NOT NULL DEFAULT 0;
UPDATE clock SET since_ms = now_ms;
