//! A toolset: `toolset.toml` and the folders under `tools/`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};
use haft_core::names::Namespace;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::code;
use crate::contract_shape;
use crate::diagnostic::{At, Diagnostic, File, Findings, Texts};
use crate::folder::{self, Limit, normalise};
use crate::lint;
use crate::shape;
use haft_core::nearest;

/// The file that makes a folder a toolset.
pub const FILE: &str = "toolset.toml";
/// Where a toolset's tools are.
pub const TOOLS: &str = "tools";

/// A toolset, every question answered.
#[derive(Debug)]
pub struct Toolset {
    /// Where it is, canonical.
    pub root: PathBuf,
    /// Whose tools these are.
    pub namespace: Namespace,
    /// Contract fields for contracts that leave them out.
    pub defaults: Map<String, Value>,
    /// Prompt texts by name.
    pub prompts: BTreeMap<String, String>,
    /// Folders that are left out, as written.
    pub exclude: Vec<String>,
    excluded: GlobSet,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawToolset {
    namespace: toml::Spanned<String>,
    #[serde(default)]
    exclude: Vec<toml::Spanned<String>>,
    #[serde(default)]
    defaults: BTreeMap<toml::Spanned<String>, toml::Value>,
    #[serde(default)]
    prompts: BTreeMap<toml::Spanned<String>, toml::Spanned<String>>,
}

/// The prompts that a toolset can have.
const PROMPTS: &[&str] = &["core", "voice", "text"];

struct Source(String);

impl Texts for Source {
    fn text(&self, _: &File) -> Option<&str> {
        Some(&self.0)
    }
}

/// Why there is nothing to build.
#[derive(Debug)]
pub enum OpenError {
    /// There is no toolset at that place.
    NotFound(PathBuf),
    /// There is a file at that place.
    File(PathBuf),
    /// It could not be read.
    Io(PathBuf, io::Error),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotFound(path) => write!(
                f,
                "`{}` is not a toolset: it has no `{FILE}`; name a folder that has one, or make \
                 one with `haft new <tool>`",
                path.display()
            ),
            Self::File(path) => write!(
                f,
                "`{}` is a file, not a toolset: name a folder that has a `{FILE}`",
                path.display()
            ),
            Self::Io(path, error) => write!(f, "`{}` cannot be read: {error}", path.display()),
        }
    }
}

impl std::error::Error for OpenError {}

impl Toolset {
    /// Reads `toolset.toml`. What is wrong with it comes back as diagnostics; a toolset whose
    /// namespace cannot be read is none at all.
    pub fn open(path: &Path) -> Result<(Option<Self>, Vec<Diagnostic>), OpenError> {
        let root = fs::canonicalize(path).map_err(|_| OpenError::NotFound(path.to_owned()))?;
        if root.is_file() {
            return Err(OpenError::File(path.to_owned()));
        }
        let file = root.join(FILE);
        let listed = fs::symlink_metadata(&file);
        if listed.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Err(OpenError::NotFound(path.to_owned()));
        }
        let mut findings = Findings::default();
        let found = folder::find(&root, &file, FILE);
        let Some(text) = folder::read_text(&found, &file_of(), Limit::CONTRACT, &mut findings)
        else {
            return Ok((None, findings.locate("", &[], &Source(String::new()))));
        };
        lint::text::check(&file_of(), &text, &mut findings);
        let toolset = match toml::from_str::<RawToolset>(&text) {
            Ok(raw) => resolve(root, raw, &mut findings),
            Err(error) => {
                let at = error.span().map_or(whole(), |span| At::Bytes(file_of(), span));
                findings.add(&code::TOOLSET_FILE, at, error.message().to_owned());
                None
            }
        };
        Ok((toolset, findings.locate("", &[], &Source(text))))
    }

    /// The folders under `tools/`, sorted, without the excluded ones. Also says which patterns of
    /// `exclude` matched nothing.
    pub(crate) fn folders(&self) -> io::Result<(Vec<String>, Vec<String>)> {
        let mut names = Vec::new();
        let mut idle: Vec<bool> = vec![true; self.exclude.len()];
        let tools = self.root.join(TOOLS);
        if fs::canonicalize(&tools).is_ok_and(|target| !target.starts_with(&self.root)) {
            return Err(io::Error::other("`tools` is a link that leaves the toolset"));
        }
        let listing = match fs::read_dir(tools) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((names, Vec::new()));
            }
            Err(error) => return Err(error),
        };
        for entry in listing {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let matched = self.excluded.matches(&name);
            for index in &matched {
                if let Some(flag) = idle.get_mut(*index) {
                    *flag = false;
                }
            }
            if matched.is_empty() && !name.starts_with('.') && !entry.file_type()?.is_file() {
                names.push(name);
            }
        }
        names.sort();
        let idle = self.exclude.iter().zip(idle).filter(|(_, idle)| *idle);
        Ok((names, idle.map(|(pattern, _)| pattern.clone()).collect()))
    }
}

