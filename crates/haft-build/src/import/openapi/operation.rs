//! From one operation to one draft.

use haft_core::Digest;
use haft_core::contract::{Category, OriginKind, SideEffects};
use serde_json::{Map, Value, json};

use super::super::draft::{Draft, Effects, Read, Runs, describe};
use super::super::function::{clean_name, drop_field};
use super::super::log::Log;
use super::super::report::Part;
use super::super::schema;
use super::answers::{self, Answers};
use super::arguments::{self, Arguments};
use super::security::{self, Said};
use super::{Operation, body, examples, server, style};

/// The fields of an operation that are read.
const READ: [&str; 8] = [
    "operationId",
    "summary",
    "description",
    "parameters",
    "requestBody",
    "responses",
    "security",
    "servers",
];

/// What OpenAPI does not say about any operation.
const ASSUMED: [&str; 5] =
    ["version", "requiresConfirmation", "allowedModes", "latencyBudgetMs", "redaction"];

/// Why an operation cannot become a tool, and where.
struct Refused(Part, String, String);

impl From<String> for Refused {
    fn from(what: String) -> Self {
        Self(Part::Definition, String::new(), what)
    }
}

pub(super) fn read(operation: &Operation<'_>) -> Read {
    let Operation { path, method, members, .. } = *operation;
    let digest = Digest::of_json(&json!({"path": path, "method": method, "operation": members}));
    let mut log = Log::new(Part::Definition);
    let name = match members.get("operationId").and_then(Value::as_str) {
        Some(id) if !id.trim().is_empty() => clean_name(id, &mut log),
        _ => clean_name(&format!("{method}_{path}"), &mut log),
    };
    match draft(operation, &name, &digest, log) {
        Ok(draft) => Read { name, digest, draft: Ok(Box::new(draft)) },
        Err(Refused(part, pointer, what)) => Read::refused(name, digest, part, &pointer, what),
    }
}

fn draft(
    operation: &Operation<'_>,
    name: &str,
    digest: &Digest,
    mut log: Log,
) -> Result<Draft, Refused> {
    let effects = effects(operation.method)?;
    for (field, value) in operation.members.iter().filter(|(f, _)| !READ.contains(&f.as_str())) {
        drop_field(field, value, "", &mut log);
    }
    let server = server::of(operation, &mut log)?;
    let mut arguments = arguments::gather(operation, &mut log)?;
    let content = body::add(operation, &mut arguments, &mut log)?;
    let mut parameters_log = Log::new(Part::Parameters);
    let document = Some(operation.source.document);
    let parameters = schema::parameters(Some(&arguments.schema()), document, &mut parameters_log)
        .map_err(|why| Refused(Part::Parameters, why.pointer, why.what))?;
    let url = format!("{}{}", server.url, path(operation.path, &arguments)?);
    let answers = answers::read(operation, &mut log)?;
    let examples = examples::gather(operation.source, &arguments, content, &parameters, &mut log);
    let connection = security::connection(operation, &server.host, &mut log);
    let (line, description) = describe(&words(operation.members), name, &mut log);
    let gateway = gateway(operation.method, &url, &arguments, (&parameters, &answers));
    let mut changes = log.into_changes();
    changes.extend(parameters_log.into_changes());
    let output =
        answers.output.map(|raw| schema::output(&raw, document)).and_then(|(output, log)| {
            changes.extend(log.into_changes());
            output
        });
    let unsaid = [
        ("description", description.is_empty()),
        ("connection", connection.as_ref().is_some_and(|(_, said)| *said == Said::ByImporter)),
    ];
    let unsaid = unsaid.into_iter().filter(|(_, assumed)| *assumed).map(|(field, _)| field);
    Ok(Draft {
        name: name.to_owned(),
        digest: digest.clone(),
        kind: OriginKind::Openapi,
        assumed: ASSUMED.into_iter().chain(unsaid).collect(),
        line,
        description,
        effects,
        parameters,
        output,
        runs: Runs::Http { gateway, connection: connection.map(|(connection, _)| connection) },
        failures: answers.failures,
        examples,
        changes,
    })
}

