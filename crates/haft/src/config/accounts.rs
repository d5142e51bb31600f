//! `[[connections.accounts]]`: connections that are declared. Their secrets stand elsewhere: this file is
//! kept in git.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use haft_core::connection::{Account, AuthKind, Credentials, Origin};
use haft_core::secret::SecretText;
use haft_runtime::connections::{LONGEST_SECRET, Proof, Wanted};
use haft_store::vault::Source;
use serde::{Deserialize, Deserializer, de};

/// As it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAccount {
    id: String,
    tenant: Option<String>,
    provider: String,
    kind: AuthKind,
    #[serde(default)]
    hosts: Vec<String>,
    secret_env: Option<String>,
    secret_file: Option<PathBuf>,
    #[serde(default, alias = "password", alias = "token", alias = "key", alias = "client_secret")]
    #[expect(dead_code, reason = "nothing can stand here: reading it says so")]
    secret: Option<Elsewhere>,
    name: Option<String>,
    user: Option<String>,
    token_url: Option<String>,
    client_id: Option<String>,
    #[serde(default)]
    secret_in: SecretIn,
    #[serde(default)]
    scopes: Vec<String>,
    audience: Option<String>,
}

/// A secret in the file itself, which is never read.
struct Elsewhere;

impl<'de> Deserialize<'de> for Elsewhere {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom(
            "a secret does not stand in this file; name the variable that holds it with `secret_env`, or its \
             file with `secret_file`",
        ))
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SecretIn {
    #[default]
    Header,
    Body,
    None,
}

/// Where a secret is read from.
#[derive(Clone, Debug)]
enum SecretPlace {
    Env(String),
    File(PathBuf),
    Nowhere,
}

impl SecretPlace {
    fn read(&self) -> Result<Option<SecretText>, String> {
        let whole = match self {
            Self::Nowhere => return Ok(None),
            Self::Env(name) => SecretText::new(
                std::env::var(name)
                    .map_err(|_| format!("the environment variable `{name}` is not set"))?,
            ),
            Self::File(path) => read(path)?,
        };
        // A line end belongs to the file, not to the secret.
        let text = whole.expose().trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err("its secret is empty".to_owned());
        }
        Ok(Some(SecretText::new(text)))
    }
}

fn read(path: &Path) -> Result<SecretText, String> {
    use std::io::Read as _;
    let unread = |why: std::io::Error| format!("its secret, `{}`: {why}", path.display());
    // Whoever opens a pipe waits for a writer.
    let about = std::fs::metadata(path).map_err(unread)?;
    if !about.is_file() {
        return Err(format!("its secret, `{}`: that is no file", path.display()));
    }
    let file = std::fs::File::open(path).map_err(unread)?;
    // Room for all of it, and to see its end: a text that grows leaves copies of itself behind.
    let most = LONGEST_SECRET as u64 + 2;
    let mut text = String::with_capacity(about.len().min(most) as usize + 64);
    let read = file.take(most).read_to_string(&mut text);
    let secret = SecretText::new(text);
    read.map_err(unread).map(|_| secret)
}

/// A declared connection.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    tenant: String,
    wanted: Wanted,
    secret: SecretPlace,
}

impl Declared {
    /// What may be known of it.
    pub(crate) fn account(&self) -> Account {
        self.wanted.account(&self.tenant, Origin::Operator)
    }

    /// Its credentials, as they are now.
    pub(crate) fn credentials(&self) -> Result<Credentials, String> {
        let secret = self.secret.read()?;
        self.wanted.credentials(secret).map_err(|wrong| wrong.to_string())
    }

    /// The account, and where its credentials come from.
    pub(crate) fn source(&self) -> (Account, Source) {
        let own = self.clone();
        (self.account(), Arc::new(move || own.credentials()))
    }

    /// The file with its secret, where others than its owner may read it.
    pub(crate) fn exposed(&self) -> Option<&Path> {
        match &self.secret {
            SecretPlace::File(path) if is_exposed(path) => Some(path),
            SecretPlace::File(_) | SecretPlace::Env(_) | SecretPlace::Nowhere => None,
        }
    }

    pub(crate) fn is(&self, tenant: &str, id: &str) -> bool {
        self.tenant == tenant && self.wanted.id == id
    }
}

