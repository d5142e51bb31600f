//! One mistake hides no other: each of them with each.

use std::path::{Path, PathBuf};

use super::found;
use crate::output::Output;
use crate::source::Place;

/// A mistake: what is written under which section, on one line after its header or in a table of its own,
/// and what is said of it there.
struct Mistake {
    section: &'static str,
    line: &'static str,
    said: &'static str,
}

const fn mistake(section: &'static str, line: &'static str, said: &'static str) -> Mistake {
    Mistake { section, line, said }
}

const EMBEDDINGS: &str = "url = \"nowhere\"\nmodel = \"m\"\nkey_env = \"HAFT_NOT_SET\"";

/// Of every kind: no such word, no such number, no sense, no such file, no such name.
const MISTAKES: &[Mistake] = &[
    mistake("registry", "version = 3", "`version` must be a text"),
    mistake("store", "path = \"haft.toml/haft.db\"", "is no folder"),
    mistake("store", "keep_days = 99999999999999999999", "`keep_days` is more than can be counted"),
    mistake("runtime", "max_batch = \"ten\"", "`max_batch` must be a whole number"),
    mistake("runtime", "undo_attempts = 0", "`runtime.undo_attempts` must be at least 1"),
    mistake("policy", "cedar = [\"nowhere.cedar\"]", "`nowhere.cedar` cannot be read"),
    mistake("policy", "deny = [\"shop__nothing\"]", "shop__nothing"),
    mistake("policy", "aprove = []", "unknown key `aprove`"),
    mistake("policy.modes.turbo", "retries = 1", "`turbo`"),
    mistake("policy.modes.text", "max_runtime_ms = 0", "nothing runs in 0 ms"),
    mistake("server", "max_requests = 0", "`server.max_requests` must be at least 1"),
    mistake("server", "hosts = [\"*.a.example\", \"b.example/\"]", "`*.a.example` must be a name"),
    mistake("server", "hosts = [\"*.a.example\", \"b.example/\"]", "`b.example/` must be a name"),
    mistake("server", "listen = \"here\"", "`listen` must be an address"),
    mistake("server", "log = [\n  \"json\",\n]", "`log` must be a word"),
    mistake("mcp", "public_url = \"here\"", "`mcp.public_url`"),
    mistake("otlp", "endpoint = \"collector:4317\"", "`otlp.endpoint`"),
    mistake("otlp", "sample = 3.5", "`otlp.sample`"),
    mistake("otlp", "headers = { \"a b\" = \"HAFT_NOT_SET\" }", "`a b` is no header"),
    mistake("kb", "sources = [\"nowhere.md\"]", "nowhere.md` cannot be read"),
    mistake("kb.embeddings", EMBEDDINGS, "`nowhere` is no http or https address"),
    mistake("kb.embeddings", EMBEDDINGS, "`kb.embeddings.key_env`"),
    mistake("http", "allow = [\"ten\"]", "`http.allow`"),
    mistake("http", "roots = [\"nowhere.pem\"]", "nowhere.pem` cannot be read"),
    mistake("images", "url = \"images\"", "`images.url`"),
    mistake("calendar", "zone = \"Europe/Bukarest\"", "`calendar.zone`"),
    mistake("calendar", "days = [\"monday\"]", "`calendar.days`"),
    mistake("calendar", "draft_minutes = 0", "`calendar.draft_minutes`"),
    mistake("calendar", "organizer = \"nobody\"", "`calendar.organizer`"),
    mistake("definitions", "max_runtime_ms = 0", "`definitions.max_runtime_ms`"),
    mistake("model", "provider = \"openai\"\nname = \"m\"\nurl = \"no address\"", "`model.url`"),
    mistake("models.default", "provider = \"gpt\"", "`models.default.provider`: `gpt` is not a"),
    mistake("policy.user", "isAuthenticated = \"string\"", "user.isAuthenticated: it is a boolean"),
    mistake("model", "max_rounds = 0", "`model.max_rounds` must be at least 1"),
    mistake("model", "max_calls = \"many\"", "`max_calls` must be a whole number"),
    mistake(
        "[keys]",
        "id = \"a\"\nsha256 = \"12\"\ntenant = \"default\"\nprincipal = \"user:eve\"\nroles = []",
        "needs `sha256`",
    ),
    mistake(
        "[keys]",
        "id = \"b\"\nsha256 = \"12\"\ntenant = \"default\"\nprincipal = \"user:eve\"\nroles = [\"operatr\"]",
        "`operatr`",
    ),
    mistake(
        "[issuers]",
        "issuer = \"i\"\naudience = []\ntenant = \"default\"\njwks_file = \"k\"",
        "`audience` is needed",
    ),
    mistake(
        "[issuers]",
        "issuer = \"j\"\naudience = [\"a\"]\nleeway_s = 301\ntenant = \"default\"\njwks_file = \"k\"",
        "`leeway_s` is at most 300",
    ),
    mistake(
        "[agents]",
        "id = \"x\"\ntenant = \"default\"\ntools = [\"shop__nobody\"]",
        "shop__nobody",
    ),
    mistake("[agents]", "id = \"y\"\ntenant = \"default\"\ntolls = []", "unknown key `tolls`"),
    mistake(
        "[connections.accounts]",
        "id = \"c\"\nprovider = \"p\"\nkind = \"bearer\"",
        "where is its secret?",
    ),
    mistake(
        "[connections.accounts]",
        "id = \"d\"\nprovider = \"\"\nkind = \"header\"\nsecret_env = \"D\"",
        "`provider`: it is empty",
    ),
    mistake(
        "[policies]",
        "id = \"p\"\ncedar = [\"theirs.cedar\"]",
        "`theirs.cedar` cannot be read",
    ),
    mistake("[calendar.people]", "email = \"nobody\"", "this is no e-mail address"),
    mistake("[calendar.people]", "email = \"a@b\"\nzone = \"Mars\"", "`zone`"),
];

