//! Three formats, what is wrong in them, and what changes between imports.

use haft_tools::kb::{Import, KbError};

use crate::rig::{Rig, ask, files};

const PEOPLE: &str = "\
id,type,title,body,tags,last_updated,url,role
person:mara,person,Mara Ionescu,\"Leads lighting.
Since 2024.\",lighting;active,2026-01-09,https://www.linkedin.com/in/mara-example,lighting lead
person:radu,person,Radu Popa,Builds stages,stage,soon,,carpenter
person:ana,person,Ana Pop,Sews curtains,,2025-03-01,,,too many
";

#[test]
fn every_format_gives_records_and_bad_lines_are_named() {
    let rig = Rig::new();
    rig.write("kb/people.csv", PEOPLE)
        .write("kb/quote.csv", "id,title,body\ndoc:q,Fine,\"two\nlines\"\ndoc:r,Bad,\"never\nclosed\n")
        .write("kb/notes.jsonl", "{\"id\": \"doc:a\", \"title\": \"Rigging\", \"body\": \"Check the rig\"}\n\nnot json\n[1]\n{\"id\": \"doc:a\", \"title\": \"twice\"}\n{\"id\":\"doc:x\",\"id\":\"doc:y\",\"title\":\"t\"}\n")
        .write("kb/guides/stage-manual.md", "---\ntype: doc\ntags: [stage, safety]\nlast_updated: 2025-11-03\nowner: person:mara\n---\n\n# Stage manual\n\nCheck every lamp.\n")
        .write("kb/plain.md", "No heading here.\n")
        .write("kb/broken.md", "---\ntitle: [\n---\ntext\n")
        .write("kb/open.md", "---\ntitle: never closed\n")
        .write("kb/latin.md", b"caf\xe9".as_slice())
        .write("kb/.hidden.md", "hidden")
        .write("kb/picture.png", "png");
    let report = rig.import();
    let problems: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
    let start = |text: &str| problems.iter().any(|problem| problem.starts_with(text));
    for expected in [
        "kb/broken.md:",
        "kb/latin.md:1: not UTF-8",
        "kb/notes.jsonl:3: not JSON: column 1",
        "kb/notes.jsonl:4: a line must be one JSON object",
        "kb/notes.jsonl:5: the id `doc:a` is given already",
        "kb/notes.jsonl:6: not JSON",
        "kb/open.md:1: the front matter is not closed",
        "kb/people.csv:4: `last_updated` is no time",
        "kb/people.csv:5: 9 fields, but 8 columns",
        "kb/quote.csv:4: a quote is opened here and never closed",
    ] {
        assert!(start(expected), "{expected} is not in {problems:#?}");
    }
    assert_eq!((problems.len(), report.records), (10, 5), "{problems:#?}");
    let found = rig.base().search(&ask("lamp")).unwrap();
    let record = &found.hits[0].record;
    assert_eq!(
        (
            record.id.as_str(),
            record.title.as_str(),
            record.body.as_str(),
            record.source_type.as_str()
        ),
        ("doc:guides/stage-manual", "Stage manual", "Check every lamp.", "markdown")
    );
    assert_eq!(record.metadata["owner"], "person:mara");
    assert_eq!(record.sources, ["kb/guides/stage-manual.md"]);
    assert_eq!(record.last_updated.to_string(), "2025-11-03T00:00:00Z");
    assert_eq!(rig.ids("heading"), ["doc:plain"]);
    // A field of its own, and one that is found by its metadata.
    assert_eq!(rig.ids("lighting lead"), ["person:mara"]);
    let mara = &rig.base().get(&["person:mara".into()], None).unwrap()[0];
    assert_eq!(
        (mara.tags.clone(), mara.body.as_str()),
        (vec!["lighting".to_owned(), "active".to_owned()], "Leads lighting.\nSince 2024.")
    );
}

#[test]
fn only_what_changed_is_read_again() {
    let rig = Rig::new();
    rig.write("kb/a.md", "# Lantern\n\npaper")
        .write("kb/b.md", "# Rope\n\nhemp")
        .write("other/c.md", "# Anchor\n\niron");
    assert_eq!(files(&rig.import()), [2, 0, 0, 0]);
    assert_eq!(files(&rig.try_import(&["other"], false).unwrap()), [1, 0, 0, 0]);
    assert_eq!(files(&rig.import()), [0, 0, 0, 2]);
    let base = rig.base();
    let ids = |query: &str| -> Vec<String> {
        base.search(&ask(query)).unwrap().hits.into_iter().map(|hit| hit.record.id).collect()
    };
    assert_eq!(ids("paper"), ["doc:a"]);
    rig.write("kb/a.md", "# Lantern\n\nsilk").remove("kb/b.md").write("kb/d.md", "# Drum\n\nskin");
    let report = rig.import();
    assert_eq!((files(&report), report.records, report.written), ([1, 1, 1, 0], 3, 2));
    // A base that is open sees what was committed.
    assert_eq!(
        (ids("paper"), ids("silk"), ids("hemp"), ids("skin")),
        (vec![], vec!["doc:a".into()], vec![], vec!["doc:d".into()])
    );
    // Files of another source stay.
    assert_eq!(ids("iron"), ["doc:c"]);
    // Everything that was ever named, without naming it.
    assert_eq!(files(&rig.try_import(&[], false).unwrap()), [0, 0, 0, 3]);
    std::fs::remove_dir_all(rig.root().join("other")).unwrap();
    // Gone by itself is no reason to forget; naming it is.
    assert!(rig.try_import(&[], false).unwrap_err().to_string().contains("removes its records"));
    assert_eq!(ids("iron"), ["doc:c"]);
    assert_eq!(files(&rig.try_import(&["other"], false).unwrap()), [0, 0, 1, 0]);
    // And then it is no source any more.
    assert_eq!(files(&rig.try_import(&[], false).unwrap()), [0, 0, 0, 2]);
    assert_eq!(ids("iron"), Vec::<String>::new());
}

