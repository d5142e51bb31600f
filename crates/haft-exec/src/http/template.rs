//! A request out of arguments: each is encoded for the place where it goes.
//!
//! Scheme and host are the contract's. What an argument says stays inside of its place: one segment
//! of the path, one value of the query, one header, one member of the body.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use haft_core::ToolError;
use haft_core::contract::{BodyEncoding, HttpGateway, Slot};
use haft_core::error::ErrorKind;
use hyper::Method;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use url::Url;

use super::client::Request;
use super::written;

/// The longest URL that is sent.
const LONGEST_URL: usize = 16 << 10;

/// The request of a call.
pub(super) fn request(
    gateway: &HttpGateway,
    arguments: &Value,
    most: u64,
) -> Result<Request, ToolError> {
    let mut headers = headers(gateway, arguments)?;
    let body = body(gateway, arguments, &mut headers)?;
    let method = Method::from_bytes(gateway.method.as_str().as_bytes())
        .map_err(|why| broken(&why.to_string()))?;
    Ok(Request::new(method, url(gateway, arguments)?, headers, body, most))
}

/// Whether there is a request of a call. Only what its arguments can spoil is put together: JSON takes
/// any of them, and what the contract says by itself was checked with it.
pub(super) fn vet(gateway: &HttpGateway, arguments: &Value) -> Result<(), ToolError> {
    let asks =
        |slots: &BTreeMap<String, Slot>| slots.values().any(|slot| slot.argument().is_some());
    if asks(&gateway.headers) {
        headers(gateway, arguments)?;
    }
    if gateway.encoding != BodyEncoding::Json {
        body(gateway, arguments, &mut HeaderMap::new())?;
    }
    if gateway.url.contains('{') || asks(&gateway.query) {
        url(gateway, arguments)?;
    }
    Ok(())
}

/// The address, checked to be the one that was put together: a URL that means something else once
/// it is read is not sent.
fn url(gateway: &HttpGateway, arguments: &Value) -> Result<Url, ToolError> {
    let (origin, template) = parts(&gateway.url).ok_or_else(|| broken("its URL is none"))?;
    let path = path(template, gateway, arguments)?;
    let query = query(gateway, arguments)?;
    let mark = if query.is_empty() { "" } else { "?" };
    let text = format!("{origin}{path}{mark}{query}");
    if text.len() > LONGEST_URL {
        return Err(refused("the arguments make a URL that is too long"));
    }
    let url = Url::parse(&text).map_err(|why| broken(&why.to_string()))?;
    let same_host = Url::parse(origin).is_ok_and(|own| own.origin() == url.origin());
    if !same_host || url.path() != path || !url.username().is_empty() || url.fragment().is_some() {
        return Err(refused("the arguments would change where the request goes"));
    }
    Ok(url)
}

/// `https://host` and the rest.
fn parts(url: &str) -> Option<(&str, &str)> {
    let host = url.find("://")? + 3;
    let length = url.get(host..)?.find('/').unwrap_or(url.len() - host);
    url.split_at_checked(host + length)
}

fn query(gateway: &HttpGateway, arguments: &Value) -> Result<String, ToolError> {
    let mut pairs = Vec::new();
    for (name, slot) in &gateway.query {
        pairs.extend(written::pairs(name, slot, arguments)?);
    }
    let of_pages = gateway.pages.as_ref().and_then(|pages| pages.query.as_ref());
    let own: Vec<&String> = gateway.query.keys().chain(of_pages).collect();
    written::text(&pairs, &own)
}

