//! A secret, and the spellings under which it could come back.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use haft_core::digest::hex;
use haft_core::port::{Hidden, Owner};
use zeroize::Zeroizing;

/// A secret and the name that is shown instead of it. It cannot be printed, compared or written.
pub struct Secret {
    pub(super) label: String,
    pub(super) value: Zeroizing<String>,
    /// Whose it is, where it may be forgotten some day.
    pub(super) owner: Option<Owner>,
    used_ms: AtomicU64,
    hidden: Hidden,
}

/// Why something cannot be scrubbed as a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretRefused {
    /// Fewer than [`Secret::MIN_CHARACTERS`] characters.
    TooShort,
    /// The label is not made of letters, digits and `_.:-`, or is longer than 64 of them.
    Label,
}

impl std::fmt::Display for SecretRefused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooShort => {
                "the secret has fewer than 6 characters and would be found in ordinary text; use a \
                 longer one"
            }
            Self::Label => "a secret's label has 1 to 64 letters, digits or `_.:-`",
        })
    }
}

impl std::error::Error for SecretRefused {}

impl Secret {
    /// Shorter ones are refused: replacing every `abc` would spoil ordinary text, and the holes
    /// would tell what the secret is.
    pub const MIN_CHARACTERS: usize = 6;

    /// What has fewer, were every character of its kinds as likely as any other, can be found by
    /// trying: fewer than 14 digits, 10 letters of one case, or 8 of everything.
    const MIN_BITS: f64 = 45.0;

    /// A secret, and what to show instead: `[secret:<label>]`.
    ///
    /// # Errors
    ///
    /// If it is too short to be told from ordinary text, or the label has other characters than
    /// names have.
    pub fn new(label: &str, value: impl Into<String>) -> Result<Self, SecretRefused> {
        let value = Zeroizing::new(value.into());
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if label.is_empty() || label.len() > 64 || !label.bytes().all(plain) {
            return Err(SecretRefused::Label);
        }
        if value.chars().count() < Self::MIN_CHARACTERS {
            return Err(SecretRefused::TooShort);
        }
        let (used_ms, hidden) = (AtomicU64::new(0), Hidden::default());
        Ok(Self { label: label.to_owned(), value, owner: None, used_ms, hidden })
    }

    /// One that may be forgotten when it is not used any more; and what keeps it from that.
    pub(crate) fn of(
        owner: Owner,
        label: &str,
        value: impl Into<String>,
    ) -> Result<(Self, Hidden), SecretRefused> {
        let secret = Self { owner: Some(owner), ..Self::new(label, value)? };
        let hidden = secret.hidden.clone();
        Ok((secret, hidden))
    }

    /// What stands instead of it where people who run haft read: which one it was.
    pub(super) fn labelled(&self) -> String {
        format!("[secret:{}]", self.label)
    }

    /// What stands instead of it in what callers see. The id of a connection is for those who may
    /// use it, so nobody is told that.
    pub(super) fn neutral(&self) -> String {
        match &self.owner {
            Some(Owner::Connection { .. }) => "[secret]".to_owned(),
            Some(Owner::Model(_)) | None => self.labelled(),
        }
    }

    /// Whether it could be found by trying: then a text from which it was taken tells who tries
    /// that they were right.
    #[must_use]
    pub fn is_guessable(secret: &str) -> bool {
        type Kind = fn(&char) -> bool;
        let kinds: [(Kind, f64); 4] = [
            (char::is_ascii_digit, 10.0),
            (char::is_ascii_lowercase, 26.0),
            (char::is_ascii_uppercase, 26.0),
            (|letter| !letter.is_ascii_alphanumeric(), 33.0),
        ];
        let there = |kind: Kind| secret.chars().any(|letter| kind(&letter));
        let letters: f64 = kinds.iter().filter(|(kind, _)| there(*kind)).map(|(_, n)| n).sum();
        let different: HashSet<char> = secret.chars().take(1_000).collect();
        let length = secret.chars().take(1_000).map(|_| 1.0).sum::<f64>();
        length < 8.0 || different.len() < 5 || length * letters.log2() < Self::MIN_BITS
    }

