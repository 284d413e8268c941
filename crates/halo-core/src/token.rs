//! One-dispatch tokens (P14): made from a seed that the driver draws, never cloned, compared in constant time.

use halo_canon::{Digest, DigestWriter};
use serde::{Deserialize, Serialize};
use std::fmt;
use subtle::ConstantTimeEq;

/// 256 random bits from the operating system, drawn by the driver once for each engine. Tokens are as unguessable as
/// this is.
pub struct Seed([u8; 32]);

impl Seed {
    /// Takes the bits.
    pub fn new(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// Bits for hash tables, unrelated to any token.
    pub(crate) fn table_bits(&self) -> u64 {
        let digest = self.block("table", 0);
        digest
            .iter()
            .take(8)
            .fold(0, |bits, byte| (bits << 8) | u64::from(*byte))
    }

    fn block(&self, domain: &str, counter: u64) -> [u8; 32] {
        let mut hash = DigestWriter::default();
        hash.update(&self.0);
        hash.update(domain.as_bytes());
        hash.update(&counter.to_le_bytes());
        *hash.finish().as_bytes()
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(secret)")
    }
}

/// Authority for one dispatch. Neither `Clone` nor `Serialize`: it moves with its instance and nowhere else.
pub(crate) struct Token([u8; 16]);

impl Token {
    pub(crate) fn is(&self, presented: &Presented) -> bool {
        self.0.ct_eq(&presented.0).into()
    }

    /// What a holder of this token would present.
    pub(crate) fn presented(&self) -> Presented {
        Presented(self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

/// A token as someone presents it: a claim, not yet authority.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presented([u8; 16]);

impl Presented {
    /// From its bytes.
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Presented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Presented(secret)")
    }
}

/// Expands the seed into tokens: SHA-256 in counter mode, two tokens a block.
#[derive(Debug)]
pub(crate) struct TokenMint {
    seed: Seed,
    counter: u64,
    spare: Option<Token>,
}

impl TokenMint {
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            seed,
            counter: 0,
            spare: None,
        }
    }

    pub(crate) fn mint(&mut self) -> Token {
        if let Some(token) = self.spare.take() {
            return token;
        }
        let block = self.seed.block("token", self.counter);
        self.counter += 1;
        let (mut first, mut second) = ([0; 16], [0; 16]);
        first.copy_from_slice(&block[..16]);
        second.copy_from_slice(&block[16..]);
        self.spare = Some(Token(second));
        Token(first)
    }
}

/// The emission id by which sinks deduplicate (P13).
pub(crate) fn emission_id(response: &str, id: &str, generation: u32, digest: &Digest) -> Digest {
    let mut text = Vec::with_capacity(256);
    text.extend_from_slice(b"{\"digest\":\"");
    digest.write_text(&mut text);
    text.extend_from_slice(b"\",\"generation\":");
    halo_canon::write_number(&mut text, f64::from(generation));
    text.extend_from_slice(b",\"halo\":\"emission/v1\",\"id\":");
    halo_canon::write_string(&mut text, id);
    text.extend_from_slice(b",\"response\":");
    halo_canon::write_string(&mut text, response);
    text.push(b'}');
    Digest::of(&text)
}
