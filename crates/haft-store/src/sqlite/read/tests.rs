//! That what is asked often is found without looking through everything.

use rusqlite::StatementStatus;

use super::super::tx::{HEAD_OF_CALL, WAITING};
use super::*;

fn filled(sql: &str) -> Connection {
    let mut conn = Connection::open_in_memory().unwrap();
    super::super::schema::migrate(&mut conn).unwrap();
    let numbers = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)";
    conn.execute_batch(&format!("PRAGMA foreign_keys = OFF; {numbers} {sql}")).unwrap();
    conn
}

/// How much work a question is, and how many rows it finds.
fn work(conn: &Connection, sql: &str, values: &[Value]) -> (i32, usize) {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map(params_from_iter(values), |_| Ok(())).unwrap().count();
    (statement.get_status(StatementStatus::VmStep), rows)
}

/// Also one that is not there: forgetting asks that of every entry, while it holds the writer.
#[test]
fn an_effect_is_found_by_its_call_however_many_its_tenant_has() {
    let conn = filled(
        "INSERT INTO effects (key, fingerprint, act, tenant, call, tool, class, state, epoch, \
         owner, lease_until_ms, keep_result_ms, keep_key_ms, started_at_ms, effect) \
         SELECT CAST('k' || n AS BLOB), x'00', x'00', 'acme', 'call ' || n, 't', 'pure', \
         'succeeded', 1, x'00', 0, 0, 0, n, '{}' FROM n",
    );
    let mut page = Where::new("SELECT id FROM effects", "acme");
    page.after("id", "effects INDEXED BY effects_call", "call", Some("call 1"));
    page.sql.push_str(" ORDER BY id DESC LIMIT 5");
    for (sql, values, expected) in [
        (HEAD_OF_CALL, ["call 7", "acme"], 1),
        (HEAD_OF_CALL, ["call 0", "acme"], 0),
        (EFFECT_OF_CALL, ["call 7", "acme"], 1),
        (EFFECT_OF_CALL, ["call 0", "acme"], 0),
        (&page.sql, ["acme", "call 1"], 0),
    ] {
        let values = values.map(|text| Value::Text(text.to_owned()));
        let (steps, rows) = work(&conn, sql, &values);
        assert!(steps < 500 && rows == expected, "{sql}: {steps} steps, {rows} rows");
    }
}

/// Those of a version before are in the way of none of the others.
#[test]
fn the_parts_of_an_effect_are_found_however_many_others_have() {
    let conn = filled(
        "INSERT INTO effects (key, fingerprint, act, tenant, call, tool, class, state, epoch, \
         owner, lease_until_ms, keep_result_ms, keep_key_ms, started_at_ms, effect, part_of) \
         SELECT CAST('k' || n AS BLOB), x'00', x'00', 'acme', 'call ' || n, 't', 'pure', \
         'succeeded', 1, x'00', 0, 0, 0, n, '{}', CAST(n % 1000 AS BLOB) FROM n",
    );
    for (whole, expected) in [("7", 5), ("none", 0)] {
        let values = [Value::Blob(whole.as_bytes().to_vec()), Value::Text("acme".to_owned())];
        let (steps, rows) = work(&conn, PARTS, &values);
        assert!(steps < 500 && rows == expected, "{whole}: {steps} steps, {rows} rows");
    }
}

#[test]
fn a_call_is_found_by_its_id_and_by_its_session_however_many_its_tenant_has() {
    let conn = filled(
        "INSERT INTO calls SELECT n, 'acme', 'a', 'tool', 's' || (n % 1000), 'c' || n, NULL, n, 1 \
         FROM n",
    );
    let of = |call: Option<&str>, session: Option<&str>| CallFilter {
        tenant: "acme".to_owned(),
        call: call.map(str::to_owned),
        session: session.map(str::to_owned),
        after: Some("c4999".to_owned()),
        limit: 5,
        ..CallFilter::default()
    };
    for (filter, expected) in [
        (of(Some("c7"), None), 1),
        (of(Some("none"), None), 0),
        (of(None, Some("s7")), 5),
        (of(None, Some("none")), 0),
        (of(Some("c7"), Some("s7")), 1),
    ] {
        let query = found_calls(&filter);
        let (steps, rows) = work(&conn, &query.sql, &query.values);
        assert!(steps < 500 && rows == expected, "{filter:?}: {steps} steps, {rows} rows");
    }
}

/// However many there are: it is counted in the step that writes, and whoever claims waits for that.
#[test]
fn questions_that_wait_are_counted_by_whom_they_are_of_and_none_is_opened() {
    let conn = filled(
        "INSERT INTO confirmations (tenant, id, binding, status, asked_at_ms, body, asker) \
         SELECT 'acme', 'c' || n, x'00', iif(n % 2, 'pending', 'spent'), n, 'unreadable', \
         CAST(n % 500 AS BLOB) FROM n",
    );
    for (asker, after, expected) in [("7", 0, 10), ("7", 2_600, 4), ("8", 0, 0), ("x", 0, 0)] {
        let asker = Value::Blob(asker.as_bytes().to_vec());
        let values = [Value::Text("acme".to_owned()), asker, Value::Integer(after)];
        let (steps, _) = work(&conn, WAITING, &values);
        assert!(steps < 200, "{steps} steps");
        let found = one(&conn, WAITING, params_from_iter(&values), |row| row.get::<_, i64>(0));
        assert_eq!(found.unwrap(), Some(expected), "{values:?}");
    }
}

#[test]
fn the_names_of_tools_are_found_without_reading_every_call() {
    let mut conn = Connection::open_in_memory().unwrap();
    super::super::schema::migrate(&mut conn).unwrap();
    let fill = "PRAGMA foreign_keys = OFF; \
        WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000) \
        INSERT INTO calls SELECT n, 'acme', 'a', 'tool' || (n % 3), NULL, 'c', NULL, n, 1 FROM n";
    conn.execute_batch(fill).unwrap();
    assert_eq!(tools(&conn, "acme").unwrap(), ["tool0", "tool1", "tool2"]);
    let mut statement = conn.prepare(TOOLS).unwrap();
    assert_eq!(statement.query_map(("acme",), |_| Ok(())).unwrap().count(), 3);
    let steps = statement.get_status(StatementStatus::VmStep);
    assert!(steps < 1_000, "{steps}");
}
