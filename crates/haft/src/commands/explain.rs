//! `haft explain`

use anyhow::anyhow;
use haft_build::code::{ALL, Code};

use crate::cli::Explain;
use crate::output::{Exit, Output, table};

pub(crate) fn run(options: &Explain, out: &mut Output) -> anyhow::Result<Exit> {
    let Some(id) = &options.code else {
        let rows: Vec<Vec<String>> = ALL
            .iter()
            .map(|code| {
                vec![code.id.to_owned(), code.severity.as_str().to_owned(), code.title().to_owned()]
            })
            .collect();
        out.result(&table(&["CODE", "SEVERITY", "MEANING"], &rows));
        return Ok(Exit::Done);
    };
    let code = Code::find(id)
        .ok_or_else(|| anyhow!("there is no code `{id}`; `haft explain` lists them"))?;
    out.line(code.page.trim_end());
    Ok(Exit::Done)
}
