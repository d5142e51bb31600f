-- The entries that say who may use a connection from then on, by connection: the last one counts.
CREATE INDEX audit_grants ON audit (tenant, iif(json_valid(body), body ->> '$.connection', NULL))
    WHERE kind = 'connection' AND iif(json_valid(body), body ->> '$.grants', NULL) IS NOT NULL;
