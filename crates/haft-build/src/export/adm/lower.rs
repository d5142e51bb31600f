//! One JSON Schema in the model's words.

use serde_json::{Map, Value, json};

use super::super::{Loss, Lost};
use crate::diagnostic::escape;

/// Deeper nesting than the model allows; a schema that contains itself never ends.
const DEPTH: usize = haft_adm::SCHEMA_LEVELS;

pub(super) struct Lower<'a> {
    root: &'a Value,
    pub(super) losses: Vec<Loss>,
    /// References that are being followed.
    open: Vec<&'a str>,
}

impl<'a> Lower<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, losses: Vec::new(), open: Vec::new() }
    }

    /// The whole schema, or why the model cannot express it.
    pub(super) fn root(&mut self) -> Result<Value, String> {
        self.schema(self.root, "/parameters", 0)
    }

    pub(super) fn lose(&mut self, pointer: &str, keyword: &str, what: Lost, note: &str) {
        let (tool, pointer) = (String::new(), pointer.to_owned());
        let (keyword, note) = (keyword.to_owned(), note.to_owned());
        self.losses.push(Loss { tool, pointer, keyword, what, note });
    }

    fn schema(&mut self, schema: &'a Value, at: &str, depth: usize) -> Result<Value, String> {
        if depth > DEPTH {
            return Err(format!("schemas nest more than {DEPTH} deep at `{at}`"));
        }
        match schema {
            Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
                Some(target) => self.reference(target, members, at, depth),
                None => self.members(members, at, depth),
            },
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                Ok(self.anything(at, "true", "anything is allowed, which is said as text"))
            }
        }
    }

    /// A reference is replaced by what it leads to; the model has none.
    fn reference(
        &mut self,
        target: &'a str,
        members: &'a Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<Value, String> {
        if self.open.contains(&target) {
            return Err(format!("`{target}` contains itself, and the model has no references"));
        }
        let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let found = found.ok_or_else(|| format!("`{target}` leads nowhere"))?;
        self.open.push(target);
        let lowered = self.schema(found, at, depth + 1);
        self.open.pop();
        let mut lowered = lowered?;
        for keyword in members.keys() {
            match (keyword.as_str(), members.get(keyword), &mut lowered) {
                ("$ref" | "$defs" | "$comment", ..) => {}
                ("description", Some(text), Value::Object(lowered)) => {
                    lowered.insert("description".to_owned(), text.clone());
                }
                (keyword, ..) => {
                    self.lose(&join(at, keyword), keyword, Lost::Dropped, "beside a reference");
                }
            }
        }
        Ok(lowered)
    }

    fn members(
        &mut self,
        members: &'a Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<Value, String> {
        if let Some((keyword, branch, place)) = only_branch(members) {
            let place = format!("{at}/{keyword}/{place}");
            self.lose(&join(at, keyword), keyword, Lost::Approximated, "null is not said");
            let mut lowered = self.schema(branch, &place, depth + 1)?;
            if let (Some(text), Value::Object(lowered)) = (members.get("description"), &mut lowered)
            {
                lowered.insert("description".to_owned(), text.clone());
            }
            return Ok(lowered);
        }
        let word = self.type_of(members, at);
        let mut lowered = Map::new();
        lowered.insert("type".to_owned(), json!(word));
        if let Some(text) = members.get("description") {
            lowered.insert("description".to_owned(), text.clone());
        }
        match word {
            "OBJECT" => self.object(members, &mut lowered, at, depth)?,
            "ARRAY" => self.array(members, &mut lowered, at, depth)?,
            "STRING" => self.words(members, &mut lowered, at),
            _ => {}
        }
        self.rest(members, word, at);
        Ok(Value::Object(lowered))
    }

    fn anything(&mut self, at: &str, keyword: &str, note: &str) -> Value {
        self.lose(at, keyword, Lost::Approximated, note);
        json!({"type": "STRING"})
    }

    /// The model has exactly one type each.
    fn type_of(&mut self, members: &Map<String, Value>, at: &str) -> &'static str {
        let names: Vec<&str> = match members.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let real: Vec<&str> = names.iter().copied().filter(|name| *name != "null").collect();
        if names.len() > 1 || (real.is_empty() && !names.is_empty()) {
            let note = match real.len() {
                0 | 1 => "null is not said",
                _ => "only the first type is said",
            };
            self.lose(&join(at, "type"), "type", Lost::Approximated, note);
        }
        match real.first() {
            Some(&"object") => "OBJECT",
            Some(&"array") => "ARRAY",
            Some(&"integer") => "INTEGER",
            Some(&"number") => "NUMBER",
            Some(&"boolean") => "BOOLEAN",
            Some(_) => "STRING",
            None if members.contains_key("properties") => "OBJECT",
            None if members.contains_key("items") => "ARRAY",
            None => {
                let text = |value: &Value| value.is_string();
                let listed = members.get("enum").and_then(Value::as_array);
                if !listed.is_some_and(|values| values.iter().all(text)) && names.is_empty() {
                    let note = "anything is allowed, which is said as text";
                    self.lose(at, "type", Lost::Approximated, note);
                }
                "STRING"
            }
        }
    }

    fn object(
        &mut self,
        members: &'a Map<String, Value>,
        lowered: &mut Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let mut properties = Map::new();
        for (name, schema) in
            members.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let place = format!("{at}/properties/{}", escape(name));
            if *schema == Value::Bool(false) {
                self.lose(&place, "properties", Lost::Dropped, "it can never be sent");
                continue;
            }
            properties.insert(name.clone(), self.schema(schema, &place, depth + 1)?);
        }
        let required = members.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: Vec<&Value> = required
            .filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
            .collect();
        if !required.is_empty() {
            lowered.insert("required".to_owned(), json!(required));
        }
        // An object that declares members takes no others, in the model as in a closed schema.
        let closed = !properties.is_empty() || depth == 0;
        let place = join(at, "additionalProperties");
        match members.get("additionalProperties") {
            Some(Value::Bool(false)) if closed => {}
            Some(Value::Bool(false)) => {
                self.lose(
                    &place,
                    "additionalProperties",
                    Lost::Approximated,
                    "an object without members takes any",
                );
            }
            Some(Value::Object(_)) => {
                self.lose(
                    &place,
                    "additionalProperties",
                    Lost::Dropped,
                    "what further members are is not said",
                );
            }
            _ if closed => {
                self.lose(
                    &place,
                    "additionalProperties",
                    Lost::Approximated,
                    "an object with members takes no others",
                );
            }
            _ => {}
        }
        lowered.insert("properties".to_owned(), Value::Object(properties));
        Ok(())
    }

    fn array(
        &mut self,
        members: &'a Map<String, Value>,
        lowered: &mut Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let place = join(at, "items");
        let items = match members.get("items") {
            Some(items @ Value::Object(_)) => self.schema(items, &place, depth + 1)?,
            _ => self.anything(&place, "items", "elements can be anything, which is said as text"),
        };
        lowered.insert("items".to_owned(), items);
        Ok(())
    }

    fn words(&mut self, members: &Map<String, Value>, lowered: &mut Map<String, Value>, at: &str) {
        let listed = members.get("enum").and_then(Value::as_array).cloned();
        let constant = members.get("const").filter(|value| value.is_string());
        let Some(values) = constant.map(|value| vec![value.clone()]).or(listed) else { return };
        if !values.is_empty() && values.iter().all(Value::is_string) {
            lowered.insert("enum".to_owned(), json!(values));
        } else {
            self.lose(&join(at, "enum"), "enum", Lost::Dropped, "only lists of words can be said");
        }
    }

    /// Whatever else the schema says is not said.
    fn rest(&mut self, members: &Map<String, Value>, word: &str, at: &str) {
        for (keyword, value) in members {
            let note = match (keyword.as_str(), word) {
                ("type" | "description" | "$defs" | "$comment", _)
                | ("properties" | "required" | "additionalProperties", "OBJECT")
                | ("items", "ARRAY")
                | ("enum", "STRING") => continue,
                ("const", "STRING") if value.is_string() => continue,
                ("enum" | "const", _) => "only lists of words can be said",
                ("default" | "examples" | "title" | "deprecated" | "readOnly" | "writeOnly", _) => {
                    "the model has no such annotation"
                }
                ("anyOf" | "oneOf" | "allOf" | "not" | "if" | "then" | "else", _) => {
                    "the model has no alternatives"
                }
                _ => "the model has no such rule",
            };
            self.lose(&join(at, keyword), keyword, Lost::Dropped, note);
        }
    }
}

fn join(at: &str, keyword: &str) -> String {
    format!("{at}/{}", escape(keyword))
}

/// The one branch of `anyOf` or `oneOf` that is not null, where there is nothing else to say.
fn only_branch(members: &Map<String, Value>) -> Option<(&'static str, &Value, usize)> {
    if members.contains_key("type") || members.contains_key("properties") {
        return None;
    }
    ["anyOf", "oneOf"].into_iter().find_map(|keyword| {
        let branches = members.get(keyword)?.as_array()?;
        let is_null = |branch: &&Value| branch.get("type").is_some_and(|name| name == "null");
        let mut real = branches.iter().enumerate().filter(|(_, branch)| !is_null(branch));
        let (place, branch) = real.next()?;
        (real.next().is_none() && branches.len() > 1).then_some((keyword, branch, place))
    })
}
