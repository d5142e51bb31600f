//! The knowledge base, as a user has it.

use std::path::Path;

use haft_tools::kb::words::Language;
use haft_tools::kb::{Base, Import, Search, Setup};

use crate::line::{Line, Watch, asked, peak, size};
use crate::made::Asked;

pub(crate) fn run(folder: &Path, file: &Path, queries: &[Asked]) -> Line {
    let setup = Setup {
        path: folder.join("kb"),
        language: Language::English,
        namespace: "studio".into(),
        embed: None,
    };
    let watch = Watch::start();
    let work = Import { sources: vec![file.to_owned()], root: folder.to_owned(), anew: false };
    assert!(work.run(&setup).unwrap().problems.is_empty());
    let (index, memory) = (watch.spent(), peak());
    let bytes = size(&setup.path);
    let base = Base::new(setup);
    let (times, found) = asked(queries, |asked| {
        let search = Search {
            query: asked.words.join(" "),
            namespaces: Some(vec![asked.space.to_owned()]),
            kind: asked.kind.map(str::to_owned),
            tags: asked.tag.iter().cloned().collect(),
            since: asked.since.map(|at| jiff::Timestamp::from_second(at).unwrap()),
            until: None,
            limit: 10,
            snippets: true,
        };
        base.search(&search).unwrap().hits.len()
    });
    Line { says: String::new(), index, memory, bytes, times, found }
}
