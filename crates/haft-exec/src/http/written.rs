//! Arguments as text: lists and objects are written in the styles that OpenAPI names.
//!
//! Every value is encoded by itself, and the signs between values are ours. Where a service could not
//! tell the two apart, the call is refused.

use haft_core::ToolError;
use haft_core::contract::{Slot, Style, Written};
use serde_json::Value;
use url::form_urlencoded;

use super::template::{broken, encoded, filled, refused, scalar};
use crate::said::{shortened, visible};

/// Objects in objects are written no deeper.
const DEEPEST: usize = 8;

/// No service, with all that stands before it, takes off more layers of escapes.
const MOST_ESCAPES: usize = 3;

/// As much of a name is told.
const LONGEST_NAME: usize = 64;

/// One `name=value` of a query or a form, encoded.
#[derive(Debug)]
pub(super) struct Pair {
    name: String,
    value: String,
    /// The name as it was before, where the argument chose it.
    chosen: Option<String>,
}

/// What a value consists of.
enum Parts<'v> {
    One(String),
    List(Vec<String>),
    Members(Vec<(&'v str, String)>),
}

/// What a query or a form is given under one name.
pub(super) fn pairs(name: &str, slot: &Slot, arguments: &Value) -> Result<Vec<Pair>, ToolError> {
    let Some(value) = filled(slot, arguments) else { return Ok(Vec::new()) };
    let pair = |value: String| Pair { name: encoded(name), value, chosen: None };
    let Slot::Written(how) = slot else {
        return match parts(name, value)? {
            Parts::One(text) => Ok(vec![pair(encoded(&text))]),
            Parts::List(list) => Ok(list.iter().map(|text| pair(encoded(text))).collect()),
            Parts::Members(_) => Err(unsayable(name)),
        };
    };
    let sign = if how.allow_reserved { with_reserved } else { encoded };
    match how.style {
        Style::Json => Ok(vec![pair(sign(&value.to_string()))]),
        Style::DeepObject => {
            let mut out = Vec::new();
            deep((name, value), sign, 0, &mut out)?;
            Ok(out)
        }
        Style::Form if how.is_exploded() => Ok(match parts(name, value)? {
            Parts::One(text) => vec![pair(sign(&text))],
            Parts::List(list) => list.iter().map(|text| pair(sign(text))).collect(),
            Parts::Members(members) => {
                let own = |(name, text): &(&str, String)| Pair {
                    name: encoded(name),
                    value: sign(text),
                    chosen: Some((*name).to_owned()),
                };
                members.iter().map(own).collect()
            }
        }),
        Style::Form => Ok(joined((name, value), (',', ","), sign)?.map(pair).into_iter().collect()),
        Style::SpaceDelimited => {
            Ok(joined((name, value), (' ', "%20"), sign)?.map(pair).into_iter().collect())
        }
        Style::PipeDelimited => {
            Ok(joined((name, value), ('|', "%7C"), sign)?.map(pair).into_iter().collect())
        }
        Style::Simple | Style::Label | Style::Matrix => Err(broken("a style of another place")),
    }
}

/// Pairs as they are sent. A name that an argument chose is none that the contract fills, nor a part of one.
pub(super) fn text(pairs: &[Pair], reserved: &[&String]) -> Result<String, ToolError> {
    let reserved: Vec<Vec<String>> = reserved.iter().map(|name| steps(name)).collect();
    let taken = |name: &&String| {
        let chosen = steps(name);
        reserved.iter().any(|own| lead_together(own, &chosen))
    };
    if let Some(name) = pairs.iter().filter_map(|pair| pair.chosen.as_ref()).find(taken) {
        let name = visible(&shortened(name, LONGEST_NAME));
        return Err(refused(&format!("`{name}` has a place of its own in this request")));
    }
    let all: Vec<String> = pairs.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
    Ok(all.join("&"))
}

/// Whether two names of a query stand for one place, or for one within the other: a service that takes
/// `filter[owner]` for a member of `filter` takes it from either. Dots lead nowhere: no style writes them
/// into a name, and services have parameters called `q` and `q.op`.
pub(super) fn meet(one: &str, other: &str) -> bool {
    lead_together(&steps(one), &steps(other))
}

fn lead_together(one: &[String], other: &[String]) -> bool {
    !one.is_empty() && !other.is_empty() && one.iter().zip(other).all(|(a, b)| a == b)
}

/// The name and the members that lead from it to a value, however a service is lenient about how they are
/// written: brackets that are missing, doubled or escaped once more, spaces, capital letters, and a NUL,
/// which ends a name for those that count characters to it.
fn steps(name: &str) -> Vec<String> {
    let name = unescaped(name).to_lowercase();
    let parts = name.split(|c: char| matches!(c, '[' | ']') || c.is_control());
    parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// A name without the escapes that it had itself, before it was escaped for the query.
fn unescaped(name: &str) -> String {
    let mut here = name.to_owned();
    for _ in 0..MOST_ESCAPES {
        if !here.contains(['%', '+']) {
            break;
        }
        // These are not escapes, and would end the name.
        let whole = here.replace('&', "%26").replace('=', "%3D");
        let found = form_urlencoded::parse(whole.as_bytes()).next();
        here = found.map(|(name, _)| name.into_owned()).unwrap_or_default();
    }
    here
}

/// A slot of the path; nothing where the argument is missing or empty.
pub(super) fn segment(
    name: &str,
    slot: &Slot,
    arguments: &Value,
) -> Result<Option<String>, ToolError> {
    let Some(value) = filled(slot, arguments).filter(|value| **value != "") else {
        return Ok(None);
    };
    let (style, exploded) = match slot {
        Slot::Written(how) => (how.style, how.is_exploded()),
        Slot::Argument(_) | Slot::Fixed { .. } => (Style::Simple, false),
    };
    let wire = encoded(name);
    let (before, text) = match (style, exploded) {
        (Style::Json, _) => return Ok(Some(encoded(&value.to_string()))),
        (Style::Simple, _) => (String::new(), inner((name, value), (',', ""), exploded)?),
        (Style::Label, true) => (".".to_owned(), inner((name, value), ('.', ""), true)?),
        (Style::Label, false) => (".".to_owned(), inner((name, value), (',', ""), false)?),
        (Style::Matrix, true) => (";".to_owned(), inner((name, value), (';', &wire), true)?),
        (Style::Matrix, false) => (format!(";{wire}="), inner((name, value), (',', ""), false)?),
        (Style::Form | Style::SpaceDelimited | Style::PipeDelimited | Style::DeepObject, _) => {
            return Err(broken("a style of another place"));
        }
    };
    Ok(Some(text).filter(|text| !text.is_empty()).map(|text| format!("{before}{text}")))
}

/// Values with a sign between them, each with its name before it where it stands by itself.
fn inner(
    (name, value): (&str, &Value),
    (between, wire): (char, &str),
    exploded: bool,
) -> Result<String, ToolError> {
    let apart = |text: &str| {
        // Everything else that stands between values is escaped inside of them.
        match between == '.' && text.contains('.') {
            true => Err(mixed(name, between)),
            false => Ok(encoded(text)),
        }
    };
    let named = |text: String| if wire.is_empty() { text } else { format!("{wire}={text}") };
    let all: Vec<String> = match parts(name, value)? {
        Parts::One(text) => vec![named(encoded(&text))],
        Parts::List(list) => {
            list.iter().map(|text| apart(text).map(named)).collect::<Result<_, _>>()?
        }
        Parts::Members(members) => {
            let sign = if exploded { '=' } else { between };
            let one =
                |(key, text): &(&str, String)| Ok(format!("{}{sign}{}", apart(key)?, apart(text)?));
            members.iter().map(one).collect::<Result<_, ToolError>>()?
        }
    };
    Ok(all.join(&between.to_string()))
}

/// A header's value; nothing where the argument is missing. Headers have no escapes.
pub(super) fn line(
    name: &str,
    slot: &Slot,
    arguments: &Value,
) -> Result<Option<String>, ToolError> {
    let Some(value) = filled(slot, arguments) else { return Ok(None) };
    let written = match slot {
        Slot::Written(Written { style: Style::Json, .. }) => return Ok(Some(value.to_string())),
        Slot::Written(how) => Some(how),
        Slot::Argument(_) | Slot::Fixed { .. } => None,
    };
    let apart = |text: &str| match text.contains(',') {
        true => Err(mixed(name, ',')),
        false => Ok(text.to_owned()),
    };
    let all: Vec<String> = match (parts(name, value)?, written) {
        (Parts::One(text), _) => return Ok(Some(text)),
        (Parts::List(list), _) => list.iter().map(|text| apart(text)).collect::<Result<_, _>>()?,
        (Parts::Members(members), Some(how)) => {
            let sign = if how.is_exploded() { '=' } else { ',' };
            let one =
                |(key, text): &(&str, String)| Ok(format!("{}{sign}{}", apart(key)?, apart(text)?));
            members.iter().map(one).collect::<Result<_, ToolError>>()?
        }
        (Parts::Members(_), None) => return Err(unsayable(name)),
    };
    Ok(Some(all.join(",")).filter(|text| !text.is_empty()))
}

/// All values under one name; nothing for an empty list.
fn joined(
    (name, value): (&str, &Value),
    (sign, between): (char, &str),
    encode: fn(&str) -> String,
) -> Result<Option<String>, ToolError> {
    let texts: Vec<String> = match parts(name, value)? {
        Parts::One(text) => return Ok(Some(encode(&text))),
        Parts::List(list) => list,
        Parts::Members(members) => {
            members.into_iter().flat_map(|(key, text)| [key.to_owned(), text]).collect()
        }
    };
    // A comma between values is written as it is, and inside of them escaped.
    if sign != ',' && texts.iter().any(|text| text.contains(sign)) {
        return Err(mixed(name, sign));
    }
    let all: Vec<String> = texts.iter().map(|text| encode(text).replace(',', "%2C")).collect();
    Ok(Some(all.join(between)).filter(|_| !all.is_empty()))
}

/// `name[member]=value`, with more brackets for what is further inside and numbers for elements.
fn deep(
    (name, value): (&str, &Value),
    encode: fn(&str) -> String,
    depth: usize,
    out: &mut Vec<Pair>,
) -> Result<(), ToolError> {
    if depth > DEEPEST {
        return Err(refused(&format!("`{name}` is nested too deep")));
    }
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                if key.contains(['[', ']']) {
                    return Err(refused(&format!(
                        "`{name}` has a member with a bracket in its name"
                    )));
                }
                deep((&format!("{name}[{key}]"), value), encode, depth + 1, out)?;
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                deep((&format!("{name}[{index}]"), value), encode, depth + 1, out)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let text = scalar(value).ok_or_else(|| unsayable(name))?;
            out.push(Pair { name: encoded(name), value: encode(&text), chosen: None });
        }
    }
    Ok(())
}