fn file_of() -> File {
    File::Named(FILE.to_owned())
}

fn whole() -> At {
    At::Whole(file_of())
}

fn resolve(root: PathBuf, raw: RawToolset, out: &mut Findings) -> Option<Toolset> {
    let span = raw.namespace.span();
    let namespace = match Namespace::parse(raw.namespace.get_ref()) {
        Ok(namespace) => Some(namespace),
        Err(why) => {
            out.add(&code::TOOLSET_FILE, At::Bytes(file_of(), span), why.to_string());
            None
        }
    };
    let defaults = defaults(raw.defaults, out);
    let prompts = prompts(&root, raw.prompts, out);
    let mut globs = GlobSetBuilder::new();
    let mut exclude = Vec::new();
    for pattern in raw.exclude {
        match Glob::new(pattern.get_ref()) {
            Ok(glob) => {
                globs.add(glob);
                exclude.push(pattern.into_inner());
            }
            Err(why) => {
                let at = At::Bytes(file_of(), pattern.span());
                out.add(&code::TOOLSET_FILE, at, format!("not a pattern: {}", why.kind()));
            }
        }
    }
    Some(Toolset {
        root,
        namespace: namespace?,
        defaults,
        prompts,
        exclude,
        excluded: globs.build().unwrap_or_default(),
    })
}

fn defaults(
    raw: BTreeMap<toml::Spanned<String>, toml::Value>,
    out: &mut Findings,
) -> Map<String, Value> {
    let mut defaults = Map::new();
    for (name, value) in raw {
        let at = At::Bytes(file_of(), name.span());
        let name = name.into_inner();
        let field = contract_shape::FIELDS.iter().find(|field| field.name == name);
        let Some(field) = field.filter(|_| contract_shape::DEFAULTABLE.contains(&name.as_str()))
        else {
            let message = format!("`{name}` cannot have a default");
            out.add(&code::TOOLSET_FILE, at, message)
                .help(nearest::suggest(&name, contract_shape::DEFAULTABLE));
            continue;
        };
        let value = serde_json::to_value(value).unwrap_or_default();
        let mut wrong = Findings::default();
        shape::check(&field.shape, &value, &file_of(), &format!("/{name}"), &mut wrong);
        for finding in wrong.list() {
            out.add(&code::TOOLSET_FILE, at.clone(), finding.message.clone()).help =
                finding.help.clone();
        }
        if wrong.list().is_empty() {
            defaults.insert(name, value);
        }
    }
    defaults
}

fn prompts(
    root: &Path,
    raw: BTreeMap<toml::Spanned<String>, toml::Spanned<String>>,
    out: &mut Findings,
) -> BTreeMap<String, String> {
    let mut prompts = BTreeMap::new();
    for (name, path) in raw {
        let at = At::Bytes(file_of(), path.span());
        if !PROMPTS.contains(&name.get_ref().as_str()) {
            let message = format!("`{}` is not a prompt that is composed", name.get_ref());
            out.add(&code::TOOLSET_FILE, At::Bytes(file_of(), name.span()), message)
                .help(nearest::suggest(name.get_ref(), PROMPTS));
            continue;
        }
        let inside = fs::canonicalize(root.join(path.get_ref()))
            .ok()
            .filter(|file| file.starts_with(root) && file.is_file());
        let text = inside.and_then(|file| {
            let small = fs::metadata(&file).is_ok_and(|metadata| metadata.len() <= 1 << 20);
            small.then(|| fs::read_to_string(file).ok()).flatten()
        });
        match text {
            Some(text) => {
                let text = normalise(text);
                if lint::text::is_unfit(&text) {
                    let message = format!("`{}` holds a secret or invisible text", path.get_ref());
                    out.add(&code::PROMPT_FILE, at, message).help("take it out");
                }
                prompts.insert(name.into_inner(), text);
            }
            None => {
                let message = format!("`{}` cannot be used as a prompt", path.get_ref());
                out.add(&code::PROMPT_FILE, at, message)
                    .help("it must be a UTF-8 text of at most 1 MiB inside of the toolset");
            }
        }
    }
    prompts
}
