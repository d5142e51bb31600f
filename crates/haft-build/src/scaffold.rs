//! A new tool's folder: complete, clean, and meant to be filled in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::contract::Category;
use haft_core::names;
use serde_json::Value;

use crate::toolset::{FILE, TOOLS};

/// Providers take 64 characters for namespace and id together.
const MAX_NAME: usize = 48;

/// What `haft new` made.
#[derive(Debug, PartialEq, Eq)]
pub struct Created {
    /// The tool's folder.
    pub folder: PathBuf,
    /// The files in it.
    pub files: Vec<String>,
    /// Whether `toolset.toml` was made too.
    pub toolset: bool,
}

/// Why a tool was not made.
#[derive(Debug)]
pub enum CreateError {
    /// No tool can have that name.
    Name(String),
    /// The name leaves no room for a namespace.
    TooLong(usize),
    /// There is something at that place.
    Exists(PathBuf),
    /// The tool to copy is a Rust function, which has its name for good.
    Native(String),
    /// The disk said no.
    Io(PathBuf, io::Error),
}

impl std::fmt::Display for CreateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => write!(
                f,
                "`{name}` cannot be the name of a tool; use ASCII letters, digits and single `-`, \
                 starting with a letter: `kb-search`"
            ),
            Self::TooLong(length) => {
                write!(
                    f,
                    "the name has {length} characters; at most {MAX_NAME} leave room for a namespace"
                )
            }
            Self::Exists(path) => {
                write!(f, "`{}` is there already; choose another name", path.display())
            }
            Self::Native(id) => write!(
                f,
                "`{id}` is run by a Rust function of that name; copy it as `{}`, or start from a tool \
                 that has a `handler.js`",
                id.replace('_', "-")
            ),
            Self::Io(path, error) => write!(f, "`{}` cannot be written: {error}", path.display()),
        }
    }
}

impl std::error::Error for CreateError {}

/// Makes the folder of a tool in the toolset at `root`, and the toolset itself where there is none.
pub fn create(root: &Path, name: &str, category: Category) -> Result<Created, CreateError> {
    let (id, folder) = place(root, name)?;
    let title = title(&name.replace('_', "-"));
    let files = template(category)
        .into_iter()
        .map(|(name, text)| (name, text.replace("{{id}}", &id).replace("{{title}}", &title)))
        .collect();
    written(root, folder, files)
}

/// The same with the files of another tool, whose id becomes the new one's.
pub fn copy(root: &Path, name: &str, files: &[(&str, &str)]) -> Result<Created, CreateError> {
    let (id, folder) = place(root, name)?;
    let contract =
        files.iter().find(|(name, _)| *name == "schema.json").map_or("{}", |(_, text)| *text);
    let contract: Value = serde_json::from_str(contract).unwrap_or_default();
    let before = contract.get("toolId").and_then(Value::as_str).unwrap_or_default();
    if before != id && contract.pointer("/handler/kind").and_then(Value::as_str) == Some("native") {
        return Err(CreateError::Native(before.to_owned()));
    }
    // In the text, so that it keeps its layout; an id stands in it as a whole word.
    let renamed = |text: &str| text.replace(&format!("\"{before}\""), &format!("\"{id}\""));
    let files = files
        .iter()
        .map(|(name, text)| match *name {
            "schema.json" => (*name, renamed(text)),
            _ => (*name, (*text).to_owned()),
        })
        .collect();
    written(root, folder, files)
}

/// The id of a new tool and where it goes.
fn place(root: &Path, name: &str) -> Result<(String, PathBuf), CreateError> {
    let folder_name = name.replace('_', "-");
    let id = names::id_of_folder(&folder_name);
    if id.len() > MAX_NAME {
        return Err(CreateError::TooLong(id.len()));
    }
    if !names::is_tool_id(&id) {
        return Err(CreateError::Name(name.to_owned()));
    }
    let tools = root.join(TOOLS);
    let folder = tools.join(&folder_name);
    let taken = fs::read_dir(&tools).into_iter().flatten().flatten().any(|entry| {
        let other = names::id_of_folder(&entry.file_name().to_string_lossy());
        other.eq_ignore_ascii_case(&id)
    });
    match taken {
        true => Err(CreateError::Exists(folder)),
        false => Ok((id, folder)),
    }
}

