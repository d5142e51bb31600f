-- Who approved an effect is kept as long as the effect is.
CREATE INDEX effects_confirmation ON effects (confirmation) WHERE confirmation IS NOT NULL;
