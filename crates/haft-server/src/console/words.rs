//! Problems in the words of a page: whoever reads one sends no headers and knows no fields of the API.

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