/// The file with these mistakes: each section once, and each element of a list for itself.
fn file(mistakes: &[&Mistake]) -> String {
    let mut sections: Vec<(&str, Vec<&str>)> = vec![("policy", vec!["allow = [\"shop__*\"]"])];
    for one in mistakes {
        let same = |(name, _): &&mut (&str, Vec<&str>)| *name == one.section;
        match sections.iter_mut().find(same).filter(|(name, _)| !name.starts_with('[')) {
            Some((_, lines)) if lines.contains(&one.line) => {}
            Some((_, lines)) => lines.push(one.line),
            None => sections.push((one.section, vec![one.line])),
        }
    }
    let section = |(name, lines): (&str, Vec<&str>)| format!("[{name}]\n{}\n", lines.join("\n"));
    let sections: String = sections.into_iter().map(section).collect();
    format!("toolset = \".\"\n[[tenants]]\nid = \"default\"\n{sections}")
}

/// A toolset with one tool.
fn project() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("haft-pairs-{}", std::process::id()));
    let tool = folder.join("tools/get-current-time");
    std::fs::create_dir_all(&tool).unwrap();
    std::fs::write(folder.join("toolset.toml"), "namespace = \"shop\"\n").unwrap();
    let one =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../toolsets/studio/tools/get-current-time");
    for entry in std::fs::read_dir(one).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), tool.join(entry.file_name())).unwrap();
    }
    folder
}

#[test]
fn no_mistake_hides_another() {
    let folder = project();
    let path = folder.join("haft.toml");
    let at = Place { toolset: Some(folder.clone()), config: Some(path.clone()) };
    let out = Output::new(clap::ColorChoice::Never);
    let mut hidden = Vec::new();
    let mut tell = |mistakes: &[&Mistake]| {
        std::fs::write(&path, file(mistakes)).unwrap();
        let found = found(&at, &path, &out).unwrap();
        for one in mistakes {
            let is_told = |it: &super::Finding| it.message.contains(one.said) && it.line.is_some();
            if !found.iter().any(is_told) {
                hidden.push((one.said, mistakes.iter().map(|one| one.line).collect::<Vec<_>>()));
            }
        }
    };
    for (at, one) in MISTAKES.iter().enumerate() {
        tell(&[one]);
        MISTAKES.iter().skip(at + 1).for_each(|other| tell(&[one, other]));
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(hidden, [], "what is not said, and what was written");
}
