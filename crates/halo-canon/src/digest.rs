//! `H`: SHA-256, written `sha256:` and lower-case hex (P4).

use std::fmt;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// The text is not `sha256:` and 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `sha256:` and 64 lower-case hex digits")]
pub struct ParseDigestError;

impl Digest {
    /// Length of the text form.
    pub const TEXT_LEN: usize = 71;
    /// Digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let _ = bytes;
        todo!()
    }
    /// The raw bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
    /// From raw bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
    /// The text form, without allocation.
    pub fn text(&self) -> [u8; Self::TEXT_LEN] {
        todo!()
    }
    /// Appends the text form to `out`.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = f;
        todo!()
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
        let _ = text;
        todo!()
    }
}
impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let _ = d;
        todo!()
    }
}

/// Hashes in pieces.
#[derive(Debug, Default, Clone)]
pub struct DigestWriter {}
impl DigestWriter {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let _ = bytes;
        todo!()
    }
    /// The digest of all that was added.
    pub fn finish(self) -> Digest {
        todo!()
    }
}
