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
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => {
            // The last chunk is always the same twelve bytes: a file without it was cut off.
            let whole = bytes.ends_with(b"\0\0\0\0IEND\xaeB`\x82");
            let number = |at: usize| {
                let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
                Some(u32::from_be_bytes(four)).filter(|n| *n > 0 && *n < 1 << 20)
            };
            let size = number(16).zip(number(20))?;
            if whole { made("image/png", "png", Some(size)) } else { None }
        }
        [0xff, 0xd8, 0xff, .., 0xff, 0xd9] => made("image/jpeg", "jpg", None),
        [b'R', b'I', b'F', b'F', a, b, c, d, b'W', b'E', b'B', b'P', ..] => {
            let said = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            if bytes.len() >= said { made("image/webp", "webp", None) } else { None }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_its_bytes_and_must_be_whole() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x08\x08\x02\0\0\0".to_vec();
        png.extend(b"\0\0\0\0\0\0\0\0IEND\xaeB`\x82");
        assert_eq!(of(&png).unwrap().size, Some((16, 8)));
        assert_eq!(of(&png[..png.len() - 1]), None);
        assert_eq!(of(b"\xff\xd8\xff\xe0 jpeg \xff\xd9").unwrap().media_type, "image/jpeg");
        assert_eq!(of(b"RIFF\x04\0\0\0WEBP").unwrap().ending, "webp");
        for wrong in [&b""[..], b"<html>", b"\x89PNG", b"GIF89a", b"\xff\xd8\xff\xe0"] {
            assert_eq!(of(wrong), None);
        }
    }
}
