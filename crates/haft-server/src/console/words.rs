//! Problems in the words of a page: whoever reads one sends no headers and knows no fields of the API.

use haft_core::contract::SideEffectPolicy;
use haft_core::ledger::State;

use crate::problem::Problem;

/// What to do about it, in a browser.
pub(crate) fn advice(problem: &Problem) -> &str {
    match problem.code() {
        "malformed_request" if problem.suggestion().contains("openapi") => {
            "correct it, and send it again"
        }
        "malformed_request" if problem.suggestion().contains("`Link`") => {
            "follow the links of the list, from its first page on"
        }
        "invalid_configuration" => "correct it, then save it again; nothing was changed",
        "precondition_failed" | "precondition_required" => {
            "load the page again, and make your change on what is there now"
        }
        "looser_than_contract" => "make the rules as strict as the tool's contract",
        "overloaded" => "wait a moment, then try again",
        "rate_limited" if problem.suggestion().contains("`Retry-After`") => {
            "wait a moment, then try again"
        }
        "rate_limited" if problem.suggestion().contains("DELETE") => {
            "wait: each ends by itself after ten minutes"
        }
        "wrong_method" => "go back to the console, and use its links and buttons",
        _ => problem.suggestion(),
    }
}

/// What went wrong and what to do, in one line.
pub(crate) fn in_words(problem: &Problem) -> String {
    format!("{}; {}", problem.detail(), advice(problem))
}

/// What a class of side effects means.
pub(crate) fn class(class: SideEffectPolicy) -> &'static str {
    match class {
        SideEffectPolicy::Pure => "it changes nothing",
        SideEffectPolicy::Idempotent => "done twice it is as if it were done once",
        SideEffectPolicy::Compensatable => "another tool can undo it",
        SideEffectPolicy::Irreversible => "nothing undoes it",
    }
}

/// What a state of an effect means, where its word does not say.
pub(crate) fn state(state: State) -> Option<&'static str> {
    match state {
        State::Unknown => Some(
            "It may have happened or not, and is not done again until somebody has found out: a \
             probe asks a tool that can tell, and to settle is to say what you found.",
        ),
        State::Compensating => Some("The tool that undoes it has begun, and has not answered yet."),
        State::Stuck => Some(
            "The tool that undoes it could not: what was done is still done. See why, put that \
             right, and undo it once more.",
        ),
        State::Compensated => Some("It was done, and undone since."),
        State::Started
        | State::Succeeded
        | State::Failed
        | State::Happened
        | State::NotHappened => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_speaks_of_headers_and_fields_of_the_api() {
        let lists = crate::api::paging::no_place("x");
        let crowds = [Problem::too_much_at_once(), Problem::too_many_asked(9), lists];
        for problem in Problem::own().into_iter().chain(crowds) {
            // Whoever shows no key is shown the form that asks for one.
            if ["unauthenticated", "administered", "not_acceptable"].contains(&problem.code()) {
                continue;
            }
            let said = in_words(&problem);
            for word in ["/v1/", "If-Match", "ETag", "Retry-After", "details.", "`Link`", "Allow`"]
            {
                assert!(!said.contains(word), "{said}");
            }
        }
    }
}
