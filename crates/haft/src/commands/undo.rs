//! `haft undo`

use haft_runtime::effects::{UndoTarget, UndoneStatus};

use crate::assembly::{Desk, block_on, plain, said};
use crate::cli::Undo;
use crate::output::{Exit, Output};
use crate::patience::{Patience, Words};
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
        let work = desk.runtime.undo(&by, &target);
        let Some(undone) = Patience::begin().wait(&desk, work, &left(&options.target), out).await
        else {
            return Ok(Exit::Findings);
        };
        let undone = undone.map_err(said)?;
        out.done_anyway(
            "what is said of each effect is on record: `haft effects` shows it".to_owned(),
        );
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
            UndoneStatus::CannotBeUndone
            | UndoneStatus::Unknown
            | UndoneStatus::Stuck
            | UndoneStatus::Denied => false,
        };
        let all = undone.iter().all(|one| settled(one.status));
        Ok(if all { Exit::Done } else { Exit::Findings })
    })
}

/// What is said to whoever interrupts it.
fn left(target: &str) -> Words {
    let on = format!("`haft undo {}` goes on from there", plain(target));
    Words {
        nothing: format!("nothing was being undone just then, and {on}"),
        begun: "something is being undone, and goes on".to_owned(),
        left: "nobody knows now whether what was begun last was undone".to_owned(),
        next: vec![
            "  help: `haft effects --state unknown` names the call that was to undo it; then `haft effects \
             probe <call>` asks, where its"
                .to_owned(),
            "        tool declares a probe, or `haft effects settle <call> --happened yes|no --note TEXT` says \
             what became of it"
                .to_owned(),
            format!("  then {on}"),
        ],
    }
}