fn written(
    root: &Path,
    folder: PathBuf,
    files: Vec<(&str, String)>,
) -> Result<Created, CreateError> {
    fs::create_dir_all(&folder).map_err(|error| CreateError::Io(folder.clone(), error))?;
    let file = root.join(FILE);
    let toolset = !file.exists();
    if toolset {
        write(&file, &toolset_file(root))?;
    }
    for (name, text) in &files {
        write(&folder.join(name), text)?;
    }
    let files = files.into_iter().map(|(name, _)| name.to_owned()).collect();
    Ok(Created { folder, files, toolset })
}

/// Whether a section of a document still says what `haft new` wrote there.
pub(crate) fn is_untouched(section: &str, body: &str) -> bool {
    let heading = format!("## {section}\n");
    let template = include_str!("scaffold/doc.md");
    let written = template.split_once(&heading).map(|(_, rest)| rest);
    let written = written.map(|rest| rest.split("\n## ").next().unwrap_or(rest).trim());
    // The example fits its contract, whoever wrote it.
    section != "Examples" && written == Some(body)
}

/// Whether a summary still says what `haft new` wrote.
pub(crate) fn is_untouched_summary(text: &str) -> bool {
    let template = include_str!("scaffold/doc_summary.md").trim();
    template.split_once("{{title}}").is_some_and(|(_, rest)| text.trim().ends_with(rest))
}

fn write(path: &Path, text: &str) -> Result<(), CreateError> {
    fs::write(path, text).map_err(|error| CreateError::Io(path.to_owned(), error))
}

/// The namespace is the folder's name where that can be one.
fn toolset_file(root: &Path) -> String {
    let named = fs::canonicalize(root).ok();
    let named = named.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    let namespace = named
        .map(|name| name.to_lowercase().replace(['-', ' ', '.'], "_"))
        .filter(|name| name.len() <= 14 && names::Namespace::parse(name).is_ok())
        .unwrap_or_else(|| "core".to_owned());
    include_str!("scaffold/toolset.toml").replace("{{namespace}}", &namespace)
}

fn title(folder: &str) -> String {
    let words = folder.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn template(category: Category) -> Vec<(&'static str, String)> {
    let (contract, handler, tests) = match category {
        Category::Retrieval => (
            include_str!("scaffold/retrieval.json"),
            include_str!("scaffold/retrieval.js"),
            include_str!("scaffold/retrieval.tests.json"),
        ),
        Category::Action => (
            include_str!("scaffold/action.json"),
            include_str!("scaffold/action.js"),
            include_str!("scaffold/action.tests.json"),
        ),
        Category::Utility => (
            include_str!("scaffold/utility.json"),
            include_str!("scaffold/utility.js"),
            include_str!("scaffold/utility.tests.json"),
        ),
    };
    let example = match category {
        Category::Retrieval => r#"{ "query": "opening hours", "limit": 3 }"#,
        Category::Action => r#"{ "message": "The report is ready." }"#,
        Category::Utility => r#"{ "text": "two words" }"#,
    };
    let response = match category {
        Category::Retrieval => {
            r#"{ "ok": true, "data": { "results": [{ "id": "doc:hours", "title": "Opening hours", "score": 0.9 }] } }"#
        }
        Category::Action => r#"{ "ok": true, "data": { "sent": true } }"#,
        Category::Utility => r#"{ "ok": true, "data": { "words": 2 } }"#,
    };
    let doc = include_str!("scaffold/doc.md")
        .replace("{{example}}", example)
        .replace("{{response}}", response);
    vec![
        ("schema.json", contract.to_owned()),
        ("doc_summary.md", include_str!("scaffold/doc_summary.md").to_owned()),
        ("doc.md", doc),
        ("handler.js", handler.to_owned()),
        ("tests.json", tests.to_owned()),
    ]
}
