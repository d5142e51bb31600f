//! The lines that driver and victim exchange: one request, one outcome.

use std::fmt;

/// The tools that keys are used with: one per class, and one that a person must approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    /// Pure.
    Look,
    /// Idempotent.
    Put,
    /// Compensatable.
    Book,
    /// Irreversible.
    Order,
    /// Irreversible, with an approval that is spent.
    Gift,
}

impl Act {
    pub(crate) const ALL: [Self; 5] = [Self::Look, Self::Put, Self::Book, Self::Order, Self::Gift];

    /// The tool's name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Put => "put",
            Self::Book => "book",
            Self::Order => "order",
            Self::Gift => "gift",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.as_str() == word)
    }

    /// Whether the provider deduplicates it.
    pub(crate) fn is_idempotent(self) -> bool {
        self == Self::Put
    }
}

/// What the driver asks of the victim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// A call: the act, the item that is also its key, which repetition, and whether the caller goes
    /// away at once.
    Call { act: Act, item: u64, occurrence: u32, leaves: bool },
    /// Asks the contract's probe about an effect.
    Probe { call: String },
    /// Undoes an effect.
    Undo { call: String },
}

/// One line to the victim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) id: u64,
    pub(crate) ask: Ask,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        match &self.ask {
            Ask::Call { act, item, occurrence, leaves } => {
                let stays = if *leaves { "leaves" } else { "stays" };
                write!(f, "{id} call {} {item} {occurrence} {stays}", act.as_str())
            }
            Ask::Probe { call } => write!(f, "{id} probe {call}"),
            Ask::Undo { call } => write!(f, "{id} undo {call}"),
        }
    }
}

impl Request {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let id = words.next()?.parse().ok()?;
        let ask = match words.next()? {
            "call" => Ask::Call {
                act: Act::parse(words.next()?)?,
                item: words.next()?.parse().ok()?,
                occurrence: words.next()?.parse().ok()?,
                leaves: words.next()? == "leaves",
            },
            "probe" => Ask::Probe { call: words.next()?.to_owned() },
            "undo" => Ask::Undo { call: words.next()?.to_owned() },
            _ => return None,
        };
        Some(Self { id, ask })
    }
}

/// What the victim answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It was done: the sink's receipt, and the effect's call where this very call did it.
    Done { receipt: u64, call: Option<String> },
    /// It was done, and its answer is not there to be shown.
    DoneWithoutAnswer,
    /// Nothing was done, for good or for now: the kind of error, and the call.
    Failed { kind: String, call: String },
    /// Nobody knows: the effect's call.
    Unknown { call: String },
    /// Nothing is said yet: in flight, the store cannot be written, or the caller left.
    Later,
    /// A probe settled it.
    Settled { happened: bool },
    /// What became of undoing it.
    Undone { status: String },
}

/// One line from the victim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) id: u64,
    pub(crate) said: Said,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        match &self.said {
            Said::Done { receipt, call } => {
                write!(f, "{id} done {receipt} {}", call.as_deref().unwrap_or("-"))
            }
            Said::DoneWithoutAnswer => write!(f, "{id} silent"),
            Said::Failed { kind, call } => write!(f, "{id} failed {kind} {call}"),
            Said::Unknown { call } => write!(f, "{id} unknown {call}"),
            Said::Later => write!(f, "{id} later"),
            Said::Settled { happened } => write!(f, "{id} settled {happened}"),
            Said::Undone { status } => write!(f, "{id} undone {status}"),
        }
    }
}

impl Outcome {
    /// Reads a line; a line that was cut off by a kill is none.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let id = words.next()?.parse().ok()?;
        let said = match words.next()? {
            "done" => Said::Done {
                receipt: words.next()?.parse().ok()?,
                call: Some(words.next()?.to_owned()).filter(|call| call != "-"),
            },
            "silent" => Said::DoneWithoutAnswer,
            "failed" => {
                Said::Failed { kind: words.next()?.to_owned(), call: words.next()?.to_owned() }
            }
            "unknown" => Said::Unknown { call: words.next()?.to_owned() },
            "later" => Said::Later,
            "settled" => Said::Settled { happened: words.next()? == "true" },
            "undone" => Said::Undone { status: words.next()?.to_owned() },
            _ => return None,
        };
        Some(Self { id, said })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_outcomes_come_back_as_they_were_written() {
        let call = || "call_1".to_owned();
        for ask in [
            Ask::Call { act: Act::Gift, item: 7, occurrence: 2, leaves: true },
            Ask::Probe { call: call() },
            Ask::Undo { call: call() },
        ] {
            let request = Request { id: 3, ask };
            assert_eq!(Request::parse(&request.to_string()), Some(request));
        }
        for said in [
            Said::Done { receipt: 4, call: Some(call()) },
            Said::Done { receipt: 4, call: None },
            Said::DoneWithoutAnswer,
            Said::Failed { kind: "transient".into(), call: call() },
            Said::Unknown { call: call() },
            Said::Later,
            Said::Settled { happened: true },
            Said::Undone { status: "undone".into() },
        ] {
            let outcome = Outcome { id: 3, said };
            assert_eq!(Outcome::parse(&outcome.to_string()), Some(outcome));
        }
        assert_eq!(Outcome::parse("3 done"), None, "cut off");
    }
}