    /// A copy, for a search that outlives the list that it was made of.
    pub(super) fn again(&self) -> Self {
        Self {
            label: self.label.clone(),
            value: self.value.clone(),
            owner: self.owner.clone(),
            used_ms: AtomicU64::new(self.used_ms()),
            hidden: self.hidden.clone(),
        }
    }

    /// Somebody uses it from now on.
    pub(crate) fn use_at(&self, now_ms: u64) -> Hidden {
        let hidden = self.hidden.clone();
        self.used_ms.fetch_max(now_ms, Ordering::Relaxed);
        hidden
    }

    pub(crate) fn used_ms(&self) -> u64 {
        self.used_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn is_leased(&self) -> bool {
        self.hidden.is_kept()
    }
}

/// One spelling of a secret, or how it begins.
pub(super) struct Pattern {
    pub(super) bytes: Zeroizing<Vec<u8>>,
    /// Characters before and after that hold some bits of the secret too, or the rest of it.
    pub(super) before: usize,
    pub(super) after: usize,
}

impl Pattern {
    fn plain(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: Zeroizing::new(bytes.into()), before: 0, after: 0 }
    }

    /// A spelling of all bytes, looked for by how it begins.
    fn begun(secret: &[u8], spell: impl Fn(&[u8]) -> String) -> Self {
        let (whole, begun) = (Zeroizing::new(spell(secret)), spell(begin(secret)));
        Self { after: whole.len().saturating_sub(begun.len()), ..Self::plain(begun) }
    }
}

/// Spellings that few write are looked for by so many of the secret's bytes: all of each would take as much
/// memory again many times over.
const BEGIN: usize = 16;

fn begin(secret: &[u8]) -> &[u8] {
    secret.get(..BEGIN).unwrap_or(secret)
}

/// The spellings in which case matters: the secret, its longer lines, base64 of it, also of what is spelt in
/// another way already, and its bytes one by one.
pub(super) fn exact(secret: &str) -> Vec<Pattern> {
    let mut patterns = vec![Pattern::plain(secret)];
    if secret.contains(['\n', '\r']) {
        let joined: String = secret.split(['\n', '\r']).collect();
        patterns.push(Pattern::plain(joined));
        // A part of a key is as good as lost too; its first and last lines are everyone's.
        let lines = secret.lines().map(str::trim).filter(|line| line.len() >= 16);
        patterns.extend(lines.filter(|line| !line.starts_with("-----")).map(Pattern::plain));
    }
    patterns.extend((0..3).flat_map(|shift| base64(secret.as_bytes(), shift, usize::MAX)));
    let digits = Zeroizing::new(hex(secret.as_bytes()).into_bytes());
    let upper = Zeroizing::new(digits.to_ascii_uppercase());
    let inner = Zeroizing::new(STANDARD_NO_PAD.encode(secret).into_bytes());
    let [little, big] = utf16(secret);
    for form in [digits, upper, inner, little, big] {
        patterns.extend((0..3).flat_map(|shift| base64(&form, shift, 2 * BEGIN)));
    }
    let listed = |between: &'static str| {
        let spell =
            move |bytes: &[u8]| bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(between);
        Pattern::begun(secret.as_bytes(), spell)
    };
    patterns.extend([listed(","), listed(", "), listed(" ")]);
    patterns
}

