//! `haft explain`

use anyhow::bail;
use haft_build::code::{ALL, Code};
use haft_core::ErrorKind;

use crate::cli::Explain;
use crate::output::{Exit, Output};

pub(crate) fn run(options: &Explain, out: &mut Output) -> anyhow::Result<Exit> {
    let Some(id) = &options.code else {
        let rows: Vec<Vec<String>> = ALL
            .iter()
            .map(|code| {
                vec![code.id.to_owned(), code.severity.as_str().to_owned(), code.title().to_owned()]
            })
            .collect();
        out.table(&["CODE", "SEVERITY", "MEANING"], 2, &rows);
        let rows: Vec<Vec<String>> =
            ErrorKind::ALL.iter().map(|kind| vec![kind.to_string(), title(*kind)]).collect();
        out.line("");
        out.table(&["HOW A CALL ENDS", "MEANING"], 1, &rows);
        return Ok(Exit::Done);
    };
    let page = match (Code::find(id), ErrorKind::parse(id)) {
        (Some(code), _) => code.page,
        (None, Some(kind)) => kind.page(),
        (None, None) => bail!("there is no code `{id}`; `haft explain` lists them"),
    };
    out.line(page.trim_end());
    Ok(Exit::Done)
}

fn title(kind: ErrorKind) -> String {
    let heading = kind.page().lines().next().unwrap_or_default();
    heading.split_once(": ").map(|(_, title)| title.to_owned()).unwrap_or_default()
}
