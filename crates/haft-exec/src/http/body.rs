//! Reading a response that may be anything: endless, slow, or far larger than it says.

use std::io::{self, Write};

use flate2::write::GzDecoder;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap};

/// No more room is made than this before anything has come.
const BELIEVED: u64 = 64 << 10;

/// Why a body was not read to its end.
pub(super) enum Unread {
    /// It has more bytes than it may have.
    TooLong,
    /// It broke off, or is not what it says.
    Broken(String),
}

impl Unread {
    /// For the log.
    pub(super) fn why(self, most: u64) -> String {
        match self {
            Self::TooLong => format!("the response has more than {most} bytes"),
            Self::Broken(why) => why,
        }
    }
}

impl From<String> for Unread {
    fn from(why: String) -> Self {
        Self::Broken(why)
    }
}

/// Reads a body of at most so many bytes, counted after it was unpacked.
pub(super) async fn read(
    mut body: Incoming,
    headers: &HeaderMap,
    most: u64,
) -> Result<Vec<u8>, Unread> {
    let said = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if said.is_some_and(|length: u64| length > most) {
        return Err(Unread::TooLong);
    }
    let mut unpacked = match encoding(headers)?.as_str() {
        "" | "identity" => Unpack::Plain(Limited::new(most, said.unwrap_or_default())),
        "gzip" | "x-gzip" => Unpack::Gzip(Box::new(GzDecoder::new(Limited::new(most, 0)))),
        other => {
            let why = format!("the response is packed as `{other}`, which was not asked for");
            return Err(why.into());
        }
    };
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|why| format!("the response broke off: {why}"))?;
        if let Some(piece) = frame.data_ref() {
            unpacked.take(piece).map_err(packed)?;
        }
    }
    unpacked.end()
}

fn packed(why: io::Error) -> Unread {
    match why.kind() == io::ErrorKind::FileTooLarge {
        true => Unread::TooLong,
        false => Unread::Broken(format!("the response cannot be unpacked: {why}")),
    }
}

fn encoding(headers: &HeaderMap) -> Result<String, String> {
    let mut all = headers.get_all(CONTENT_ENCODING).iter();
    let first = all.next().map(|value| value.to_str().unwrap_or("?").trim().to_ascii_lowercase());
    match all.next() {
        Some(_) => Err("the response is packed more than once".to_owned()),
        None => Ok(first.unwrap_or_default()),
    }
}

enum Unpack {
    Plain(Limited),
    Gzip(Box<GzDecoder<Limited>>),
}

impl Unpack {
    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(to) => to.write_all(piece),
            Self::Gzip(to) => to.write_all(piece),
        }
    }

    fn end(self) -> Result<Vec<u8>, Unread> {
        match self {
            Self::Plain(to) => Ok(to.bytes),
            Self::Gzip(to) => to.finish().map(|to| to.bytes).map_err(packed),
        }
    }
}

/// Takes so many bytes and then no more.
struct Limited {
    bytes: Vec<u8>,
    most: u64,
}

impl Limited {
    /// With room for what was said to come, as far as that is believed: what need not grow is copied
    /// less often, and leaves nothing of itself behind.
    fn new(most: u64, said: u64) -> Self {
        let room = usize::try_from(said.min(most).min(BELIEVED)).unwrap_or_default();
        Self { bytes: Vec::with_capacity(room), most }
    }
}

impl Write for Limited {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if (self.bytes.len() + piece.len()) as u64 > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
