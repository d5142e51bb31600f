//! `haft undo`

use haft_runtime::effects::{UndoTarget, UndoneStatus};

use crate::assembly::{Desk, block_on, said};
use crate::cli::Undo;
use crate::output::{Exit, Output};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Undo, out: &mut Output) -> anyhow::Result<Exit> {
    let target = match options.target.starts_with("grp_") {
        true => UndoTarget::TurnGroup(options.target.clone()),
        false => UndoTarget::Call(options.target.clone()),
    };
    block_on(async {
        let desk = Desk::open(at, None, out)?;
        desk.tend(out).await?;
        let operator = &options.operator;
        let by = desk.caller("default", Some(&operator.tenant), Some(&operator.actor))?;
        let undone = desk.runtime.undo(&by, &target).await.map_err(said)?;
        if options.json {
            out.json(&undone)?;
        } else {
            let rows: Vec<Vec<String>> = undone
                .iter()
                .map(|one| vec![one.call.clone(), one.tool.clone(), one.message.clone()])
                .collect();
            out.table(&["CALL", "TOOL", "WHAT BECAME OF IT"], 2, &rows);
        }
        let settled = |status: UndoneStatus| match status {
            UndoneStatus::Undone | UndoneStatus::AlreadyUndone | UndoneStatus::NothingToUndo => {
                true
            }
            UndoneStatus::CannotBeUndone | UndoneStatus::Unknown | UndoneStatus::Stuck => false,
        };
        let all = undone.iter().all(|one| settled(one.status));
        Ok(if all { Exit::Done } else { Exit::Findings })
    })
}
