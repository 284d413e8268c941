//! `H`: SHA-256, written `sha256:` and lower-case hex (P4).

use std::fmt;

use sha2::Digest as _;

use crate::parsed::Parsed;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// The text is not `sha256:` and 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `sha256:` and 64 lower-case hex digits")]
pub struct ParseDigestError;

/// Both hex digits of every byte: texts of digests stand in every witness and binding.
const HEX: [[u8; 2]; 256] = {
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [hex_digit((byte >> 4) as u8), hex_digit((byte & 0xF) as u8)];
        byte += 1;
    }
    table
};

impl Digest {
    /// Length of the text form.
    pub const TEXT_LEN: usize = PREFIX.len() + 64;

    /// Digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The raw bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// From raw bytes.
    #[inline]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The text form, without allocation.
    pub fn text(&self) -> [u8; Self::TEXT_LEN] {
        let mut text = [0; Self::TEXT_LEN];
        let (prefix, hex) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX);
        for (pair, byte) in hex.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = HEX[usize::from(byte)];
        }
        text
    }

    /// Appends the text form to `out`.
    #[inline]
    pub fn write_text(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text());
    }
}

/// What the text form begins with.
const PREFIX: &[u8] = b"sha256:";

#[inline]
const fn hex_digit(value: u8) -> u8 {
    b"0123456789abcdef"[(value & 0xF) as usize]
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        // Upper case is refused: a digest has one text.
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text();
        // Never empty: the text is ASCII.
        f.pad(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Digest {
    type Err = ParseDigestError;
    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let hex = text
            .as_bytes()
            .strip_prefix(PREFIX)
            .ok_or(ParseDigestError)?;
        let (pairs, []) = hex.as_chunks::<2>() else {
            return Err(ParseDigestError);
        };
        if pairs.len() != 32 {
            return Err(ParseDigestError);
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let high = hex_value(*high).ok_or(ParseDigestError)?;
            let low = hex_value(*low).ok_or(ParseDigestError)?;
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_str(Parsed::new("a digest, `sha256:` and hex"))
    }
}

/// Hashes in pieces.
#[derive(Debug, Default, Clone)]
pub struct DigestWriter {
    hasher: sha2::Sha256,
}

impl DigestWriter {
    /// Adds bytes.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// The digest of all that was added.
    pub fn finish(self) -> Digest {
        Digest(self.hasher.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn p4_digest_is_sha256_in_lower_case_hex() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), ABC);
        assert_eq!(&digest.text()[..], ABC.as_bytes());
        assert_eq!(ABC.parse(), Ok(digest));
        let mut pieces = DigestWriter::default();
        pieces.update(b"a");
        pieces.update(b"bc");
        assert_eq!(pieces.finish(), digest);
    }

    #[test]
    fn p4_digest_text_is_strict() {
        let upper = ABC.to_uppercase();
        let bad = [
            "",
            "sha256:",
            &ABC[7..],
            &ABC[..70],
            &format!("{ABC}0"),
            &format!("{ABC}00"),
            &upper,
            &ABC.replace('b', "B"),
            &ABC.replace('b', "g"),
            &format!(" {ABC}"),
        ];
        for text in bad {
            assert_eq!(text.parse::<Digest>(), Err(ParseDigestError), "{text}");
        }
    }

    #[test]
    fn digest_serde() {
        let digest = Digest::of(b"abc");
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json, format!("\"{ABC}\""));
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
        let error = serde_json::from_str::<Digest>("\"sha256:AB\"").unwrap_err();
        assert!(
            error.to_string().contains("64 lower-case hex digits"),
            "{error}"
        );
    }
}
