-- The key of the effect that an effect is a part of. An earlier version did not say: of what it wrote, any that was
-- sealed may be a part, and is looked into.
ALTER TABLE effects ADD COLUMN part_of BLOB;
UPDATE effects SET part_of = x''
    WHERE substr(effect, 1, 1) = ' ' OR iif(json_valid(effect), effect ->> '$.within', NULL) IS NOT NULL;
CREATE INDEX effects_parts ON effects (part_of) WHERE part_of IS NOT NULL;
