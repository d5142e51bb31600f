//! What a program adds to what its MCP clients find: resources and prompts of its own.

use haft_core::content::{Content, Document};
use haft_core::port::{Boxed, Client};
use haft_core::{Caller, ToolError};
use serde_json::{Map, Value};

/// Something to read, or a template for the addresses of such things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// Its address; of a template, with `{names}` for what varies.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// What kind it is.
    pub mime_type: String,
}

/// Resources of a program's own.
pub trait Resources: Send + Sync {
    /// What this caller may read.
    fn list(&self, caller: &Caller) -> Vec<Resource>;

    /// Templates of what this caller may read.
    fn templates(&self, _caller: &Caller) -> Vec<Resource> {
        Vec::new()
    }

    /// Reads one; none where there is no such resource for this caller.
    fn read<'a>(&'a self, caller: &'a Caller, uri: &'a str) -> Boxed<'a, Option<Vec<Document>>>;
}

/// A prompt that a user can pick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What can be filled in.
    pub arguments: Vec<Argument>,
}

/// Something to be filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether it must be there.
    pub required: bool,
}

/// Who says a part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who says it.
    pub speaker: Speaker,
    /// What is said.
    pub content: Content,
}

impl Message {
    /// What the user says.
    #[must_use]
    pub fn user(content: Content) -> Self {
        Self { speaker: Speaker::User, content }
    }
}

/// Prompts of a program's own.
pub trait Prompts: Send + Sync {
    /// What this caller may use.
    fn list(&self, caller: &Caller) -> Vec<Prompt>;

    /// Fills one in; none where there is no such prompt for this caller. The client can be asked for
    /// what is missing.
    fn get<'a>(
        &'a self,
        caller: &'a Caller,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        client: &'a dyn Client,
    ) -> Boxed<'a, Option<Result<Vec<Message>, ToolError>>>;

    /// What an argument's beginning might become.
    fn complete(
        &self,
        _caller: &Caller,
        _prompt: &str,
        _argument: &str,
        _so_far: &str,
    ) -> Vec<String> {
        Vec::new()
    }
}