/// The spellings in which case does not matter: the secret itself, whoever writes it in capitals,
/// hexadecimal, with and without separators and in groups, and base32.
pub(super) fn folded(secret: &str) -> Vec<Pattern> {
    let bytes = secret.as_bytes();
    let pairs: Vec<String> = bytes.iter().map(|byte| hex(&[*byte])).collect();
    let joined = [":", " ", "-"].map(|between| Pattern::plain(pairs.join(between)));
    let [little, big] = utf16(secret);
    let inner = Zeroizing::new(STANDARD_NO_PAD.encode(secret).into_bytes());
    let listed = |mark: &'static str, between: &'static str| {
        let spell = move |bytes: &[u8]| {
            let spelt: Vec<String> = bytes.iter().map(|byte| format!("{mark}{byte:02x}")).collect();
            spelt.join(between)
        };
        Pattern::begun(bytes, spell)
    };
    let grouped = |(size, shift): (usize, usize)| Pattern::begun(bytes, grouped(size, shift));
    let rare = [
        Pattern::begun(&inner, hex),
        Pattern::begun(&little, hex),
        Pattern::begun(&big, hex),
        Pattern::begun(bytes, base32),
        listed("", ","),
        listed("0x", ","),
        listed("0x", ", "),
        listed("0x", " "),
    ];
    let whole = [Pattern::plain(secret), Pattern::plain(hex(bytes))];
    let groups = [2, 4].into_iter().flat_map(|size| (0..size).map(move |shift| (size, shift)));
    whole.into_iter().chain(joined).chain(rare).chain(groups.map(grouped)).collect()
}

/// How dumps write bytes in groups, where the first of them stands so far into one.
fn grouped(size: usize, shift: usize) -> impl Fn(&[u8]) -> String {
    move |bytes| {
        let mut text = String::with_capacity(bytes.len() * 3);
        for (at, byte) in bytes.iter().enumerate() {
            if at > 0 && (at + shift).is_multiple_of(size) {
                text.push(' ');
            }
            text.push_str(&hex(&[*byte]));
        }
        text
    }
}

/// The secret in units of two bytes, the lower one first and the higher one first.
fn utf16(secret: &str) -> [Zeroizing<Vec<u8>>; 2] {
    let little = secret.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big = secret.encode_utf16().flat_map(u16::to_be_bytes).collect();
    [Zeroizing::new(little), Zeroizing::new(big)]
}

/// How base64 writes a secret that begins `shift` bytes into a group of three, or its first bytes. What
/// stands around it is not known, so only the characters that the secret alone decides are looked for.
fn base64(secret: &[u8], shift: usize, first: usize) -> Vec<Pattern> {
    let mut padded = Zeroizing::new(vec![0; shift]);
    padded.extend_from_slice(secret);
    let begun = padded.get(..first.saturating_add(shift)).unwrap_or(&padded);
    let skipped = [0, 2, 3].get(shift).copied().unwrap_or(0);
    let cut = usize::from(!begun.len().is_multiple_of(3));
    let mut patterns = Vec::new();
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        let text = Zeroizing::new(engine.encode(begun));
        let core = text.get(skipped..text.len().saturating_sub(cut)).unwrap_or_default();
        let whole = (padded.len() * 4).div_ceil(3);
        let (before, after) = (usize::from(shift > 0), cut + whole.saturating_sub(text.len()));
        patterns.push(Pattern { bytes: Zeroizing::new(core.into()), before, after });
    }
    // Without `+` and `/` both alphabets write the same.
    if patterns.first().map(|p| &p.bytes) == patterns.get(1).map(|p| &p.bytes) {
        patterns.truncate(1);
    }
    patterns
}

/// How base32 writes a secret that begins a text, as far as it alone decides.
fn base32(secret: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bit = |at: usize| secret.get(at / 8).map(|byte| usize::from(byte >> (7 - at % 8) & 1));
    let letter = |group: usize| {
        let mut bits = (group * 5..group * 5 + 5).map(bit);
        let index = bits.try_fold(0, |index, bit| Some(index * 2 + bit?))?;
        LETTERS.get(index).map(|letter| char::from(*letter))
    };
    (0..).map_while(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn what_can_be_found_by_trying() {
        for (secret, expected) in [
            ("483920", true),
            ("4839201758376", true),
            ("48392017583760", false),
            ("password", true),
            ("aaaaaaaaaaaaaaaaaaaaaaaa", true),
            ("qwmxkzpvhd", false),
            ("aB3!xY7", true),
            ("aB3xY7kQ", false),
            ("hunter2hunter2", false),
            ("canary-number-003", false),
            ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", false),
        ] {
            assert_eq!(Secret::is_guessable(secret), expected, "{secret}");
        }
    }
}
