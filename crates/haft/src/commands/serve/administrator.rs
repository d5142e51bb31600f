//! The first key: somebody must be able to come in.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use haft_core::Principal;
use haft_server::who::facts::Facts;
use haft_server::who::{Key, Role, hash_of, mint};

use crate::assembly::make;
use crate::config::Config;

/// Who administers this server.
pub(crate) struct Administrator {
    /// The name of the key.
    pub(crate) id: String,
    /// The key, where it was made here. The server itself keeps no more than its hash.
    pub(crate) made: Option<Key>,
    /// How a shell gets at the key's text.
    pub(crate) text: String,
}

/// The administrator that is declared; else one whose key is made at the first start and kept in a
/// file that only its owner can read, like a key of SSH.
pub(crate) fn of(config: &Config) -> anyhow::Result<Administrator> {
    let home = config.first_tenant();
    // One of another tenant administers that one, and sees nothing of this.
    let here = |key: &&Key| key.tenant == home && key.roles.contains(&Role::Administrator);
    if let Some(key) = config.server.keys.iter().find(here) {
        let text = "$HAFT_KEY".to_owned();
        return Ok(Administrator { id: key.id.clone(), made: None, text });
    }
    let database = config.database();
    let folder = database.parent().map(Path::to_path_buf).unwrap_or_default();
    let path = folder.join("admin.key");
    let text = kept(&folder, &path)?;
    let key = Key {
        id: "admin".to_owned(),
        sha256: hash_of(&text),
        tenant: home,
        principal: Principal::user("admin"),
        subject: None,
        roles: vec![Role::Administrator],
        agents: None,
        name: None,
        expires: None,
        user: Facts::default(),
    };
    let text = format!("$(cat {})", quoted(&shown(&path)));
    Ok(Administrator { id: key.id.clone(), made: Some(key), text })
}

fn kept(folder: &Path, path: &Path) -> anyhow::Result<String> {
    match std::fs::read_to_string(path) {
        Ok(text) if is_whole(text.trim()) => Ok(text.trim().to_owned()),
        Ok(_) => bail!(
            "`{}` does not hold a whole key; remove it, and a new one is made",
            path.display()
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut random = [0; 32];
            getrandom::fill(&mut random).map_err(|why| anyhow!("no random numbers: {why}"))?;
            let (text, _) = mint("admin", &random);
            make(folder)?;
            write_private(path, &text)
                .with_context(|| format!("`{}` cannot be written", path.display()))?;
            Ok(text)
        }
        Err(error) => Err(error).with_context(|| format!("`{}` cannot be read", path.display())),
    }
}

/// A key that was cut short would be easy to guess.
fn is_whole(text: &str) -> bool {
    let secret = text.strip_prefix("haft_admin_").unwrap_or_default();
    secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")
}

/// As short as it can be from here.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

/// A text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
