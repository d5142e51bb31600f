-- What an effect's tool got, whatever the contract of the day says that an act goes by. Absent of what an
-- earlier version began.
ALTER TABLE effects ADD COLUMN deed BLOB;
CREATE INDEX effects_deeds ON effects (deed)
    WHERE deed IS NOT NULL AND (state = 'started' OR state = 'unknown');
