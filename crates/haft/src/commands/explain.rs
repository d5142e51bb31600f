//! `haft explain`

use anyhow::anyhow;
use haft_build::code::{ALL, Code};
use haft_core::{ErrorKind, nearest};

use crate::assembly::plain;
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
        (None, None) => return Err(missing(id)),
    };
    out.line(page.trim_end());
    Ok(Exit::Done)
}

/// The code or the kind that was perhaps meant.
fn missing(id: &str) -> anyhow::Error {
    let codes = ALL.iter().map(|code| code.id);
    let all = codes.chain(ErrorKind::ALL.iter().map(|kind| kind.as_str()));
    let meant = match nearest::find(id, all) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`haft explain` lists them".to_owned(),
    };
    anyhow!("there is no code `{}`; {meant}", plain(id))
}

fn title(kind: ErrorKind) -> String {
    let heading = kind.page().lines().next().unwrap_or_default();
    heading.split_once(": ").map(|(_, title)| title.to_owned()).unwrap_or_default()
}