/// A member that is nothing is left out, as an argument is.
fn parts<'v>(name: &str, value: &'v Value) -> Result<Parts<'v>, ToolError> {
    let one = |value: &Value| scalar(value).ok_or_else(|| unsayable(name));
    match value {
        Value::Array(list) => Ok(Parts::List(list.iter().map(one).collect::<Result<_, _>>()?)),
        Value::Object(members) => {
            let there = members.iter().filter(|(_, value)| !value.is_null());
            let members = there.map(|(key, value)| Ok((key.as_str(), one(value)?)));
            Ok(Parts::Members(members.collect::<Result<_, ToolError>>()?))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Ok(Parts::One(one(value)?))
        }
    }
}

/// Leaves the signs that have a meaning in URLs, except those that could end a value of a query.
fn with_reserved(text: &str) -> String {
    let kept =
        |c: char| matches!(c, ':' | '/' | '?' | '@' | '!' | '$' | '(' | ')' | '*' | ',' | '=');
    let mut out = String::with_capacity(text.len());
    let mut bytes = [0; 4];
    for c in text.chars() {
        match kept(c) {
            true => out.push(c),
            false => out.push_str(&encoded(c.encode_utf8(&mut bytes))),
        }
    }
    out
}

fn unsayable(name: &str) -> ToolError {
    refused(&format!("`{name}` holds something that its place in the request cannot say"))
}

