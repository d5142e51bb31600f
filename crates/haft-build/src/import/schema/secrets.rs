//! What a contract has to answer for: parameters that look like secrets, and keywords that not
//! every provider can say.

use serde_json::{Map, Value};

use super::children;
use crate::lint::schema::UNPORTABLE;
use crate::lint::schema::secret::{is_secret, is_tenant};

/// The first parameter, at any depth, whose name looks like a secret's.
pub(in super::super) fn has_secret(schema: &Value) -> Option<&str> {
    let names = schema.get("properties").and_then(Value::as_object);
    names
        .into_iter()
        .flat_map(Map::keys)
        .find(|name| is_secret(name))
        .map(String::as_str)
        .or_else(|| children(schema).into_iter().find_map(has_secret))
}

/// The root parameter that names a tenant.
pub(in super::super) fn has_tenant(schema: &Value) -> Option<&str> {
    let names = schema.get("properties").and_then(Value::as_object);
    let mut names = names.into_iter().flat_map(Map::keys).map(String::as_str);
    names.find(|name| is_tenant(name))
}

/// The keywords of a schema that not every provider can say.
pub(in super::super) fn portability(schema: &Value) -> Vec<&'static str> {
    let used = |keyword: &&'static str| uses(schema, keyword);
    UNPORTABLE.iter().copied().filter(used).collect()
}

fn uses(schema: &Value, keyword: &str) -> bool {
    schema.get(keyword).is_some() || children(schema).into_iter().any(|child| uses(child, keyword))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised_as_the_linter_does() {
        for (name, expected) in [
            ("password", true),
            ("encryptedPassword", true),
            ("X-API-Key", true),
            ("APIKey", true),
            ("x_apikey", true),
            ("clientSecret", true),
            ("credentialsFile", true),
            ("Authorization", true),
            ("secretary", false),
            ("tokens", false),
            ("author", false),
            ("token_count", false),
        ] {
            assert_eq!(is_secret(name), expected, "{name}");
        }
    }
}
