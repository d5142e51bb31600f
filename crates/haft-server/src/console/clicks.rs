//! Buttons in lists whose rows move when one is pressed: a click counts on the page that it was aimed
//! at, once, and on no other. The second half of a double click would be a neighbour's.

use maud::{Markup, html};

use super::page::{self, Visitor};
use super::posted::Posted;
use super::visits::Unasked;
use crate::door::Door;

/// For so long after its page was shown a button does nothing, in milliseconds.
pub(crate) const WAIT: &str = "1000";

/// What the forms of one page of a list carry.
pub(crate) struct Aimed {
    word: String,
}

impl Aimed {
    /// For a list that is about to be shown.
    pub(crate) fn at(door: &Door, visitor: &Visitor, list: &str) -> Self {
        Self { word: door.visits.ask(&visitor.id, list) }
    }

    /// The hidden fields of a form.
    pub(crate) fn fields(&self, visitor: &Visitor) -> Markup {
        html! {
            (page::token(visitor))
            input type="hidden" name="word" value=(self.word);
        }
    }
}

/// Whether a click counts, or why not.
pub(crate) fn counts(
    door: &Door,
    visitor: &Visitor,
    form: &Posted,
    list: &str,
) -> Result<(), &'static str> {
    let word = form.one("word").unwrap_or_default();
    door.visits.answer(&visitor.id, word, list).map_err(|why| match why {
        Unasked::TooEarly => "it came less than a second after the page",
        Unasked::Gone => "its page was used already, or is older than five minutes",
    })
}

/// What is said of a click that does not count.
pub(crate) fn missed(why: &str) -> Markup {
    html! {
        p .notice.wait role="alert" {
            "That click changed nothing: " (why) ". This is how things stand now."
        }
    }
}