fn mixed(name: &str, sign: char) -> ToolError {
    let message = format!("a value of `{name}` holds the `{sign}` that stands between values");
    refused(&message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::error::ErrorKind;
    use serde_json::json;

    fn slot(style: &str, explode: bool, reserved: bool) -> Slot {
        let mut slot = json!({"from": "v", "style": style, "allowReserved": reserved});
        if matches!(style, "form" | "simple" | "label" | "matrix") {
            slot["explode"] = json!(explode);
        }
        serde_json::from_value(slot).unwrap()
    }

    fn said(found: Result<Option<String>, ToolError>) -> String {
        match found {
            Ok(text) => text.unwrap_or_else(|| "nothing".to_owned()),
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::InvalidArguments, "{error:?}");
                error.message.clone()
            }
        }
    }

    /// One, a list and an object, as the table of OpenAPI has them.
    fn colours() -> [Value; 3] {
        [
            json!("blue"),
            json!(["blue", "black", "brown"]),
            json!({"R": 100, "G": 200, "B": 150, "none": null}),
        ]
    }

    #[test]
    fn a_query_is_written_as_openapi_says() {
        for (style, explode, expected) in [
            ("form", false, ["color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"]),
            (
                "form",
                true,
                ["color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"],
            ),
            (
                "spaceDelimited",
                false,
                ["color=blue", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"],
            ),
            (
                "pipeDelimited",
                false,
                ["color=blue", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"],
            ),
            (
                "deepObject",
                true,
                [
                    "color=blue",
                    "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown",
                    "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
                ],
            ),
        ] {
            for (value, expected) in colours().into_iter().zip(expected) {
                let found = pairs("color", &slot(style, explode, false), &json!({"v": value}));
                assert_eq!(text(&found.unwrap(), &[]).unwrap(), expected, "{style} {explode}");
            }
        }
    }

    #[test]
    fn a_slot_of_the_path_is_written_as_openapi_says() {
        for (style, explode, expected) in [
            ("simple", false, ["blue", "blue,black,brown", "R,100,G,200,B,150"]),
            ("simple", true, ["blue", "blue,black,brown", "R=100,G=200,B=150"]),
            ("label", false, [".blue", ".blue,black,brown", ".R,100,G,200,B,150"]),
            ("label", true, [".blue", ".blue.black.brown", ".R=100.G=200.B=150"]),
            (
                "matrix",
                false,
                [";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"],
            ),
            (
                "matrix",
                true,
                [";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
            ),
        ] {
            for (value, expected) in colours().into_iter().zip(expected) {
                let found = segment("color", &slot(style, explode, false), &json!({"v": value}));
                assert_eq!(said(found), expected, "{style} {explode}");
            }
        }
        for empty in [json!(""), json!([]), json!({}), json!(null)] {
            let found = segment("color", &slot("label", true, false), &json!({"v": empty}));
            assert_eq!(said(found), "nothing");
        }
    }

    #[test]
    fn a_header_is_written_as_openapi_says() {
        for (explode, expected) in [
            (false, ["blue", "blue,black,brown", "R,100,G,200,B,150"]),
            (true, ["blue", "blue,black,brown", "R=100,G=200,B=150"]),
        ] {
            for (value, expected) in colours().into_iter().zip(expected) {
                let found = line("color", &slot("simple", explode, false), &json!({"v": value}));
                assert_eq!(said(found), expected, "{explode}");
            }
        }
    }

    #[test]
    fn values_stay_between_their_signs() {
        let query = |style: &str, explode, value: Value| {
            let found = pairs("c", &slot(style, explode, false), &json!({"v": value}));
            said(found.and_then(|pairs| text(&pairs, &[&"key".to_owned()])).map(Some))
        };
        let mixed = |sign| format!("a value of `c` holds the `{sign}` that stands between values");
        assert_eq!(query("form", false, json!(["a,b", "c&d"])), "c=a%2Cb,c%26d");
        assert_eq!(query("spaceDelimited", false, json!(["a b", "c"])), mixed(' '));
        assert_eq!(query("pipeDelimited", false, json!(["a|b", "c"])), mixed('|'));
        assert_eq!(
            query("form", true, json!({"key": "mine"})),
            "`key` has a place of its own in this request"
        );
        assert_eq!(query("form", false, json!([])), "");
        assert_eq!(
            query("json", false, json!({"a": [1, "&"]})),
            "c=%7B%22a%22%3A%5B1%2C%22%26%22%5D%7D"
        );
        assert_eq!(
            query("deepObject", true, json!({"a": {"b": ["x", {"y": 1}]}})),
            "c%5Ba%5D%5Bb%5D%5B0%5D=x&c%5Ba%5D%5Bb%5D%5B1%5D%5By%5D=1"
        );
        assert_eq!(
            query("deepObject", true, json!({"a][b": 1})),
            "`c` has a member with a bracket in its name"
        );
        assert_eq!(
            query("form", true, json!({"q.op": "and", "other[key]": 1})),
            "q.op=and&other%5Bkey%5D=1"
        );
        let nested = query("form", false, json!([["a"]]));
        assert!(nested.contains("cannot say"), "{nested}");
        let path = segment("c", &slot("label", true, false), &json!({"v": ["a.b", "c"]}));
        assert_eq!(said(path), mixed('.'));
        let path = segment("c", &slot("matrix", true, false), &json!({"v": ["a;b=c/d", ".."]}));
        assert_eq!(said(path), ";c=a%3Bb%3Dc%2Fd;c=..");
        let header = line("c", &slot("simple", false, false), &json!({"v": ["a,b", "c"]}));
        assert_eq!(said(header), mixed(','));
    }

    /// A service reads `filter[owner]` as a member of `filter`, and many are lenient about how it is written.
    #[test]
    fn a_member_is_no_part_of_what_has_a_place_of_its_own() {
        let check = |own: &str, name: &str, taken: bool| {
            let found = pairs("c", &slot("form", true, false), &json!({"v": {name: "you"}}));
            let said = said(found.and_then(|pairs| text(&pairs, &[&own.to_owned()])).map(Some));
            let expected = match taken {
                true => format!("`{}` has a place of its own in this request", visible(name)),
                false => format!("{}=you", encoded(name)),
            };
            assert_eq!(said, expected, "{own} {name}");
        };
        for name in [
            "filter",
            "filter[owner]",
            "filter[owner][name]",
            "filter[]",
            "filter[",
            "filter]",
            "[filter]",
            "[filter][owner]",
            "filter%5Bowner%5D",
            "filter%5bowner%5d",
            "filter%255Bowner%255D",
            "%66ilter[owner]",
            "filter+[owner]",
            "+filter",
            " filter [owner]",
            "Filter[owner]",
            "filter\0",
        ] {
            check("filter", name, true);
        }
        for name in ["filter[owner]", "filter", "filter[owner][]", "filter[[owner]]"] {
            check("filter[owner]", name, true);
        }
        for name in
            ["filters", "filters[owner]", "my[filter]", "filter.owner", "%", "+", "[]", "a&filter"]
        {
            check("filter", name, false);
        }
        check("filter[owner]", "filter[since]", false);
        let long = format!("%{}", "25".repeat(1 << 20));
        check("filter", &long, false);
    }

    #[test]
    fn reserved_signs_stay_where_they_end_nothing() {
        let found = |style, value: Value| {
            let found = pairs("c", &slot(style, false, true), &json!({"v": value}));
            text(&found.unwrap(), &[]).unwrap()
        };
        assert_eq!(
            found("form", json!(":/?#[]@!$&'()*+,;= ä%41")),
            "c=:/?%23%5B%5D@!$%26%27()*%2B,%3B=%20%C3%A4%2541"
        );
        assert_eq!(found("form", json!(["a,b", "c/d"])), "c=a%2Cb,c/d");
    }
}
