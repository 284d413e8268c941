//! What stays of responses that were dropped: that their ids were used, and with which content.

use crate::response::NameRef;
use foldhash::quality::SeedableRandomState;
use halo_canon::{Digest, Value};
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher;

/// Half a SHA-256: enough that nobody finds two of a kind, and small.
type Half = [u8; 16];

/// One response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Form", from = "Form")]
pub(crate) struct Trace {
    /// Of its owner and id.
    name: Half,
    /// Of its canonical content.
    content: Half,
    /// Its number.
    pub(crate) number: u32,
}

/// The serialized form: there are many of them, and a list of bytes is long as text.
#[derive(Serialize, Deserialize)]
struct Form(u64, u64, u64, u64, u32);

impl From<Trace> for Form {
    fn from(trace: Trace) -> Self {
        let words = |half: Half| {
            let bits = u128::from_be_bytes(half);
            ((bits >> 64) as u64, bits as u64)
        };
        let (name, content) = (words(trace.name), words(trace.content));
        Self(name.0, name.1, content.0, content.1, trace.number)
    }
}

impl From<Form> for Trace {
    fn from(form: Form) -> Self {
        let half = |high: u64, low: u64| (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        Self {
            name: half(form.0, form.1),
            content: half(form.2, form.3),
            number: form.4,
        }
    }
}

impl Trace {
    pub(crate) fn of(name: NameRef<'_>, content: Value<'_>, number: u32) -> Self {
        Self {
            name: of_name(name),
            content: of_content(content),
            number,
        }
    }

    /// Whether it had this content.
    pub(crate) fn is_of(&self, content: Value<'_>) -> bool {
        self.content == of_content(content)
    }
}

/// All of them, by name. The table's own hash is seeded: names whose digests begin alike are found, given time.
#[derive(Debug)]
pub(crate) struct Forgotten {
    table: HashTable<Trace>,
    hasher: SeedableRandomState,
}

impl Forgotten {
    pub(crate) fn new(hasher: SeedableRandomState) -> Self {
        Self {
            table: HashTable::new(),
            hasher,
        }
    }

    pub(crate) fn find(&self, name: NameRef<'_>) -> Option<Trace> {
        if self.table.is_empty() {
            return None;
        }
        let name = of_name(name);
        let hash = self.hasher.hash_one(name);
        self.table.find(hash, |trace| trace.name == name).copied()
    }

    pub(crate) fn insert(&mut self, trace: Trace) {
        let hasher = &self.hasher;
        let hash = |trace: &Trace| hasher.hash_one(trace.name);
        self.table.insert_unique(hash(&trace), trace, hash);
    }

    /// All of them, by number.
    pub(crate) fn all(&self) -> Vec<Trace> {
        let mut all: Vec<Trace> = self.table.iter().copied().collect();
        all.sort_unstable_by_key(|trace| trace.number);
        all
    }
}

fn half(digest: &Digest) -> Half {
    let (first, _) = digest.as_bytes().split_at(16);
    first.try_into().unwrap_or_default()
}

fn of_name(name: NameRef<'_>) -> Half {
    // The length keeps an owner's end and an id's beginning apart.
    let mut text = Vec::with_capacity(8 + name.owner.len() + name.id.len());
    text.extend_from_slice(&(name.owner.len() as u64).to_be_bytes());
    text.extend_from_slice(name.owner.as_bytes());
    text.extend_from_slice(name.id.as_bytes());
    half(&Digest::of(&text))
}

fn of_content(content: Value<'_>) -> Half {
    let mut text = Vec::with_capacity(1024);
    content.write_canonical(&mut text);
    half(&Digest::of(&text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{Forgotten, Trace};
    use crate::response::NameRef;
    use foldhash::{SharedSeed, quality::SeedableRandomState};
    use halo_canon::Document;

    #[test]
    fn an_owner_and_an_id_are_not_run_together() {
        let hasher = SeedableRandomState::with_seed(1, SharedSeed::global_fixed());
        let content = Document::parse(b"{\"a\":1,\"b\":2}", 4).unwrap();
        let mut all = Forgotten::new(hasher);
        let name = NameRef {
            owner: "ab",
            id: "c",
        };
        all.insert(Trace::of(name, content.root(), 7));
        let other = NameRef {
            owner: "a",
            id: "bc",
        };
        assert_eq!(all.find(other), None);
        let found = all.find(name).unwrap();
        assert_eq!(found.number, 7);
        let same = Document::parse(b"{ \"b\": 2.0, \"a\": 1 }", 4).unwrap();
        assert!(found.is_of(same.root()));
        let changed = Document::parse(b"{\"a\":1,\"b\":3}", 4).unwrap();
        assert!(!found.is_of(changed.root()));
        // What a million of them cost.
        assert!(size_of::<Trace>() <= 36);
    }
}
