//! One record, and how each holds fast the one before.

use halo_canon::{Digest, Instant, write_string};
use std::io::Write as _;

/// What is to become a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// When it happened.
    pub at: Instant,
    /// What it is, in the words of whoever writes it.
    pub kind: Box<str>,
    /// Its text; the chain holds only the digest, so that the text can be erased.
    pub body: String,
}

/// One link of the chain.
///
/// `hash` is the SHA-256 of the RFC 8785 form of `{"halo": "record/v1", "number", "at", "kind", "body", "previous"}`,
/// where `body` and `previous` are digests as text and `at` is exact to the nanosecond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// From 1, without gaps. Far below 2^53, so that it is one number in JSON.
    pub number: u64,
    /// When it happened.
    pub at: Instant,
    /// What it is.
    pub kind: Box<str>,
    /// Its text; nothing: it was erased.
    pub body: Option<String>,
    /// What the text was, also once it is erased.
    pub body_digest: Digest,
    /// The hash of the record before; for the first, [`Tip::empty`]'s.
    pub previous: Digest,
    /// What the next record holds fast.
    pub hash: Digest,
}

impl Record {
    /// What `hash` must be, from all other members but the text.
    pub fn computed_hash(&self) -> Digest {
        self.hash_as(self.number)
    }

    /// The hash that this record would have at another place.
    pub(crate) fn hash_as(&self, number: u64) -> Digest {
        hash(
            number,
            self.at,
            &self.kind,
            &self.body_digest,
            &self.previous,
        )
    }

    /// What this record makes the end of its chain.
    pub fn tip(&self) -> Tip {
        Tip {
            number: self.number,
            hash: self.hash,
        }
    }

    /// Where it belongs.
    pub fn place(&self) -> Place {
        Place {
            number: self.number,
            previous: self.previous,
        }
    }
}

/// The end of a chain: all that the next record needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    /// The newest record; 0 where there is none.
    pub number: u64,
    /// Its hash.
    pub hash: Digest,
}

impl Tip {
    /// Before the first record: number 0, and the digest of the empty text.
    pub fn empty() -> Self {
        Self {
            number: 0,
            hash: Digest::of(b""),
        }
    }

    /// Where the next record belongs.
    pub fn next(&self) -> Place {
        Place {
            number: self.number.saturating_add(1),
            previous: self.hash,
        }
    }
}

/// A place in a chain: a number, and the hash that comes before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The record's number.
    pub number: u64,
    /// The hash of the record before.
    pub previous: Digest,
}

/// A chain that grows.
#[derive(Debug, Clone)]
pub struct Chain {
    tip: Tip,
}

impl Chain {
    /// Goes on after `tip`.
    pub fn after(tip: Tip) -> Self {
        Self { tip }
    }

    /// The newest link.
    pub fn tip(&self) -> Tip {
        self.tip
    }

    /// The number of the next record.
    pub fn next_number(&self) -> u64 {
        self.tip.next().number
    }

    /// Makes `draft` the next record.
    pub fn link(&mut self, draft: Draft) -> Record {
        let Place { number, previous } = self.tip.next();
        let body_digest = Digest::of(draft.body.as_bytes());
        let hash = hash(number, draft.at, &draft.kind, &body_digest, &previous);
        self.tip = Tip { number, hash };
        Record {
            number,
            at: draft.at,
            kind: draft.kind,
            body: Some(draft.body),
            body_digest,
            previous,
            hash,
        }
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self::after(Tip::empty())
    }
}

/// Members in the order that RFC 8785 demands. Digests and instants need no escaping.
fn hash(number: u64, at: Instant, kind: &str, body: &Digest, previous: &Digest) -> Digest {
    let mut text = Vec::with_capacity(320 + kind.len());
    // Writing to a vector does not fail.
    let _ = write!(text, r#"{{"at":"{at}","body":""#);
    body.write_text(&mut text);
    text.extend_from_slice(br#"","halo":"record/v1","kind":"#);
    write_string(&mut text, kind);
    let _ = write!(text, r#","number":{number},"previous":""#);
    previous.write_text(&mut text);
    text.extend_from_slice(br#""}"#);
    Digest::of(&text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use halo_canon::Document;

    fn draft(body: &str) -> Draft {
        Draft {
            at: Instant::parse("2026-01-01T00:00:00.000000001Z").unwrap(),
            kind: "sub\"mit\u{7}ß".into(),
            body: body.into(),
        }
    }

    #[test]
    fn first_record_follows_the_empty_text() {
        let record = Chain::default().link(draft("{}"));
        assert_eq!(record.number, 1);
        assert_eq!(record.previous, Digest::of(b""));
    }

    #[test]
    fn hash_is_of_the_canonical_text() {
        let mut chain = Chain::default();
        chain.link(draft("one"));
        let record = chain.link(draft("two"));
        let value = serde_json::json!({
            "halo": "record/v1",
            "number": record.number,
            "at": record.at,
            "kind": record.kind,
            "body": record.body_digest,
            "previous": record.previous,
        });
        let document = Document::parse(value.to_string().as_bytes(), 8).unwrap();
        let canonical = document.root().to_canonical();
        assert_eq!(record.hash, Digest::of(canonical.as_bytes()));
        assert_eq!(record.hash, record.computed_hash());
        assert_eq!(chain.tip(), record.tip());
    }
}
