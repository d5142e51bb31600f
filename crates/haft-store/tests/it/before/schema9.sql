-- A store as the last version without sealing left it: schema 9.
PRAGMA application_id = 1751213684;
PRAGMA user_version = 9;
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE acknowledged (
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    by TEXT NOT NULL
) STRICT;
CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    previous BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;
INSERT INTO "audit" VALUES(1,1800000000000,'acme','config','{"kind":"tenant","id":"acme","version":1,"by":"user:root","digest":"sha256:d8c6908e74455e8c8f09303f89844f7c6df871fb2939bf72c988a4bc9fed8812"}',X'0000000000000000000000000000000000000000000000000000000000000000',X'AD2EB4FEDF54BC2D6402EDD50D419F9B958CD14F2E2E87045167439EDDCFD27C');
INSERT INTO "audit" VALUES(2,1800000000000,'acme','settle','{"call":"call of first","key":"sha256:a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e","epoch":1,"state":"succeeded","record":{"call":"call of first","modelCall":"toolu_1","tenant":"acme","agent":"assistant","actor":"agent:assistant","session":"s1","turn":1,"mode":"text","tool":"core__pay","arguments":{"said":"canary-5f1c"},"result":{"said":"canary-5f1c"},"message":"canary-5f1c","stage":"publish","cached":false,"attempts":1,"warnings":["string_to_integer"],"startedAtMs":1800000000000,"durationUs":5}}',X'AD2EB4FEDF54BC2D6402EDD50D419F9B958CD14F2E2E87045167439EDDCFD27C',X'3C8065985AD8BA600F7373FCF542CAC44A34FD34E68DCB11C56C1853BC0A3D03');
INSERT INTO "audit" VALUES(3,1800000000000,'acme','undo','{"call":"call of first","state":"compensating","by":"canary-5f1c","agent":"assistant","tool":"core__pay","session":"s1"}',X'3C8065985AD8BA600F7373FCF542CAC44A34FD34E68DCB11C56C1853BC0A3D03',X'CB0BF0AD278E48DE8743BEAA882C80E3270319FA6886571A1F98432DC1EC0EDC');
INSERT INTO "audit" VALUES(4,1800000000000,'acme','undo','{"call":"call of first","state":"compensated","by":"u","result":{"said":"canary-5f1c"},"agent":"assistant","tool":"core__pay","session":"s1"}',X'CB0BF0AD278E48DE8743BEAA882C80E3270319FA6886571A1F98432DC1EC0EDC',X'9081EBD0C4F6284B6571E48485EEE36B7D99ECF978008C557778D310B84D479B');
INSERT INTO "audit" VALUES(5,1800000030001,'acme','unknown','{"call":"call of second","epoch":1,"state":"unknown","lost":"lease","agent":"assistant","tool":"core__pay","session":"s1"}',X'9081EBD0C4F6284B6571E48485EEE36B7D99ECF978008C557778D310B84D479B',X'CCE3BA485127EE60645DA65B112319FF15F417132DBFB5B2796B4A66B1955DD6');
INSERT INTO "audit" VALUES(6,1800000030001,'acme','late','{"call":"call of second","key":"sha256:16367aacb67a4a017c8da8ab95682ccb390863780f7114dda0a0e0c55644c7c4","epoch":1,"state":"failed","late":{"found":"unknown","result":null,"error":{"kind":"permanent","message":"canary-5f1c","retryable":false,"idempotencyRequired":false,"partialSideEffects":false,"suggestion":"do not repeat this call; it will fail again"}}}',X'CCE3BA485127EE60645DA65B112319FF15F417132DBFB5B2796B4A66B1955DD6',X'0D953E4E36E540E5306128EB314316077097E5B34DCF0AE6F0C05558818EB297');
INSERT INTO "audit" VALUES(7,1800000030001,'acme','resolve','{"call":"call of second","epoch":1,"state":"happened","by":"user:mara","note":"canary-5f1c","result":{"said":"canary-5f1c"},"agent":"assistant","tool":"core__pay","session":"s1"}',X'0D953E4E36E540E5306128EB314316077097E5B34DCF0AE6F0C05558818EB297',X'3CA72A3F9AADD459D440FD1FE117C8207DAB2BC73CDF8F269DDC9AEE75389224');
INSERT INTO "audit" VALUES(8,1800000030001,'acme','call','{"call":"read","modelCall":"toolu_1","tenant":"acme","agent":"assistant","actor":"agent:assistant","session":"s1","turn":1,"mode":"text","tool":"core__pay","arguments":{"said":"canary-5f1c"},"result":{"said":"canary-5f1c"},"message":"canary-5f1c","stage":"publish","cached":false,"attempts":1,"warnings":["string_to_integer"],"startedAtMs":1800000000000,"durationUs":5}',X'3CA72A3F9AADD459D440FD1FE117C8207DAB2BC73CDF8F269DDC9AEE75389224',X'38C0DC5B4DF184D77A787D6BFD26A2A649A764B8916CF8D4112FFB0DAB6B6648');
INSERT INTO "audit" VALUES(9,1800000030001,'acme','note','{"said":"canary-5f1c"}',X'38C0DC5B4DF184D77A787D6BFD26A2A649A764B8916CF8D4112FFB0DAB6B6648',X'5E3E4480FA43FBAE611786D46BD9F8F09DD130481488BF9F0A05B783ADFD0149');
INSERT INTO "audit" VALUES(10,1800000030001,'acme','confirmation','{"id":"c1","status":"approved","by":"user:mara","agent":"assistant","tool":"core__pay","session":"s1"}',X'5E3E4480FA43FBAE611786D46BD9F8F09DD130481488BF9F0A05B783ADFD0149',X'53AC59B97D0D5451514C56BA84583BEC50750768123C101B945BA2DD8AF7ABBF');
INSERT INTO "audit" VALUES(11,1800000030001,'acme','connection','{"connection":"work","what":"made","kind":"bearer","provider":"tracker","hosts":["api.example"],"revision":1,"by":"user:root"}',X'53AC59B97D0D5451514C56BA84583BEC50750768123C101B945BA2DD8AF7ABBF',X'722EEBE0296223A6317930F8DADEBD82C2D60497E977836B95AFBB703931E16E');
INSERT INTO "audit" VALUES(12,1800000030001,'acme','connection','{"connection":"work","what":"granted","to":{"tenant":"acme","connection":"work","principals":["*"],"tools":["*"]},"by":"user:root"}',X'722EEBE0296223A6317930F8DADEBD82C2D60497E977836B95AFBB703931E16E',X'9CB094A648B45147F8119098FB6BDEADAE7CF5156FD8A3FA6B0C8FB0746F2F3B');
CREATE TABLE blocks (
    tenant TEXT NOT NULL,
    principal TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (tenant, principal)
) STRICT, WITHOUT ROWID;
INSERT INTO "blocks" VALUES('acme','user:eve',1800001030001,'canary-5f1c');
CREATE TABLE booked_time (
    tenant TEXT NOT NULL,
    person TEXT NOT NULL,
    start_ms INTEGER NOT NULL,
    event TEXT NOT NULL,
    end_ms INTEGER NOT NULL,
    held_until_ms INTEGER,
    PRIMARY KEY (tenant, person, start_ms, event)
) STRICT, WITHOUT ROWID;
INSERT INTO "booked_time" VALUES('a','bo@example.com',1800000000000,'evt_d1',1800000001000,NULL);
CREATE TABLE bookings (
    tenant TEXT NOT NULL,
    event TEXT NOT NULL,
    draft TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, event),
    UNIQUE (tenant, draft)
) STRICT, WITHOUT ROWID;
INSERT INTO "bookings" VALUES('a','evt_d1','d1','{"tenant":"a","event":"evt_d1","draft":"d1","meeting":{"title":"canary-5f1c","attendees":["bo@example.com"],"span":{"start_ms":1800000000000,"end_ms":1800000001000},"zone":"UTC","conference":false,"notes":"canary-5f1c"},"status":"confirmed","madeMs":1800000000000}');
CREATE TABLE calls (
    number INTEGER PRIMARY KEY REFERENCES audit (number),
    tenant TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    session TEXT,
    call TEXT NOT NULL,
    error TEXT,
    started_at_ms INTEGER NOT NULL,
    duration_us INTEGER NOT NULL
) STRICT;
INSERT INTO "calls" VALUES(2,'acme','assistant','core__pay','s1','call of first',NULL,1800000000000,5);
INSERT INTO "calls" VALUES(8,'acme','assistant','core__pay','s1','read',NULL,1800000000000,5);
CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    now_ms INTEGER NOT NULL
, since_ms INTEGER NOT NULL DEFAULT 0, sure_ms INTEGER NOT NULL DEFAULT 0, floor_ms INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "clock" VALUES(1,1800000030001,1800000000000,1800000030001,30001);
CREATE TABLE config_changes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    changes INTEGER NOT NULL
) STRICT;
INSERT INTO "config_changes" VALUES(1,1);
CREATE TABLE config_versions (
    kind TEXT NOT NULL,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    changed_at_ms INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (kind, tenant, id, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE configs (
    kind TEXT NOT NULL,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT,
    changed_at_ms INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (kind, tenant, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "configs" VALUES('tenant','acme','acme',1,'{"description":"canary-5f1c"}',1800000000000,'user:root');
CREATE TABLE confirmations (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    binding BLOB NOT NULL,
    status TEXT NOT NULL,
    asked_at_ms INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;
INSERT INTO "confirmations" VALUES('acme','c1',X'80F70AFEEF3CAA57646FD20AFB95BE9C3F2C03D38E091906DE31838813DCC22E','approved',1800000000000,'{"id":"c1","tenant":"acme","agent":"assistant","actor":"agent:assistant","subject":"user:mara","session":"s1","tool":"core__pay","arguments":{"said":"canary-5f1c"},"preview":"canary-5f1c","binding":"sha256:80f70afeef3caa57646fd20afb95be9c3f2c03d38e091906de31838813dcc22e","status":"approved","decidedBy":"user:mara","askedAtMs":1800000000000,"expiresAtMs":1800000100000}');
CREATE TABLE connection_grants (
    tenant TEXT NOT NULL,
    connection TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, connection, body)
) STRICT, WITHOUT ROWID;
INSERT INTO "connection_grants" VALUES('acme','work','{"tenant":"acme","connection":"work","principals":["*"],"tools":["*"]}');
CREATE TABLE connections (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    account TEXT NOT NULL,
    key_id TEXT NOT NULL,
    nonce BLOB NOT NULL,
    sealed BLOB NOT NULL,
    held_until_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "connections" VALUES('acme','work',1,'{"tenant":"acme","id":"work","provider":"tracker","kind":"bearer","hosts":["api.example"],"revision":1,"madeMs":1800000030001,"changedMs":1800000030001}','31a068d6',X'81F54126D5CDD3CDEAABD8D9367B8F3F3B703AC865B8A8E1',X'C95E434C4D27D57BAA15D9F2D6D5DBFAB81D998EE5B98D53FE3519A01F21439F59784BEF18975E7FE3DD59C919488A9C260692908CFAC3B5',0);
CREATE TABLE drafts (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    meeting TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "drafts" VALUES('a','d1',1800001000000,'{"title":"canary-5f1c","attendees":["bo@example.com"],"span":{"start_ms":1800000000000,"end_ms":1800000001000},"zone":"UTC","conference":false,"notes":"canary-5f1c"}');
CREATE TABLE effects (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    fingerprint BLOB NOT NULL,
    act BLOB NOT NULL,
    tenant TEXT NOT NULL,
    call TEXT NOT NULL,
    tool TEXT NOT NULL,
    session TEXT,
    turn_group TEXT,
    class TEXT NOT NULL,
    state TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    owner BLOB NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    keep_result_ms INTEGER NOT NULL,
    keep_key_ms INTEGER NOT NULL,
    due_at_ms INTEGER,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    effect TEXT NOT NULL,
    result TEXT,
    error TEXT,
    intents TEXT,
    confirmation TEXT,
    resolution TEXT,
    compensation_id TEXT,
    compensation_result TEXT
) STRICT;
INSERT INTO "effects" VALUES(1,X'A7937B64B8CAA58F03721BB6BACF5C78CB235FEBE0E70B1B84CD99541461A08E',X'B192017DA47F5D35FB73A303A7BA74A8F4648D05176804AE49D9CDAA1D780812',X'70AA6A487608FB6C9CBE18B0EDC0EB87FD8D98EEC493A3BFD38A5EAB02BB5021','acme','call of first','core__pay','s1','g1','compensatable','compensated',1,X'38D124CD0951DAA85820BFECF191A2B3',1800000030000,60000,600000,1800000060000,1800000000000,1800000000000,'{"call":"call of first","tenant":"acme","agent":"assistant","actor":"agent:assistant","subject":"user:mara","session":"s1","turn":2,"turnGroup":"g1","mode":"voice","tool":"core__pay","toolVersion":"1.2.0","toolDigest":"sha256:7c9bbe5ec9b3fb774e8fa0f54247e93c34ddf8e5d16fe3073420de0ae81a262d","registryVersion":"1.0.abcdef01","policy":"compensatable","arguments":{"said":"canary-5f1c"},"rawArguments":{"said":"canary-5f1c"},"connection":"conn_1"}','{"said":"canary-5f1c"}',NULL,'[{"type":"SET_PENDING_MESSAGE","message":{"said":"canary-5f1c"}}]',NULL,NULL,'u','{"said":"canary-5f1c"}');
INSERT INTO "effects" VALUES(2,X'16367AACB67A4A017C8DA8AB95682CCB390863780F7114DDA0A0E0C55644C7C4',X'B192017DA47F5D35FB73A303A7BA74A8F4648D05176804AE49D9CDAA1D780812',X'DF3AA904AF89737653D495387CBEC0F3318C5F8544E9F6D4DCEF444E9FD72F10','acme','call of second','core__pay','s1','g1','irreversible','happened',1,X'38D124CD0951DAA85820BFECF191A2B3',1800000030000,60000,600000,1800000090001,1800000000000,1800000030001,'{"call":"call of second","tenant":"acme","agent":"assistant","actor":"agent:assistant","subject":"user:mara","session":"s1","turn":2,"turnGroup":"g1","mode":"voice","tool":"core__pay","toolVersion":"1.2.0","toolDigest":"sha256:7c9bbe5ec9b3fb774e8fa0f54247e93c34ddf8e5d16fe3073420de0ae81a262d","registryVersion":"1.0.abcdef01","policy":"irreversible","arguments":{"said":"canary-5f1c"},"connection":"conn_1"}','{"said":"canary-5f1c"}',NULL,NULL,NULL,'{"happened":true,"by":"user:mara","note":"canary-5f1c","atMs":1800000030001}',NULL,NULL);
CREATE TABLE forgotten (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    previous BLOB NOT NULL,
    hash BLOB NOT NULL,
    at_ms INTEGER NOT NULL,
    signature TEXT NOT NULL
) STRICT;
CREATE TABLE session_answers (
    place INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    call TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (tenant, session, call),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
) STRICT;
INSERT INTO "session_answers" VALUES(1,'acme','s1','a1','{"said":"canary-5f1c"}');
CREATE TABLE sessions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body TEXT NOT NULL, touched_at_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, id)
) STRICT;
INSERT INTO "sessions" VALUES('acme','s1',2,'{"id":"s1","tenant":"acme","agent":"assistant","principal":"user:mara","mode":"voice","registryVersion":"1.0.abcdef01","phase":"active","turn":{"number":1,"group":"g1","retrievalCalls":0,"searched":false,"calls":0,"open":true,"aborted":false,"carry":false},"suppressAudio":true,"suppressTranscript":false,"pendingMessage":{"text":"hello"},"waiting":["later",{"said":"canary-5f1c"}],"recent":[{"id":"a1","fingerprint":"sha256:7edb360f06acaef2cc80dba16cf563f199d347db4443da04da0c8173e3f9e4ed","answered":true}],"createdAtMs":1800000000000,"revision":2}',1800000030001);
CREATE INDEX effects_call ON effects (call);
CREATE INDEX effects_tenant ON effects (tenant);
CREATE INDEX effects_session ON effects (session) WHERE session IS NOT NULL;
CREATE INDEX effects_turn_group ON effects (turn_group) WHERE turn_group IS NOT NULL;
CREATE INDEX effects_open ON effects (act) WHERE state = 'started' OR state = 'unknown';
CREATE INDEX effects_attention ON effects (tenant)
    WHERE state = 'unknown' OR state = 'compensating' OR state = 'stuck';
CREATE INDEX effects_due ON effects (due_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE TRIGGER audit_keeps BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE INDEX calls_tenant ON calls (tenant, started_at_ms);
CREATE INDEX calls_tool ON calls (tenant, tool, started_at_ms);
CREATE INDEX calls_call ON calls (call);
CREATE INDEX calls_session ON calls (session) WHERE session IS NOT NULL;
CREATE INDEX confirmations_binding ON confirmations (tenant, binding);
CREATE INDEX confirmations_asked ON confirmations (tenant, asked_at_ms);
CREATE INDEX drafts_by_end ON drafts (expires_ms);
CREATE INDEX booked_time_by_event ON booked_time (tenant, event);
CREATE TRIGGER audit_keeps_all BEFORE DELETE ON audit
    WHEN coalesce((SELECT last FROM forgotten WHERE first <= old.number
                   ORDER BY first DESC LIMIT 1), 0) < old.number
    BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE INDEX confirmations_age ON confirmations (asked_at_ms);
CREATE INDEX effects_confirmation ON effects (confirmation) WHERE confirmation IS NOT NULL;
CREATE INDEX audit_time ON audit (tenant, at_ms);
CREATE INDEX audit_rare ON audit (tenant)
    WHERE kind <> 'call' AND kind <> 'settle' AND kind <> 'late';
CREATE INDEX confirmations_session
    ON confirmations (tenant, iif(json_valid(body), body ->> '$.session', NULL), asked_at_ms)
    WHERE iif(json_valid(body), body ->> '$.session', NULL) IS NOT NULL;
COMMIT;