/// Whether everybody on this machine may read a file.
fn is_exposed(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o004 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Checks what is declared. `home` is the tenant of those that name none.
pub(super) fn resolve(
    raw: Vec<RawAccount>,
    home: &str,
    folder: &Path,
    wrong: &mut Vec<anyhow::Error>,
) -> Vec<Declared> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for one in raw {
        let id = one.id.clone();
        match one.resolve(home, folder) {
            Ok(one) if !seen.insert((one.tenant.clone(), id.clone())) => {
                wrong.push(anyhow!("`connections.accounts`: `{id}` is there twice"));
            }
            Ok(one) => all.push(one),
            Err(faults) => wrong
                .extend(faults.iter().map(|why| anyhow!("`connections.accounts`, `{id}`: {why}"))),
        }
    }
    all
}

impl RawAccount {
    /// # Errors
    ///
    /// Everything that makes no sense.
    fn resolve(self, home: &str, folder: &Path) -> Result<Declared, Vec<String>> {
        let wanted = Wanted {
            id: self.id,
            provider: self.provider,
            kind: self.kind,
            hosts: self.hosts,
            name: self.name,
            user: self.user,
            token_url: self.token_url,
            client_id: self.client_id,
            proof: match self.secret_in {
                SecretIn::Header => Proof::Header,
                SecretIn::Body => Proof::Body,
                SecretIn::None => Proof::None,
            },
            scopes: self.scopes,
            audience: self.audience,
        };
        let faults = wanted.faults().into_iter();
        let mut wrong: Vec<String> =
            faults.map(|wrong| format!("`{}`: {}", wrong.part, wrong.why)).collect();
        if wanted.kind == AuthKind::AuthorizationCode {
            let why = "an account of a person takes their consent; add it with `haft connections add --kind \
                       authorization-code`";
            wrong.push(why.to_owned());
        }
        let secret = match (wanted.needs_secret(), self.secret_env, self.secret_file) {
            (true, Some(name), None) => Ok(SecretPlace::Env(name)),
            (true, None, Some(file)) => Ok(SecretPlace::File(folder.join(file))),
            (true, None, None) => Err("where is its secret? Name `secret_env` or `secret_file`"),
            (true, Some(_), Some(_)) => Err("name `secret_env` or `secret_file`, not both"),
            (false, None, None) => Ok(SecretPlace::Nowhere),
            (false, _, _) => Err("a client without a secret (`secret_in = \"none\"`) has none"),
        };
        let tenant = self.tenant.unwrap_or_else(|| home.to_owned());
        match secret {
            Ok(secret) if wrong.is_empty() => Ok(Declared { tenant, wanted, secret }),
            Ok(_) => Err(wrong),
            Err(why) => {
                wrong.push(why.to_owned());
                Err(wrong)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;

    /// What a file that declares one connection is told; nothing where `expected` is empty.
    #[track_caller]
    fn check(lines: &str, expected: &str) {
        let folder = std::env::temp_dir();
        let file = folder.join(format!("haft-accounts-{}.toml", std::process::id()));
        let text = format!("[[connections.accounts]]\nid = \"work\"\nprovider = \"p\"\n{lines}\n");
        std::fs::write(&file, text).unwrap();
        let read = Config::find(Some(&file), &folder);
        std::fs::remove_file(&file).unwrap();
        let said = read.err().map(|why| format!("{why:#}")).unwrap_or_default();
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }

    #[test]
    fn a_secret_stands_elsewhere() {
        check("kind = \"bearer\"\nsecret_env = \"TOKEN\"", "");
        check("kind = \"bearer\"\nsecret_file = \"/run/secrets/token\"", "");
        check("kind = \"bearer\"", "Name `secret_env` or `secret_file`");
        check("kind = \"bearer\"\nsecret_env = \"A\"\nsecret_file = \"b\"", "not both");
        for name in ["secret", "password", "token", "key", "client_secret"] {
            let line = format!("kind = \"bearer\"\n{name} = \"s3cret-secret\"");
            check(&line, "line 5: a secret does not stand in this file; name the variable");
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let env = "secret_env = \"TOKEN\"";
        check(&format!("kind = \"header\"\n{env}"), "`work`: `name`: this kind needs it");
        check(&format!("kind = \"bearer\"\nhosts = [\"*.x\"]\n{env}"), "`hosts`: `*.x` is not");
        let person =
            "kind = \"authorization-code\"\ntoken_url = \"https://a/\"\nclient_id = \"me\"";
        check(&format!("{person}\n{env}"), "takes their consent; add it with");
        let twice = "kind = \"bearer\"\nsecret_env = \"A\"\n[[connections.accounts]]\nid = \"work\"\n\
                     provider = \"p\"\nkind = \"bearer\"\nsecret_env = \"A\"";
        check(twice, "`work` is there twice");
    }
}
