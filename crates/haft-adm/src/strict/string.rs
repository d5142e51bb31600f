//! Strings and their escapes.

use super::Problem;
use super::cursor::Cursor;
use crate::path::Path;
use crate::report::Reported;

/// Reads a string; its opening quote is next.
#[inline]
pub(super) fn read(cursor: &mut Cursor<'_, '_>, path: &Path<'_>) -> Result<String, Reported> {
    cursor.advance(1);
    // Most strings have no escapes, and take exactly the room that they need.
    let plain = cursor.eat_plain();
    match cursor.eat(b'"') {
        true => Ok(plain.to_owned()),
        false => read_on(cursor, path, plain.to_owned()),
    }
}

/// Reads the rest of a string, from what is not plain in it on. (Apart from the others, which would set up for this, too.)
#[cold]
fn read_on(
    cursor: &mut Cursor<'_, '_>,
    path: &Path<'_>,
    mut string: String,
) -> Result<String, Reported> {
    loop {
        string.push_str(cursor.eat_plain());
        match cursor.peek() {
            Some(b'"') => {
                cursor.advance(1);
                return Ok(string);
            }
            Some(b'\\') => string.push(escape(cursor, path)?),
            Some(control) => {
                let problem = Problem::ControlCharacter { code: u32::from(control) };
                return Err(cursor.problem(path, cursor.at(), problem));
            }
            None => return Err(cursor.unexpected(path, "a closing quote")),
        }
    }
}

fn escape(cursor: &mut Cursor<'_, '_>, path: &Path<'_>) -> Result<char, Reported> {
    let start = cursor.at();
    cursor.advance(1);
    let character = match cursor.peek() {
        Some(same @ (b'"' | b'\\' | b'/')) => char::from(same),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(cursor, path, start),
        Some(_) | None => {
            return Err(cursor.unexpected(path, "one of `\"\\/bfnrtu` after a backslash"));
        }
    };
    cursor.advance(1);
    Ok(character)
}

/// Reads `uXXXX`, and the second half of a surrogate pair if the first was one.
fn unicode(cursor: &mut Cursor<'_, '_>, path: &Path<'_>, start: usize) -> Result<char, Reported> {
    let first = four_digits(cursor, path)?;
    let mut code = first;
    if (0xd800..0xdc00).contains(&first) && cursor.starts_with("\\u") {
        cursor.advance(1);
        let second = four_digits(cursor, path)?;
        if (0xdc00..0xe000).contains(&second) {
            code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        }
    }
    // A lone surrogate is exactly what `char` cannot hold.
    char::from_u32(code).ok_or_else(|| cursor.problem(path, start, Problem::LoneSurrogate))
}

fn four_digits(cursor: &mut Cursor<'_, '_>, path: &Path<'_>) -> Result<u32, Reported> {
    cursor.advance(1);
    let mut code = 0;
    for _ in 0..4 {
        let digit = cursor.peek().and_then(|byte| char::from(byte).to_digit(16));
        let Some(digit) = digit else {
            return Err(cursor.unexpected(path, "four hexadecimal digits"));
        };
        code = code * 16 + digit;
        cursor.advance(1);
    }
    Ok(code)
}
