//! Whoever made a call and hears how far it is, over a connection on which nothing can be asked.

use haft_core::port::{Asked, Boxed, Can, Client, Log, Note, Progress};
use haft_core::{ErrorKind, ToolError};
use serde_json::{Map, Value, json};

/// A client that is told. What it is told with must not block.
pub(crate) struct Notes<F> {
    /// The call's id, as its client knows it.
    id: String,
    tell: F,
}

impl<F: Fn(&'static str, Value) + Send + Sync> Notes<F> {
    pub(crate) fn new(id: &str, tell: F) -> Self {
        Self { id: id.to_owned(), tell }
    }
}

impl<F: Fn(&'static str, Value) + Send + Sync> Client for Notes<F> {
    fn can(&self) -> Can {
        Can::default()
    }

    fn tell<'a>(&'a self, note: Note) -> Boxed<'a, ()> {
        let id = &self.id;
        match note {
            Note::Progress(Progress { progress, total, message }) => {
                let said = json!({
                    "id": id, "progress": progress, "total": total, "message": message,
                });
                (self.tell)("progress", said);
            }
            Note::Log(Log { level, data, logger }) => {
                let said = json!({ "id": id, "level": level, "logger": logger, "data": data });
                (self.tell)("log", said);
            }
        }
        Box::pin(std::future::ready(()))
    }

    fn ask<'a>(&'a self, _: Vec<Asked>) -> Boxed<'a, Result<Map<String, Value>, ToolError>> {
        let message = "nobody can be asked: the call was not made by a client that answers";
        let error = ToolError::new(ErrorKind::Permanent, message)
            .suggest("ask the user yourself, and call again with what they said");
        Box::pin(std::future::ready(Err(error)))
    }
}
