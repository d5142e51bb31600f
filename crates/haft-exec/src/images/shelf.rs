//! Where images that came as bytes are kept, each under an id that follows from its content.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

use serde_json::{Value, json};

use super::Settings;
use super::picture::Picture;

/// How the names of files end, and what is in them.
const ENDINGS: [(&str, &str); 3] =
    [("png", "image/png"), ("jpg", "image/jpeg"), ("webp", "image/webp")];

/// The digits of an id.
const DIGITS: usize = 24;

/// An image on the shelf.
pub(super) struct Kept {
    id: String,
    media_type: &'static str,
    url: Option<String>,
}

impl Kept {
    fn new(settings: &Settings, id: &str, ending: &str, media_type: &'static str) -> Self {
        let base = settings.public_url.as_deref();
        let url = base.map(|base| format!("{}/{id}.{ending}", base.trim_end_matches('/')));
        Self { id: id.to_owned(), media_type, url }
    }

    /// For handlers: no path of this machine.
    pub(super) fn shown(&self) -> Value {
        match &self.url {
            Some(url) => json!({ "id": self.id, "url": url, "mediaType": self.media_type }),
            None => json!({ "id": self.id, "mediaType": self.media_type }),
        }
    }
}

pub(super) fn keep(settings: &Settings, bytes: &[u8], picture: &Picture) -> io::Result<Kept> {
    let digest = haft_core::Digest::of_bytes(bytes);
    let id = format!("img_{}", digest.hex().get(..DIGITS).unwrap_or_default());
    // What the operator serves, another program has to read.
    let (folder, file) = match settings.public_url {
        Some(_) => (0o755, 0o644),
        None => (0o700, 0o600),
    };
    DirBuilder::new().recursive(true).mode(folder).create(&settings.folder)?;
    let path = settings.folder.join(format!("{id}.{}", picture.ending));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(file);
    options.open(path)?.write_all(bytes)?;
    Ok(Kept::new(settings, &id, picture.ending, picture.media_type))
}

/// The image of an id, if there is one. What is no id is no name of a file either.
pub(super) fn find(settings: &Settings, id: &str) -> Option<Kept> {
    let digits = id.strip_prefix("img_")?;
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != DIGITS || !digits.bytes().all(hex) {
        return None;
    }
    let (ending, media_type) = ENDINGS.into_iter().find(|(ending, _)| {
        fs::metadata(settings.folder.join(format!("{id}.{ending}")))
            .is_ok_and(|file| file.is_file())
    })?;
    Some(Kept::new(settings, id, ending, media_type))
}