/// What a method does, as HTTP defines it.
fn effects(method: &str) -> Result<Effects, String> {
    let writes = |idempotent| Effects { idempotent, ..Effects::UNKNOWN };
    match method {
        "get" | "head" => Ok(Effects {
            category: Category::Retrieval,
            side_effects: SideEffects::ReadOnly,
            idempotent: true,
            confirmation: false,
        }),
        "put" | "delete" => Ok(writes(true)),
        "post" | "patch" => Ok(writes(false)),
        other => Err(format!("a tool has no use for `{}`", other.to_uppercase())),
    }
}

/// Summary and description, as far as they are there.
fn words(members: &Map<String, Value>) -> String {
    let text = |field| members.get(field).and_then(Value::as_str).unwrap_or_default().trim();
    let (summary, description) = (text("summary"), text("description"));
    match (summary.is_empty(), description.is_empty()) {
        (true, _) => description.to_owned(),
        (_, true) => summary.to_owned(),
        _ if description.starts_with(summary) => description.to_owned(),
        _ if summary.ends_with(['.', '!', '?']) => format!("{summary}\n\n{description}"),
        _ => format!("{summary}.\n\n{description}"),
    }
}

/// The path with the tool's parameters in its slots.
fn path(template: &str, arguments: &Arguments) -> Result<String, String> {
    let mut pieces = template.split('{');
    let mut path = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let Some((slot, rest)) = piece.split_once('}') else {
            return Err(format!("the path `{template}` has a slot without an end"));
        };
        let name = match arguments.path.get(slot) {
            Some(Value::String(name)) => name,
            // The section `path` says what fills it.
            Some(_) => slot,
            None => {
                return Err(format!(
                    "the path has a slot `{slot}` and no parameter for it; add one"
                ));
            }
        };
        path.push_str(&format!("{{{name}}}{rest}"));
    }
    let plain = |c: char| !matches!(c, '?' | '#' | '\\') && !c.is_whitespace() && !c.is_control();
    // `/{base}...{head}` leads nowhere else; a step does, and so would arguments that make one, which
    // are refused when the request is made.
    let stays = |segment: &str| !matches!(segment, "." | "..");
    match path.starts_with('/') && path.chars().all(plain) && path.split('/').all(stays) {
        true => Ok(path),
        false => Err(format!("`{template}` is no path that a call can be sent to")),
    }
}

/// How the request is made. Parameters that the contract does not have are not sent.
fn gateway(
    method: &str,
    url: &str,
    arguments: &Arguments,
    (parameters, answers): (&Value, &Answers),
) -> Value {
    let known = |slot: &Value| {
        let root = style::parameter(slot).and_then(|name| name.split('.').next());
        root.is_none_or(|name| {
            parameters.pointer("/properties").is_some_and(|p| p.get(name).is_some())
        })
    };
    let mut gateway = Map::new();
    gateway.insert("kind".to_owned(), json!("http"));
    gateway.insert("method".to_owned(), json!(method.to_uppercase()));
    gateway.insert("url".to_owned(), json!(url));
    let mut section = |name: &str, wires: &Map<String, Value>| {
        let wires: Map<String, Value> = wires
            .iter()
            .filter(|(_, slot)| known(slot))
            .map(|(wire, slot)| (wire.clone(), slot.clone()))
            .collect();
        if !wires.is_empty() {
            gateway.insert(name.to_owned(), Value::Object(wires));
        }
    };
    // Slots that a parameter of that name fills need no more words.
    let styled = arguments.path.iter().filter(|(_, slot)| !slot.is_string());
    section("path", &styled.map(|(wire, slot)| (wire.clone(), slot.clone())).collect());
    section("query", &arguments.query);
    let mut headers = arguments.headers.clone();
    if let Some(media) = &answers.accept {
        headers.insert("Accept".to_owned(), json!({ "value": media }));
    }
    section("headers", &headers);
    section("body", &arguments.body);
    if let Some(name) = &arguments.body_from {
        gateway.insert("bodyFrom".to_owned(), json!(name));
    }
    if let Some(encoding) = arguments.encoding {
        gateway.insert("encoding".to_owned(), json!(encoding));
    }
    if answers.text || answers.moved {
        gateway.insert("response".to_owned(), json!("text"));
    }
    if answers.moved && matches!(method, "get" | "head") {
        gateway.insert("redirects".to_owned(), json!(1));
    }
    Value::Object(gateway)
}