#[test]
fn an_id_that_becomes_free_goes_to_the_file_that_waited() {
    let rig = Rig::new();
    rig.write("kb/a.jsonl", "{\"id\": \"doc:x\", \"title\": \"first\"}\n")
        .write("kb/b.jsonl", "{\"id\": \"doc:x\", \"title\": \"second\"}\n");
    assert_eq!(rig.import().problems.len(), 1);
    assert_eq!(rig.import().problems.len(), 1);
    assert_eq!((rig.ids("first").len(), rig.ids("second").len()), (1, 0));
    rig.write("kb/a.jsonl", "{\"id\": \"doc:y\", \"title\": \"first\"}\n");
    // Where both change hands in one import, the order of the files must not matter.
    rig.import();
    let report = rig.import();
    assert_eq!((report.problems.len(), report.records), (0, 2));
    assert_eq!(rig.ids("second"), ["doc:x"]);
}

#[test]
fn everything_anew_replaces_the_index_in_one_step() {
    let rig = Rig::new();
    rig.write("kb/a.md", "# Lantern\n\nHäuser");
    rig.import();
    let base = rig.base();
    assert_eq!(base.search(&ask("lantern")).unwrap().total, 1);
    let before = std::fs::read_to_string(rig.root().join("index/current")).unwrap();
    let report = rig.try_import(&[], true).unwrap();
    assert_eq!(files(&report), [1, 0, 0, 0]);
    assert_ne!(std::fs::read_to_string(rig.root().join("index/current")).unwrap(), before);
    assert_eq!(base.search(&ask("lantern")).unwrap().total, 1);
    // Another language is another index, without being told.
    let mut setup = rig.setup();
    setup.language = haft_tools::kb::words::Language::German;
    let work = Import { sources: Vec::new(), root: rig.root().to_owned(), anew: false };
    assert_eq!(files(&work.run(&setup).unwrap()), [1, 0, 0, 0]);
    assert_eq!(base.search(&ask("haus")).unwrap().total, 1);
    // What is damaged is made anew, and only when asked.
    let current = std::fs::read_to_string(rig.root().join("index/current")).unwrap();
    rig.write(&format!("index/{}/meta.json", current.trim()), "{");
    assert!(matches!(base.search(&ask("lantern")), Err(KbError::Damaged(..))));
    assert!(matches!(rig.try_import(&["kb"], false), Err(KbError::Damaged(..))));
    assert_eq!(rig.try_import(&["kb"], true).unwrap().records, 1);
    assert_eq!(base.search(&ask("lantern")).unwrap().total, 1);
}

#[test]
fn another_language_loses_nothing_that_is_not_named() {
    let rig = Rig::new();
    rig.write("kb/a.md", "# Lantern\n\nHäuser").write("other/c.md", "# Anchor\n\niron");
    rig.import();
    rig.try_import(&["other"], false).unwrap();
    let mut setup = rig.setup();
    setup.language = haft_tools::kb::words::Language::German;
    let only = |source: &str| Import {
        sources: vec![rig.root().join(source)],
        root: rig.root().to_owned(),
        anew: false,
    };
    let report = only("kb").run(&setup).unwrap();
    assert_eq!((files(&report), report.records), ([2, 0, 0, 0], 2));
    assert_eq!(rig.ids("iron"), ["doc:c"]);
    // What is gone is named, as it would be without another language, and naming it removes it.
    setup.language = haft_tools::kb::words::Language::French;
    std::fs::remove_dir_all(rig.root().join("other")).unwrap();
    let error = only("kb").run(&setup).unwrap_err().to_string();
    assert!(error.contains("removes its records"), "{error}");
    assert_eq!(only("other").run(&setup).unwrap().records, 1);
    assert_eq!(rig.ids("iron"), Vec::<String>::new());
}

#[test]
fn what_cannot_be_imported_is_said() {
    let rig = Rig::new();
    assert!(matches!(rig.base().search(&ask("x")), Err(KbError::Empty(_))));
    assert!(matches!(rig.try_import(&["nowhere"], false), Err(KbError::Missing(_))));
    rig.write("a.pdf", "pdf");
    let error = rig.try_import(&["a.pdf"], false).unwrap_err().to_string();
    assert!(error.contains(".jsonl"), "{error}");
    let error = rig.try_import(&[], false).unwrap_err().to_string();
    assert!(error.contains("kb.sources"), "{error}");
}

#[cfg(unix)]
#[test]
fn nobody_else_reads_the_index() {
    use std::os::unix::fs::PermissionsExt as _;
    let rig = Rig::new();
    rig.write("kb/plain.md", "No heading here.\n").import();
    let path = rig.setup().path;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for entry in std::fs::read_dir(&path).unwrap().flatten() {
        let expected = if entry.path().is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&entry.path()), expected, "{entry:?}");
    }
}
