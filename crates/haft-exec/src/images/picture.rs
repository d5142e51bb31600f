//! What kind of image some bytes are, by what they begin and end with.

/// An image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) media_type: &'static str,
    pub(super) ending: &'static str,
    pub(super) size: Option<(u32, u32)>,
}

pub(super) fn of(bytes: &[u8]) -> Option<Picture> {
    let made = |media_type, ending, size| Some(Picture { media_type, ending, size });
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, chunks @ ..] => {
            made("image/png", "png", Some(png(chunks)?))
        }
        [0xff, 0xd8, 0xff, .., 0xff, 0xd9] => made("image/jpeg", "jpg", None),
        [b'R', b'I', b'F', b'F', a, b, c, d, b'W', b'E', b'B', b'P', ..] => {
            // It is said without the first eight bytes.
            let said = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            let whole = bytes.len() >= said.saturating_add(8);
            if whole { made("image/webp", "webp", None) } else { None }
        }
        _ => None,
    }
}

/// The size of a PNG whose chunks are whole, from the head to the end, with nothing between or after.
fn png(mut rest: &[u8]) -> Option<(u32, u32)> {
    let mut size = None;
    loop {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (body, after) = after.split_at_checked(length.checked_add(4)?)?;
        let (sum, after) = after.split_first_chunk::<4>()?;
        let mut found = flate2::Crc::new();
        found.update(body);
        if found.sum() != u32::from_be_bytes(*sum) {
            return None;
        }
        match (body.split_first_chunk::<4>()?, size) {
            ((b"IHDR", head), None) => size = Some(measures(head)?),
            ((b"IEND", []), Some(size)) if after.is_empty() => return Some(size),
            ((b"IHDR" | b"IEND", _), _) | (_, None) => return None,
            (_, Some(_)) => {}
        }
        rest = after;
    }
}

/// Width and height, from the head.
fn measures(head: &[u8]) -> Option<(u32, u32)> {
    let (width, rest) = head.split_first_chunk::<4>()?;
    let (height, _) = rest.split_first_chunk::<4>()?;
    let real = |bytes: &[u8; 4]| {
        Some(u32::from_be_bytes(*bytes)).filter(|pixels| (1..1 << 20).contains(pixels))
    };
    real(width).zip(real(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let mut crc = flate2::Crc::new();
        crc.update(kind);
        crc.update(data);
        let length = u32::try_from(data.len()).unwrap();
        [&length.to_be_bytes()[..], kind, data, &crc.sum().to_be_bytes()].concat()
    }

    fn drawn(parts: &[&[u8]]) -> Vec<u8> {
        [&[&b"\x89PNG\r\n\x1a\n"[..]], parts].concat().concat()
    }

    #[test]
    fn an_image_is_known_by_its_bytes_and_must_be_whole() {
        let head = chunk(b"IHDR", b"\0\0\0\x10\0\0\0\x08\x08\x02\0\0\0");
        let (body, end) = (chunk(b"IDAT", b"pixels"), chunk(b"IEND", b""));
        let png = drawn(&[&head, &body, &end]);
        assert_eq!(of(&png).unwrap().size, Some((16, 8)));
        let mut touched = png.clone();
        touched[45] ^= 1;
        for wrong in [
            &png[..png.len() - 1],
            &touched,
            &drawn(&[&head, b"junk between", &end]),
            &drawn(&[&head, &body, &end, b"after"]),
            &drawn(&[&head, &body]),
            &drawn(&[&body, &end]),
            &drawn(&[&head, &head, &end]),
        ] {
            assert_eq!(of(wrong), None);
        }
        assert_eq!(of(b"\xff\xd8\xff\xe0 jpeg \xff\xd9").unwrap().media_type, "image/jpeg");
        assert_eq!(of(b"RIFF\x04\0\0\0WEBP").unwrap().ending, "webp");
        assert_eq!(of(b"RIFF\x0c\0\0\0WEBPcut"), None);
        for wrong in [&b""[..], b"<html>", b"\x89PNG", b"GIF89a", b"\xff\xd8\xff\xe0"] {
            assert_eq!(of(wrong), None);
        }
    }
}
