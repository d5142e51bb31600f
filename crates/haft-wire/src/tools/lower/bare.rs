//! Objects that list no members.

use serde_json::{Map, Value};

use super::null::one_word;
use super::object::Further;
use super::{Node, Plan, Step, Walk, join, object_of, of_kind, word, words};
use crate::loss::Fate;
use crate::tools::plan::ObjectPlan;
use crate::tools::profile::Objects;

impl Walk<'_> {
    /// An object that lists no members.
    pub(super) fn without_members(
        &mut self,
        map: &Map<String, Value>,
        further: &Further<'_>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        match (further, self.profile.objects) {
            (Further::Shut, Objects::Implied) => Ok(Some(self.empty_word(at))),
            (Further::Shut, objects) => Ok(Some(Node::of(empty(objects), Plan::Keep))),
            (Further::Any | Further::Unsaid, Objects::Said) => {
                Ok(Some(Node::of(of_kind("object"), Plan::Keep)))
            }
            (Further::Any | Further::Unsaid, Objects::Implied) if self.profile.bare_objects => {
                let none = Value::Object(Map::new());
                let bare = object_of([("type", word("object")), ("properties", none)]);
                Ok(Some(Node::of(bare, Plan::Keep)))
            }
            (Further::Any | Further::Unsaid, _) => Ok(Some(self.object_text(map, at))),
            (Further::Like(schema), Objects::Said) => self.open_object(schema, at, depth),
            (Further::Like(schema), _) => self.listed_members(schema, map, at, depth).map(Some),
        }
    }

    /// The empty object and nothing else, where objects cannot be closed.
    fn empty_word(&mut self, at: &str) -> Node {
        let note = "only the empty object fits, which is said as a word";
        self.lose(at.to_owned(), "additionalProperties", Fate::Changed, note);
        let words = vec![("{}".to_owned(), Value::Object(Map::new()))];
        Node::of(one_word("{}"), Plan::Words(words))
    }

    /// Any object, as JSON text.
    fn object_text(&mut self, map: &Map<String, Value>, at: &str) -> Node {
        let note = "an object of any members is said as JSON text";
        self.lose(at.to_owned(), "type", Fate::Changed, note);
        for keyword in map.keys().filter(|keyword| words::about(keyword) == Some("object")) {
            if !matches!(keyword.as_str(), "properties" | "required") {
                self.lose(join(at, keyword), keyword, Fate::Changed, note);
            }
        }
        let words = match words::like(&Value::Object(super::annotate::bare(map))) {
            Some(like) if map.len() > 3 => format!("JSON text of an object {like}"),
            _ => "a JSON object, as JSON text".to_owned(),
        };
        Node { words: vec![words], ..Node::of(of_kind("string"), Plan::Text) }
    }

    /// Members by any name where the dialect has a word for them.
    fn open_object(&mut self, schema: &Value, at: &str, depth: usize) -> Step<Option<Node>> {
        let place = join(at, "additionalProperties");
        let Some(node) = self.schema(schema, &place, depth + 1)? else {
            return Ok(Some(Node::of(empty(Objects::Said), Plan::Keep)));
        };
        let (schema, rest) = self.place(node, &place);
        let plan =
            Plan::Object(Box::new(ObjectPlan { members: Vec::new(), more: None, rest })).tidy();
        let open = object_of([("type", word("object")), ("additionalProperties", schema)]);
        Ok(Some(Node::of(open, plan)))
    }

    /// Members by any name where it has none.
    fn listed_members(
        &mut self,
        schema: &Value,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Node> {
        let note = "members by any name are said as a list of `key` and `value`";
        let keyword = match map.contains_key("patternProperties") {
            true => "patternProperties",
            false => "additionalProperties",
        };
        self.lose(join(at, keyword), keyword, Fate::Changed, note);
        let Some((schema, plan)) = self.entries(Some(schema), map, at, depth)? else {
            // No value could ever stand in it, so the object is empty.
            return Ok(Node::of(empty(Objects::Closed), Plan::Keep));
        };
        let names = vec!["each `key` once".to_owned()];
        Ok(Node { words: names, ..Node::of(schema, Plan::Entries(Box::new(plan))) })
    }
}

/// An object without members.
fn empty(objects: Objects) -> Map<String, Value> {
    let mut schema =
        object_of([("type", word("object")), ("properties", Value::Object(Map::new()))]);
    if objects != Objects::Said {
        schema.insert("required".to_owned(), Value::Array(Vec::new()));
    }
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    schema
}
