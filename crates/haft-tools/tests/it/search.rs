//! What is found, in which order, with which scores.

use haft_tools::kb::{KbError, Search};

use crate::rig::{Rig, ask};

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write(
        "kb/a.jsonl",
        r#"{"id": "project:harbour", "type": "project", "title": "Harbour light", "body": "Lanterns along the quay. The budget was approved in May.", "tags": ["lighting", "active"], "last_updated": "2026-01-12T09:00:00Z", "url": "https://northlight.example/harbour", "metadata": {"lead": "person:mara"}}
{"id": "project:tower", "type": "project", "title": "Tower bells", "body": "Bells for the tower. No lanterns.", "tags": ["sound", "active"], "last_updated": "2025-06-01"}
{"id": "person:mara", "type": "person", "title": "Mára Ionescu", "body": "Leads lighting for the harbour.", "tags": ["lighting"], "last_updated": "2026-01-09", "source_type": "crm"}
{"id": "doc:who", "title": "The Who", "body": "A poster of a band.", "last_updated": "2024-01-01", "namespace": "public"}
{"id": "doc:private", "title": "Lantern notes", "body": "lantern lantern lantern", "last_updated": "2024-01-01", "namespace": "personal/mara"}
"#,
    );
    rig.import();
    rig
}

#[track_caller]
fn check(search: Search, expected: &[&str]) {
    let found = rig().base().search(&search).unwrap();
    let ids: Vec<&str> = found.hits.iter().map(|hit| hit.record.id.as_str()).collect();
    assert_eq!(ids, expected);
    assert_eq!(found.total, expected.len());
    assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score));
    assert!(found.hits.iter().all(|hit| hit.score > 0.0 && hit.score <= 1.0));
}

#[test]
fn every_filter_narrows() {
    let studio = Some(vec!["studio".to_owned()]);
    let lanterns = Search { namespaces: studio, ..ask("lanterns") };
    check(lanterns.clone(), &["project:tower", "project:harbour"]);
    check(
        Search { tags: vec!["active".into(), "lighting".into()], ..lanterns.clone() },
        &["project:harbour"],
    );
    check(Search { kind: Some("person".into()), ..lanterns.clone() }, &[]);
    check(
        Search { since: "2026-01-01T00:00:00Z".parse().ok(), ..lanterns.clone() },
        &["project:harbour"],
    );
    check(
        Search { until: "2025-06-01T00:00:00Z".parse().ok(), ..lanterns.clone() },
        &["project:tower"],
    );
    check(
        Search {
            since: "2026-01-12T09:00:00Z".parse().ok(),
            until: "2026-01-12T09:00:00Z".parse().ok(),
            ..lanterns.clone()
        },
        &["project:harbour"],
    );
    check(
        Search { namespaces: Some(vec!["personal/mara".into()]), ..ask("lanterns") },
        &["doc:private"],
    );
    check(Search { namespaces: Some(Vec::new()), ..ask("lanterns") }, &[]);
}

#[test]
fn names_are_found_whatever_their_accents() {
    // The project names her in its metadata.
    check(ask("mara IONESCU"), &["person:mara", "project:harbour"]);
    check(ask("the who"), &["doc:who", "project:harbour", "person:mara", "project:tower"]);
}

#[test]
fn nothing_in_a_query_is_syntax() {
    let base = rig();
    for query in [
        "title:lantern AND NOT (budget",
        "\"lantern",
        "lantern^1000000",
        "lantern~99",
        "[a TO z]",
        "lantern*",
        "-lantern",
        "id:\"doc:private\"",
        "namespace:personal",
        "lantern\u{0}\u{202e}",
        "{{lantern}}",
        "lantern' OR '1'='1",
        "\\",
    ] {
        match base.base().search(&Search { namespaces: Some(vec!["studio".into()]), ..ask(query) })
        {
            Ok(found) => {
                assert!(found.hits.iter().all(|hit| hit.record.namespace == "studio"), "{query}")
            }
            Err(KbError::Question(_)) => assert!(!query.contains(char::is_alphanumeric), "{query}"),
            Err(other) => panic!("{query}: {other}"),
        }
    }
    let long = "lantern ".repeat(100_000);
    assert!(base.base().search(&ask(&long)).unwrap().total > 0);
}