fn path(template: &str, gateway: &HttpGateway, arguments: &Value) -> Result<String, ToolError> {
    let mut pieces = template.split('{');
    let mut path = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once('}').ok_or_else(|| broken("its URL is none"))?;
        let usual = Slot::Argument(name.to_owned());
        let slot = gateway.path.get(name).unwrap_or(&usual);
        let Some(value) = written::segment(name, slot, arguments)? else {
            return Err(refused(&format!("`{name}` is part of the address and must not be empty")));
        };
        path.push_str(&value);
        path.push_str(rest);
    }
    // Encoded or not, servers and proxies take these for steps to another place.
    let steps = |segment: &str| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    };
    if path.split('/').any(steps) {
        return Err(refused("an argument would lead to another path"));
    }
    Ok(if path.is_empty() { "/".to_owned() } else { path })
}

/// Everything but letters, digits and `-._~` is escaped, so that nothing ends the place it is in.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let escaped = text.bytes().filter(|byte| !plain(byte)).count();
    // As long as it becomes: what grows leaves copies behind, and this may be a secret.
    let mut out = String::with_capacity(text.len() + 2 * escaped);
    for byte in text.bytes() {
        match plain(&byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// An argument by its name, or by the path that leads to it: `filter.name`.
fn argument<'v>(arguments: &'v Value, name: &str) -> Option<&'v Value> {
    let found = arguments.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        argument(arguments.get(first)?, rest)
    });
    found.filter(|value| !value.is_null())
}

/// What fills a place: an argument that is there, or what the contract says.
pub(super) fn filled<'v>(slot: &'v Slot, arguments: &'v Value) -> Option<&'v Value> {
    match slot {
        Slot::Argument(name) => argument(arguments, name),
        Slot::Written(how) => argument(arguments, &how.from),
        Slot::Fixed { value } => Some(value).filter(|value| !value.is_null()),
    }
}

pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn headers(gateway: &HttpGateway, arguments: &Value) -> Result<HeaderMap, ToolError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, */*;q=0.5"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    for (name, slot) in &gateway.headers {
        let Some(text) = written::line(name, slot, arguments)? else { continue };
        let text = Some(text).filter(|text| !text.chars().any(char::is_control));
        let value = text.and_then(|text| {
            HeaderValue::from_str(&text)
                .ok()
                .or_else(|| HeaderValue::from_bytes(text.as_bytes()).ok())
        });
        let Some(value) = value else {
            return Err(refused(&format!("`{name}` holds something that a header cannot say")));
        };
        let name =
            HeaderName::from_bytes(name.as_bytes()).map_err(|why| broken(&why.to_string()))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

fn body(
    gateway: &HttpGateway,
    arguments: &Value,
    headers: &mut HeaderMap,
) -> Result<Bytes, ToolError> {
    if gateway.body.is_empty() && gateway.body_from.is_none() {
        return Ok(Bytes::new());
    }
    let (kind, bytes) = match gateway.encoding {
        BodyEncoding::Form => {
            ("application/x-www-form-urlencoded", form(gateway, arguments)?.into())
        }
        BodyEncoding::Json => match json(gateway, arguments) {
            None => return Ok(Bytes::new()),
            Some(value) => ("application/json", value.to_string().into()),
        },
        BodyEncoding::Text | BodyEncoding::Base64 => match raw(gateway, arguments)? {
            None => return Ok(Bytes::new()),
            Some(raw) => raw,
        },
    };
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
    Ok(bytes)
}

/// A body that is one argument as it is, and what it is called when the contract does not say.
fn raw(
    gateway: &HttpGateway,
    arguments: &Value,
) -> Result<Option<(&'static str, Bytes)>, ToolError> {
    let Some(name) = &gateway.body_from else { return Ok(None) };
    let Some(value) = argument(arguments, name) else { return Ok(None) };
    let Some(text) = scalar(value) else {
        return Err(refused(&format!("`{name}` is the body as it is sent, and must be text")));
    };
    if gateway.encoding == BodyEncoding::Text {
        return Ok(Some(("text/plain; charset=utf-8", text.into())));
    }
    let bytes = STANDARD.decode(&text).map_err(|_| {
        refused(&format!("`{name}` is sent as bytes, and must hold them in base64"))
    })?;
    Ok(Some(("application/octet-stream", bytes.into())))
}

fn json(gateway: &HttpGateway, arguments: &Value) -> Option<Value> {
    if let Some(name) = &gateway.body_from {
        return argument(arguments, name).cloned();
    }
    let mut members = Map::new();
    for (name, slot) in &gateway.body {
        if let Some(value) = filled(slot, arguments) {
            members.insert(name.clone(), value.clone());
        }
    }
    Some(Value::Object(members))
}

fn form(gateway: &HttpGateway, arguments: &Value) -> Result<String, ToolError> {
    let mut pairs = Vec::new();
    for (name, slot) in &gateway.body {
        pairs.extend(written::pairs(name, slot, arguments)?);
    }
    written::text(&pairs, &gateway.body.keys().collect::<Vec<_>>())
}

pub(super) fn refused(message: &str) -> ToolError {
    ToolError::new(ErrorKind::InvalidArguments, message)
}

pub(super) fn broken(why: &str) -> ToolError {
    ToolError::new(ErrorKind::Internal, "the tool's request cannot be put together").caused_by(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(gateway: Value, arguments: Value) -> Result<Request, ToolError> {
        request(&serde_json::from_value(gateway).unwrap(), &arguments, 1000)
    }

    #[track_caller]
    fn check(value: &str, expected: &str) {
        let gateway = json!({"method": "GET", "url": "https://h.example/a/{x}/b"});
        let found = match made(gateway, json!({"x": value})) {
            Ok(request) => request.url.to_string(),
            Err(error) => error.kind.to_string(),
        };
        assert_eq!(found, expected, "{value:?}");
    }

    #[test]
    fn an_argument_stays_one_segment_of_the_path() {
        check("plain", "https://h.example/a/plain/b");
        check("a/b", "https://h.example/a/a%2Fb/b");
        check("a?b=c#d", "https://h.example/a/a%3Fb%3Dc%23d/b");
        check("x\r\nHost: evil", "https://h.example/a/x%0D%0AHost%3A%20evil/b");
        check("a;jsessionid=1", "https://h.example/a/a%3Bjsessionid%3D1/b");
        check("..%2f..", "https://h.example/a/..%252f../b");
        check("ä %", "https://h.example/a/%C3%A4%20%25/b");
        check("@evil.example", "https://h.example/a/%40evil.example/b");
        check("\\evil", "https://h.example/a/%5Cevil/b");
        check("...", "https://h.example/a/.../b");
        for dots in ["..", ".", ""] {
            check(dots, "invalid_arguments");
        }
    }

    #[test]
    fn a_query_cannot_be_polluted_and_a_list_repeats_its_name() {
        let gateway = json!({"method": "GET", "url": "https://h.example/s", "query": {
            "q": "q", "tag": "tags", "v": {"value": 2}, "no": "missing"
        }});
        let request = made(gateway, json!({"q": "a&b=c#d", "tags": ["x", "y z"]})).unwrap();
        assert_eq!(request.url.as_str(), "https://h.example/s?q=a%26b%3Dc%23d&tag=x&tag=y%20z&v=2");
    }

    #[test]
    fn a_header_is_one_line() {
        let gateway =
            json!({"method": "GET", "url": "https://h.example/", "headers": {"x-a": "a"}});
        for bad in ["a\r\nb: c", "a\nb", "\0", "a\u{7f}"] {
            let error = made(gateway.clone(), json!({"a": bad})).err().unwrap();
            assert_eq!(error.kind, ErrorKind::InvalidArguments, "{bad:?}");
        }
        let request = made(gateway, json!({"a": "grüß dich"})).unwrap();
        assert_eq!(request.headers.get("x-a").unwrap().as_bytes(), "grüß dich".as_bytes());
    }

    #[test]
    fn a_body_is_json_or_a_form() {
        let to = |more: Value| {
            let mut gateway = json!({"method": "POST", "url": "https://h.example/"});
            gateway.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let request = made(gateway, json!({"t": "a&b", "b": "aGVsbG8=", "n": {"x": [1]}}));
            let request = request.unwrap();
            let kind = request.headers.get(CONTENT_TYPE).map(|v| v.to_str().unwrap().to_owned());
            (kind.unwrap_or_default(), String::from_utf8(request.body.to_vec()).unwrap())
        };
        let json_of = |text: &str| ("application/json".to_owned(), text.to_owned());
        assert_eq!(
            to(json!({"body": {"title": "t", "deep": "n.x", "gone": "z", "k": {"value": true}}})),
            json_of(r#"{"deep":[1],"k":true,"title":"a&b"}"#)
        );
        assert_eq!(to(json!({"bodyFrom": "n"})), json_of(r#"{"x":[1]}"#));
        assert_eq!(
            to(json!({"encoding": "form", "body": {"title": "t", "l": "n.x"}})),
            ("application/x-www-form-urlencoded".to_owned(), "l=1&title=a%26b".to_owned())
        );
        assert_eq!(
            to(json!({"encoding": "text", "bodyFrom": "t"})),
            ("text/plain; charset=utf-8".to_owned(), "a&b".to_owned())
        );
        assert_eq!(
            to(json!({"encoding": "base64", "bodyFrom": "b",
                "headers": {"Content-Type": {"value": "image/png"}}})),
            ("image/png".to_owned(), "hello".to_owned())
        );
        assert_eq!(to(json!({})), (String::new(), String::new()));
        for bad in [json!("aGVsbG8"), json!("a b"), json!([1])] {
            let gateway = json!({"method": "POST", "url": "https://h.example/", "encoding": "base64",
                "bodyFrom": "b"});
            let error = made(gateway, json!({"b": bad})).err().unwrap();
            assert_eq!(error.kind, ErrorKind::InvalidArguments, "{bad}");
        }
    }

    #[test]
    fn what_no_request_can_be_made_of_is_known_before() {
        let check = |more: Value, arguments: Value, fits: bool| {
            let mut gateway = json!({"method": "POST", "url": "https://h.example/"});
            gateway.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let vetted = vet(&serde_json::from_value(gateway.clone()).unwrap(), &arguments);
            assert_eq!(vetted.is_ok(), fits, "{more} {arguments}");
            assert_eq!(vetted.err(), made(gateway, arguments).err(), "{more}");
        };
        let path = json!({"url": "https://h.example/{a}"});
        check(path.clone(), json!({"a": "x"}), true);
        check(path.clone(), json!({"a": ".."}), false);
        check(path, json!({}), false);
        let query = json!({"query": {"q": "a", "v": {"value": 2}}});
        check(query.clone(), json!({"a": "x"}), true);
        check(query.clone(), json!({"a": {"x": 1}}), false);
        check(query, json!({"a": "x".repeat(LONGEST_URL)}), false);
        let header = json!({"headers": {"x-a": "a"}});
        check(header.clone(), json!({"a": "x"}), true);
        check(header, json!({"a": "x\r\ny"}), false);
        let bytes = json!({"encoding": "base64", "bodyFrom": "a"});
        check(bytes.clone(), json!({"a": "aGVsbG8="}), true);
        check(bytes, json!({"a": "!"}), false);
        check(json!({"encoding": "text", "bodyFrom": "a"}), json!({"a": [1]}), false);
        let form = json!({"encoding": "form", "body": {"f": "a"}});
        check(form.clone(), json!({"a": "x"}), true);
        check(form, json!({"a": {"x": 1}}), false);
        for any in [json!({}), json!({"a": {"x": [null]}}), json!({"a": "\0"})] {
            check(json!({"body": {"f": "a"}, "query": {"v": {"value": 2}}}), any.clone(), true);
            check(json!({"bodyFrom": "a"}), any, true);
        }
    }
}
