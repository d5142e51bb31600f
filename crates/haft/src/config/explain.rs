//! What is wrong with `haft.toml`, in the words of whoever wrote it.

use haft_runtime::policy::suggest;

/// A mistake, and how it is put right. `before` is the file up to it. Values are not repeated: one
/// of them may be a secret.
pub(super) fn mistake(said: &str, before: &str) -> String {
    let types = ["invalid type: ", "invalid value: integer "].iter().find_map(|start| {
        let (found, expected) = said.strip_prefix(start)?.rsplit_once(", expected ")?;
        Some((found, expected, *start))
    });
    let Some((found, expected, start)) = types else { return otherwise(said, before) };
    let found = match start {
        "invalid type: " => kind(found),
        _ => out_of_range(found),
    };
    let name = key(before).map_or_else(|| "this".to_owned(), |key| format!("`{key}`"));
    let Some((wanted, written)) = wanted(expected) else {
        return format!("{name} is {found}, and something else is expected");
    };
    let example = match (key(before), written) {
        (Some(key), "[…]") if found == "a text" => format!(": write `{key} = [\"…\"]`"),
        (Some(key), written) => format!(": write `{key} = {written}`"),
        (None, written) => format!(": write {written}"),
    };
    format!("{name} must be {wanted}, and is {found}{example}")
}

/// What libraries say in words of their own, in ours.
fn otherwise(said: &str, before: &str) -> String {
    let name = key(before).map_or_else(|| "this".to_owned(), |key| format!("`{key}`"));
    match said {
        "invalid socket address syntax" => {
            format!(
                "{name} must be an address of this machine with a port: write \"127.0.0.1:7411\""
            )
        }
        "wanted string or table" => format!("{name} must be a word: write \"…\""),
        _ if said.starts_with("data did not match any variant") => {
            format!("{name} has a shape that is not known here")
        }
        _ => suggest(said),
    }
}

/// A whole number that there is no room for: below the least, or above the most.
fn out_of_range(found: &str) -> &'static str {
    match found.starts_with("`-") {
        true => "less",
        false => "more than can be counted here",
    }
}

fn kind(found: &str) -> &'static str {
    match found.split([' ', '`']).next().unwrap_or_default() {
        "string" => "a text",
        "integer" => "a number",
        "floating" => "a fraction",
        "boolean" => "true or false",
        "sequence" => "a list",
        "map" => "a table",
        _ => "something else",
    }
}

/// What is expected, and how it is written.
fn wanted(expected: &str) -> Option<(&'static str, &'static str)> {
    Some(match expected {
        "a sequence" => ("a list", "[…]"),
        "a string" | "path string" | "a borrowed string" => ("a text", "\"…\""),
        "a boolean" => ("true or false", "true"),
        "tail, whole or false" => ("\"tail\", \"whole\" or false", "\"tail\""),
        "a map" => ("a table", "{ … }"),
        _ if expected.starts_with("struct ") => ("a table", "{ … }"),
        "i64" => ("a whole number", "1"),
        "f64" => ("a number", "1"),
        _ if ["u8", "u16", "u32", "u64", "usize"].contains(&expected) => {
            ("a whole number from 0 on", "1")
        }
        _ => return None,
    })
}

/// The key that the mistake is the value of, where it stands on the same line.
fn key(before: &str) -> Option<&str> {
    let line = before.rsplit('\n').next()?;
    let key = line.trim_end().strip_suffix('=')?.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::super::RawConfig;
    use super::mistake;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let error = toml::from_str::<RawConfig>(text).err().unwrap();
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        assert_eq!(mistake(error.message(), before), expected);
    }

    #[test]
    fn what_was_meant_is_shown() {
        check(
            "[policy]\nallow = \"core__*\"\n",
            "`allow` must be a list, and is a text: write `allow = [\"…\"]`",
        );
        check(
            "toolset = 3\n",
            "`toolset` must be a text, and is a number: write `toolset = \"…\"`",
        );
        check("[store]\nverify = \"yes\"\n", "unknown word `yes`; use one of `tail`, `whole`");
        check(
            "[store]\nverify = 3\n",
            "`verify` must be \"tail\", \"whole\" or false, and is a number: write `verify = \"tail\"`",
        );
        check(
            "[images]\nurl = true\n",
            "`url` must be a text, and is true or false: write `url = \"…\"`",
        );
        check(
            "policy = \"x\"\n",
            "`policy` must be a table, and is a text: write `policy = { … }`",
        );
        check(
            "[runtime]\nmax_batch = \"ten\"\n",
            "`max_batch` must be a whole number from 0 on, and is a text: write `max_batch = 1`",
        );
        check(
            "[runtime]\nmax_depth = -1\n",
            "`max_depth` must be a whole number from 0 on, and is less: write `max_depth = 1`",
        );
        check(
            "[runtime]\nmax_depth = 1.5\n",
            "`max_depth` must be a whole number from 0 on, and is a fraction: write `max_depth = 1`",
        );
    }

    #[test]
    fn libraries_do_not_speak_for_themselves() {
        check(
            "[server]\nlisten = \"here\"\n",
            "`listen` must be an address of this machine with a port: write \"127.0.0.1:7411\"",
        );
        check("[server]\nlog = [\"json\"]\n", "`log` must be a word: write \"…\"");
        check(
            "[server]\nlog = \"loud\"\n",
            "unknown word `loud`; use one of `auto`, `json`, `text`, `off`",
        );
    }

    #[test]
    fn a_value_is_not_repeated() {
        let text = "keys = \"sk-0123456789\"\n";
        let error = toml::from_str::<RawConfig>(text).err().unwrap();
        assert!(!mistake(error.message(), "keys = ").contains("sk-"), "{error}");
    }
}