#[test]
fn scores_compare_across_queries() {
    let rig = rig();
    let score = |query: &str| {
        rig.base().search(&ask(query)).unwrap().hits.first().map_or(0.0, |hit| hit.score)
    };
    // Every word is there; half of them; one among many that nobody wrote.
    let (all, half, little) = (
        score("harbour light budget"),
        score("harbour zeppelin"),
        score("budget zeppelin umbrella submarine"),
    );
    assert!(all > 0.6 && all > half && half > little && little > 0.0, "{all} {half} {little}");
    assert!(little < 0.4, "{little}");
    assert_eq!(score("zeppelin"), 0.0);
}

#[test]
fn the_passage_that_matched_is_shown() {
    let found = rig().base().search(&ask("budget")).unwrap();
    assert_eq!(
        found.hits[0].snippet.as_deref(),
        Some("Lanterns along the quay. The budget was approved in May.")
    );
    let none = rig().base().search(&Search { snippets: false, ..ask("budget") }).unwrap();
    assert_eq!(none.hits[0].snippet, None);
}

#[test]
fn what_the_best_have_in_common_helps_the_others() {
    let rig = Rig::new();
    let mut lines = String::new();
    // Twelve on rigging mention shackles; of two that only say "rigging", one has shackles, too.
    for n in 0..12 {
        lines += &format!(
            "{{\"id\": \"doc:r{n}\", \"title\": \"Rigging part {n}\", \"body\": \"rigging with shackles and slings, part {n}\"}}\n"
        );
    }
    lines += "{\"id\": \"doc:z-near\", \"title\": \"Notes\", \"body\": \"rigging, shackles, slings and a lot of other words here\"}\n";
    lines += "{\"id\": \"doc:a-far\", \"title\": \"Notes\", \"body\": \"rigging, stockings, gloves and a lot of other words here\"}\n";
    for n in 0..200 {
        lines += &format!(
            "{{\"id\": \"doc:o{n}\", \"title\": \"Other {n}\", \"body\": \"something else, number {n}\"}}\n"
        );
    }
    rig.write("kb/a.jsonl", lines);
    rig.import();
    let ids: Vec<String> = {
        let found = rig.base().search(&Search { limit: 20, ..ask("rigging") }).unwrap();
        found.hits.into_iter().map(|hit| hit.record.id).collect()
    };
    let place = |id: &str| ids.iter().position(|one| one == id).unwrap();
    assert!(place("doc:z-near") < place("doc:a-far"), "{ids:?}");
}

#[test]
fn one_character_finds_and_korean_particles_do_not_hide() {
    let rig = Rig::new();
    rig.write(
        "kb/a.jsonl",
        r#"{"id": "doc:lamps", "title": "LED灯を三台", "body": "港の祭りの灯", "last_updated": "2024-01-01"}
{"id": "doc:light", "title": "무대", "body": "무대 조명을 설치합니다. 빛이 밝다", "last_updated": "2024-01-01"}
{"id": "doc:other", "title": "Other", "body": "nothing of the kind", "last_updated": "2024-01-01"}
"#,
    );
    rig.import();
    let base = rig.base();
    for (query, id) in [
        ("灯", "doc:lamps"),
        ("祭", "doc:lamps"),
        ("조명", "doc:light"),
        ("조명은", "doc:light"),
        ("빛", "doc:light"),
    ] {
        let found = base.search(&Search { snippets: true, ..ask(query) }).unwrap();
        let ids: Vec<&str> = found.hits.iter().map(|hit| hit.record.id.as_str()).collect();
        assert_eq!(ids, [id], "{query}");
    }
}
