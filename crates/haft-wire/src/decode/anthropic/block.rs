//! One content block, from its beginning to what the next request repeats of it.

use serde_json::value::RawValue;

use super::wire::{Begun, Delta};
use crate::decode::fields::Fields;
use crate::decode::notes::{Draft, Pen, Verdict};
use crate::decode::text::Pieces;
use crate::decode::{fault, json};
use crate::raw::RawJson;
use crate::said::{Broken, Fault};

pub(super) struct Block {
    pub(super) index: u64,
    pub(super) stopped: bool,
    kind: Kind,
    /// As it began.
    fields: Fields,
    /// Text, thinking, or the JSON of an input.
    body: Pieces,
    signature: Pieces,
    citations: Vec<RawJson>,
    /// Something came after it had stopped, or something that is none of its kind.
    contradicted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    /// A call that is for us.
    ToolUse,
    /// One that the provider runs itself.
    ServerTool,
    /// Repeated as it came: results of server tools, redacted thinking, what is to be invented.
    Other,
}

impl Block {
    pub(super) fn new(index: u64, block: &RawValue, pen: &mut Pen<'_>) -> Result<Self, Fault> {
        pen.notes.hold(block.get().len())?;
        let begun: Begun<'_> = json(block.get())?;
        let kind = match begun.kind.as_deref() {
            Some("text") => Kind::Text,
            Some("thinking") => Kind::Thinking,
            Some("tool_use") => Kind::ToolUse,
            Some("server_tool_use" | "mcp_tool_use") => Kind::ServerTool,
            Some(_) | None => Kind::Other,
        };
        let mut new = Self { kind, ..Self::empty(index) };
        new.fields = json(block.get())?;
        match kind {
            Kind::Text => {
                let text = begun.text.unwrap_or_default();
                pen.text(0, &text.0)?;
                new.body.push(&text.0);
            }
            Kind::Thinking => {
                let thinking = begun.thinking.unwrap_or_default();
                pen.reasoning(&thinking.0)?;
                new.body.push(&thinking.0);
                new.signature.push(&begun.signature.unwrap_or_default().0);
            }
            Kind::ToolUse | Kind::ServerTool | Kind::Other => {}
        }
        Ok(new)
    }

    /// A message's content may be one string.
    pub(super) fn of_text(text: &[u8]) -> Self {
        let mut block = Self { kind: Kind::Text, stopped: true, ..Self::empty(0) };
        block.fields = Fields::read(r#"{"type":"text"}"#).unwrap_or_default();
        block.body.push(text);
        block
    }

    fn empty(index: u64) -> Self {
        Self {
            index,
            stopped: false,
            kind: Kind::Other,
            fields: Fields::default(),
            body: Pieces::default(),
            signature: Pieces::default(),
            citations: Vec::new(),
            contradicted: false,
        }
    }

    pub(super) fn is_call(&self) -> bool {
        self.kind == Kind::ToolUse
    }

    pub(super) fn is_server_tool(&self) -> bool {
        self.kind == Kind::ServerTool
    }

    pub(super) fn add(&mut self, delta: Delta<'_>, pen: &mut Pen<'_>) -> Result<(), Fault> {
        self.contradicted |= self.stopped;
        // A piece belongs to the block only where it is of its kind; words are shown in any case.
        if let Some(text) = delta.text {
            self.keep(&text.0, self.kind == Kind::Text, pen)?;
            pen.text(0, &text.0)?;
        }
        if let Some(thinking) = delta.thinking {
            self.keep(&thinking.0, self.kind == Kind::Thinking, pen)?;
            pen.reasoning(&thinking.0)?;
        }
        if let Some(json) = delta.partial_json.filter(|json| !json.0.is_empty()) {
            if matches!(self.kind, Kind::Text | Kind::Thinking) {
                let message = "arguments came for a content block that is no call";
                return Err(fault("contradiction", message));
            }
            self.keep(&json.0, true, pen)?;
        }
        if let Some(signature) = delta.signature {
            pen.notes.hold(signature.0.len())?;
            self.signature.push(&signature.0);
        }
        if let Some(citation) = delta.citation {
            pen.notes.part()?;
            pen.notes.hold(citation.get().len())?;
            self.citations.extend(RawJson::new(citation.get().to_owned()));
        }
        Ok(())
    }

    fn keep(&mut self, piece: &[u8], fits: bool, pen: &mut Pen<'_>) -> Result<(), Fault> {
        self.contradicted |= !fits && !piece.is_empty();
        if fits {
            pen.notes.hold(piece.len())?;
            self.body.push(piece);
        }
        Ok(())
    }

    /// Says the call, if it is one, and returns the block as the next request repeats it.
    pub(super) fn settle(self, verdict: Verdict, pen: &mut Pen<'_>) -> Option<RawJson> {
        match self.kind {
            Kind::Text => self.text(),
            Kind::Thinking => self.thinking(),
            Kind::ToolUse => self.call(verdict, pen),
            Kind::ServerTool => {
                let Self { mut fields, body, .. } = self;
                fields.set("input", RawJson::new(body.into_text()).ok());
                fields.raw()
            }
            Kind::Other => self.fields.raw(),
        }
    }

    fn text(mut self) -> Option<RawJson> {
        if self.body.is_empty() {
            return None;
        }
        self.fields.set("text", RawJson::of(&self.body.into_text()));
        if !self.citations.is_empty() {
            self.fields.set("citations", RawJson::of(&self.citations));
        }
        self.fields.raw()
    }

    /// Only what is signed can be sent back.
    fn thinking(mut self) -> Option<RawJson> {
        if self.signature.is_empty() {
            return None;
        }
        self.fields.set("thinking", RawJson::of(&self.body.into_text()));
        self.fields.set("signature", RawJson::of(&self.signature.into_text()));
        self.fields.raw()
    }

    fn call(self, verdict: Verdict, pen: &mut Pen<'_>) -> Option<RawJson> {
        let Self { mut fields, body, stopped, contradicted, .. } = self;
        // What the block began with counts only where nothing was added to it.
        let begun = fields.get("input").map_or("", RawValue::get);
        let begun = if begun == "null" { "" } else { begun };
        let arguments = if body.is_empty() { begun.to_owned() } else { body.into_text() };
        let draft = Draft {
            id: fields.text("id"),
            name: fields.text("name").unwrap_or_default(),
            arguments,
            flaw: match (stopped, contradicted) {
                (_, true) => Some(Broken::Contradiction),
                (false, false) => Some(Broken::Cut),
                (true, false) => None,
            },
            ..Draft::default()
        };
        let repeat = pen.judge(draft, verdict)?;
        fields.set("id", RawJson::of(&repeat.id));
        fields.set("input", RawJson::new(repeat.arguments).ok());
        fields.raw()
    }
}
