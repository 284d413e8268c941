//! `H`: SHA-256, written `sha256:` and lower-case hex (P4).

use std::fmt;

use sha2::{Digest as _, block_api::compress256};

use crate::parsed::Parsed;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// The text is not `sha256:` and 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `sha256:` and 64 lower-case hex digits")]
pub struct ParseDigestError;

/// What SHA-256 begins with (FIPS 180-4, 5.3.3).
const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// Length of the length that ends the last block.
const LENGTH: usize = size_of::<u64>();

impl Digest {
    /// Length of the text form.
    pub const TEXT_LEN: usize = PREFIX.len() + 64;

    /// Digest of `bytes`. All of them are here, so that whole blocks are hashed where they lie and only the rest is
    /// padded: most texts are a few blocks long, and a buffer between would be felt.
    pub fn of(bytes: &[u8]) -> Self {
        let mut state = INITIAL;
        let (blocks, rest) = bytes.as_chunks::<64>();
        compress256(&mut state, blocks);
        let mut last = [[0; 64]; 2];
        let (end, count) = if rest.len() + 1 + LENGTH <= 64 {
            (64, 1)
        } else {
            (128, 2)
        };
        let padded = last.as_flattened_mut();
        padded[..rest.len()].copy_from_slice(rest);
        padded[rest.len()] = 0x80;
        let bits = 8 * bytes.len() as u64;
        padded[end - LENGTH..end].copy_from_slice(&bits.to_be_bytes());
        compress256(&mut state, &last[..count]);
        let mut digest = [0; 32];
        for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
            *bytes = word.to_be_bytes();
        }
        Self(digest)
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
            *pair = [hex_digit(byte >> 4), hex_digit(byte & 0xF)];
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

/// Without a table, all digits of a text are made at once.
#[inline(always)]
fn hex_digit(value: u8) -> u8 {
    value + if value < 10 { b'0' } else { b'a' - 10 }
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
    fn p4_padding_is_right_at_every_length() {
        let bytes: Vec<u8> = (0..=255).collect();
        for len in 0..bytes.len() {
            let mut pieces = DigestWriter::default();
            pieces.update(&bytes[..len]);
            assert_eq!(Digest::of(&bytes[..len]), pieces.finish(), "{len}");
        }
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
