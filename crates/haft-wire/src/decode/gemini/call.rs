//! One function call, which comes at once or, where that was asked for, in pieces.

use super::path::Tree;
use super::wire::FunctionCall;
use crate::decode::notes::{Draft, Notes};
use crate::said::{Broken, Fault};

/// A call that is not complete yet.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    id: Option<String>,
    name: String,
    tree: Tree,
    flaw: Option<Broken>,
}

/// What a part says about calls.
#[derive(Debug)]
pub(crate) enum Heard {
    /// One that is complete.
    Whole(Draft),
    /// One begins here, and goes on.
    Begun(Partial),
    /// More of the one that was begun.
    More,
    /// More, and that was all.
    Last,
    /// The end of one that had ended already.
    Nothing,
}

impl Partial {
    /// Adds the pieces that a part holds.
    pub(crate) fn add(&mut self, call: &FunctionCall<'_>, notes: &mut Notes) -> Result<(), Fault> {
        for piece in call.partial.iter().flatten() {
            notes.part()?;
            let text = piece.text.as_ref().map_or(0, |text| text.0.len());
            notes.hold(text + piece.path.as_deref().map_or(0, str::len) + 32)?;
            if let Err(why) = self.tree.add(piece) {
                self.flaw.get_or_insert(why);
            }
        }
        Ok(())
    }

    /// The call, now that no more of it comes.
    pub(crate) fn finish(self, cut: bool) -> Draft {
        let (arguments, flaw) = self.tree.into_text();
        let flaw = self.flaw.or(flaw).or(cut.then_some(Broken::Cut));
        Draft { id: self.id, name: self.name, arguments, flaw, ..Draft::default() }
    }
}

/// Reads a call, where perhaps one was begun. What has no name belongs to that one, and so does what
/// repeats its id: a piece may name the call again.
pub(crate) fn hear(
    call: &FunctionCall<'_>,
    open: Option<&Partial>,
    notes: &mut Notes,
) -> Result<Heard, Fault> {
    let name = call.name.as_deref().unwrap_or_default();
    let id = call.id.as_deref();
    let more = call.more == Some(true);
    let same = |open: &Partial| match id {
        Some(id) if !id.is_empty() => open.id.as_deref() == Some(id) && call.args.is_none(),
        Some(_) | None => false,
    };
    if open.is_some_and(|open| name.is_empty() || same(open)) {
        return Ok(if more { Heard::More } else { Heard::Last });
    }
    if name.is_empty() && id.is_none() && call.args.is_none() && call.partial.is_none() {
        return Ok(Heard::Nothing);
    }
    let args = call.args.map_or("", |args| args.get());
    notes.hold(name.len() + id.map_or(0, str::len) + args.len())?;
    let (id, name) = (id.map(ToOwned::to_owned), name.to_owned());
    if more || call.partial.is_some() {
        let mut begun = Partial { id, name, ..Partial::default() };
        begun.add(call, notes)?;
        return Ok(if more { Heard::Begun(begun) } else { Heard::Whole(begun.finish(false)) });
    }
    Ok(Heard::Whole(Draft { id, name, arguments: args.to_owned(), ..Draft::default() }))
}
