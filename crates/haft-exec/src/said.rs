//! What a handler says about its own failure, in our words.

use haft_core::error::{ErrorKind, ToolError};

/// The longest texts of others that are passed on, in bytes. The path cuts them to what anybody reads, once it has
/// looked for secrets in them: of one that was cut here, nobody would know the beginning.
pub(crate) const MAX_TEXT: usize = 64 << 10;

/// The kind that a handler's word stands for: one of ours that handlers may say, or one of the tool
/// registry architecture's. Anything else is a fault of the handler.
pub(crate) fn kind_of(word: &str) -> ErrorKind {
    match word {
        "VALIDATION" => ErrorKind::InvalidArguments,
        "NOT_FOUND" => ErrorKind::NotFound,
        "SESSION_INACTIVE" => ErrorKind::SessionInactive,
        "TRANSIENT" => ErrorKind::Transient,
        "PERMANENT" => ErrorKind::Permanent,
        "RATE_LIMIT" => ErrorKind::RateLimited,
        "AUTH" => ErrorKind::Auth,
        "CONFLICT" => ErrorKind::Conflict,
        _ => ErrorKind::parse(word)
            .filter(|kind| kind.is_for_handlers())
            .unwrap_or(ErrorKind::Internal),
    }
}

/// Takes the path's own words from a handler: only the path may say that a call was denied, say.
pub(crate) fn in_handlers_words(mut error: ToolError) -> ToolError {
    if !error.kind.is_for_handlers() {
        let note = format!("the handler said `{}`", error.kind);
        error.source = Some(match error.source.take() {
            Some(source) => format!("{note}: {source}"),
            None => note,
        });
        // What was called in turn may have been done.
        error.partial_side_effects |= error.kind == ErrorKind::UnknownOutcome;
        error.kind = ErrorKind::Internal;
        error.retryable = false;
    }
    error
}

/// Cuts a text to `most` bytes, at a character's end.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// A text in which what cannot be seen is written as its code. Quotes can be seen, and stay as they are.
pub(crate) fn visible(text: &str) -> String {
    const SEEN: [char; 3] = ['\'', '"', '\\'];
    let part = |part: &str| {
        let seen = part.chars().next_back().filter(|last| SEEN.contains(last));
        let rest = seen.map_or(part, |last| part.strip_suffix(last).unwrap_or(part));
        format!("{}{}", rest.escape_debug(), seen.map(String::from).unwrap_or_default())
    };
    text.split_inclusive(SEEN).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_as_its_code() {
        for (text, expected) in [
            ("cannot read property 'x' of null", "cannot read property 'x' of null"),
            ("C:\\new \"one\"", "C:\\new \"one\""),
            ("two\nlines\u{1b}[2K", "two\\nlines\\u{1b}[2K"),
            ("pay\u{200b}'", "pay\\u{200b}'"),
            ("", ""),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn words_of_the_path_and_unknown_words_are_faults_of_the_handler() {
        for (word, kind) in [
            ("not_found", ErrorKind::NotFound),
            ("VALIDATION", ErrorKind::InvalidArguments),
            ("RATE_LIMIT", ErrorKind::RateLimited),
            ("CONFIRMATION_REQUIRED", ErrorKind::Internal),
            ("denied", ErrorKind::Internal),
            ("unknown_outcome", ErrorKind::Internal),
            ("ENOENT", ErrorKind::Internal),
            ("", ErrorKind::Internal),
        ] {
            assert_eq!(kind_of(word), kind, "{word}");
        }
    }

    #[test]
    fn an_unknown_outcome_further_down_may_have_been_done() {
        let error = in_handlers_words(ToolError::new(ErrorKind::UnknownOutcome, "who knows"));
        assert_eq!(error.kind, ErrorKind::Internal);
        assert!(error.partial_side_effects);
        assert_eq!(error.source.as_deref(), Some("the handler said `unknown_outcome`"));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(shortened("aéb", 2), "a…");
        assert_eq!(shortened("aéb", 9), "aéb");
    }
}
