//! A trail that an older haft has begun: it said less, and that is no fault.

use haft_core::record::AuditEntry;
use rusqlite::Connection;
use serde_json::Value;

use super::*;
use crate::sqlite::schema;

const AT: i64 = 1_000;

/// A ledger with one entry, which asks for `{}` and was begun at [`AT`].
fn ledger(state: &str, result: Option<&str>) -> Connection {
    let mut conn = Connection::open_in_memory().unwrap();
    schema::migrate(&mut conn).unwrap();
    let sql = "INSERT INTO effects (key, fingerprint, act, tenant, call, tool, class, state, epoch, \
               owner, lease_until_ms, keep_result_ms, keep_key_ms, started_at_ms, effect, result) \
               VALUES (?1, ?1, ?1, 'acme', 'call_1', 'core__pay', 'irreversible', ?2, 1, \
               zeroblob(16), 0, 10, 100, ?3, '{}', ?4)";
    conn.execute(sql, (key().raw(), state, AT, result)).unwrap();
    conn
}

fn key() -> Digest {
    Digest::of_bytes(b"key")
}

fn entry(number: u64, kind: &str, body: &Value) -> AuditEntry {
    let hash = Digest::of_bytes(b"");
    AuditEntry {
        number,
        at_ms: AT,
        tenant: "acme".into(),
        kind: kind.into(),
        body: body.to_string(),
        previous: hash.clone(),
        hash,
    }
}

fn verdict(trail: &[AuditEntry], conn: &Connection) -> Option<(u64, Fault)> {
    let mut words = Words::default();
    trail.iter().for_each(|entry| words.take(&Written::from(entry)));
    let first = words.against(conn).unwrap().into_iter().next();
    first.map(|one| (one.broken.number, one.broken.fault))
}

/// The same when all of this trail was read before, and only what stood at its end is known.
fn later(trail: &[AuditEntry], conn: &Connection) -> Option<(u64, Fault)> {
    let mut words = Words::default();
    trail.iter().for_each(|entry| words.take(&Written::from(entry)));
    let standing = serde_json::to_string(&words.standing()).unwrap();
    let words = Words::since(serde_json::from_str(&standing).unwrap());
    let first = words.against_these(conn).unwrap().into_iter().next();
    first.map(|one| (one.broken.number, one.broken.fault))
}

#[test]
fn an_older_haft_compared_what_was_asked_and_answered() {
    let settled = |answer: &str| {
        let proof = |text: &str| Digest::of_bytes(text.as_bytes());
        let body = json!({
            "call": "call_1", "state": "succeeded", "key": key(), "asked": proof("{}"),
            "answer": proof(answer), "forgetAtMs": null,
        });
        [entry(1, "settle", &body)]
    };
    let ledger = |result| ledger("succeeded", result);
    assert_eq!(verdict(&settled("1"), &ledger(Some("1"))), None);
    assert_eq!(verdict(&settled("1"), &ledger(None)), None);
    assert_eq!(verdict(&settled("1"), &ledger(Some("2"))), Some((1, Fault::Ledger)));
    assert_eq!(later(&settled("1"), &ledger(Some("1"))), None);
    assert_eq!(later(&settled("1"), &ledger(Some("2"))), Some((1, Fault::Ledger)));
}

#[test]
fn whoever_looked_with_an_older_haft_has_seen_what_was_told_before() {
    let mut words = Words::default();
    let mut said = entry(3, ACKNOWLEDGE, &json!({ "by": "user:ines", "note": "seen" }));
    let knows = |words: &Words, number| {
        let broken = Broken { number, tenant: None, fault: Fault::Ledger };
        words.knows(&Differing { marks: vec![key()], broken })
    };
    words.look(&Written::from(&said));
    assert!(!knows(&words, 2), "a tenant's own note is nobody's word");
    said.tenant.clear();
    words.look(&Written::from(&said));
    for (number, known) in [(0, false), (1, true), (3, true), (4, false)] {
        assert_eq!(knows(&words, number), known, "{number}");
    }
    said.body = json!({ "by": "user:ines", "note": "seen", "faults": [key()] }).to_string();
    words.look(&Written::from(&said));
    assert!(knows(&words, 0) && knows(&words, 4), "by its mark");
}

#[test]
fn an_older_haft_did_not_say_that_an_effect_began() {
    let conn = ledger("started", None);
    assert_eq!(verdict(&[], &conn), None);
    // From the first that says so on, all do.
    let begun = json!({ "call": "call_2", "state": "started" });
    let mut begins = [entry(2, BEGIN, &begun)];
    assert_eq!(verdict(&begins, &conn), Some((0, Fault::Ledger)));
    begins[0].at_ms = AT + 1;
    assert_eq!(verdict(&begins, &conn), None);
}

#[test]
fn an_older_haft_began_again_what_may_be_begun_again() {
    let conn = ledger("started", None);
    let check = |state: &str, forget_at_ms: Option<i64>, class: &str, may: bool| {
        conn.execute("UPDATE effects SET class = ?1", (class,)).unwrap();
        let word = json!({
            "call": "call_0", "state": state, "key": key(), "asked": key(),
            "forgetAtMs": forget_at_ms,
        });
        let fault = (!may).then_some((1, Fault::Ledger));
        let found = verdict(&[entry(1, "settle", &word)], &conn);
        assert_eq!(found, fault, "{state} {forget_at_ms:?} {class}");
        // What has come to its end does not stand, and nothing is known of it.
        let fault = fault.filter(|_| forget_at_ms.is_none());
        let found = later(&[entry(1, "settle", &word)], &conn);
        assert_eq!(found, fault, "later: {state} {forget_at_ms:?} {class}");
    };
    for state in ["failed", "not_happened"] {
        check(state, None, "irreversible", true);
    }
    for (class, may) in [
        ("pure", true),
        ("idempotent", true),
        ("compensatable", false),
        ("irreversible", false),
        ("another", false),
    ] {
        check("unknown", None, class, may);
        check("succeeded", None, class, false);
    }
    for state in ["succeeded", "happened", "compensated"] {
        check(state, Some(AT), "irreversible", true);
        check(state, Some(AT + 1), "irreversible", false);
    }
}
