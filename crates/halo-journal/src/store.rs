//! What every store of the journal does.
//!
//! [`crate::conformance`] checks an implementation.

use crate::{Record, StoreError, Tip};
use halo_canon::{Digest, Instant};

/// What becomes durable together, or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The next records of the chain; may be none.
    pub records: Vec<Record>,
    /// State records to keep beside the journal; a later one of an address replaces the earlier.
    pub current: Vec<Current>,
}

impl Batch {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.current.is_empty()
    }

    /// Puts `later` behind what is here.
    pub fn append(&mut self, mut later: Self) {
        self.records.append(&mut later.records);
        self.current.append(&mut later.current);
    }

    /// About how many bytes it holds in memory.
    pub(crate) fn size(&self) -> usize {
        let bodies = self.records.iter().map(|record| {
            record.body.as_ref().map_or(0, String::len) + record.kind.len() + size_of::<Record>()
        });
        let current = self
            .current
            .iter()
            .map(|current| current.record.len() + current.address.len() + size_of::<Current>());
        bodies.sum::<usize>() + current.sum::<usize>()
    }
}

/// The newest accepted state record of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// Source, and key of a keyed source, as the writer spells them.
    pub address: String,
    /// When it was accepted.
    pub accepted_at: Instant,
    /// The number that the writer gave it, kept as it is.
    pub since: u64,
    /// The state record as text.
    pub record: String,
}

/// The state after some record, so that a start need not read all records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last record that it includes.
    pub number: u64,
    /// That record's hash.
    pub hash: Digest,
    /// The digest of `bytes`.
    pub digest: Digest,
    /// The state, as the writer spells it.
    pub bytes: Vec<u8>,
}

impl Snapshot {
    /// The state `bytes` after the record at `tip`.
    pub fn new(tip: Tip, bytes: Vec<u8>) -> Self {
        Self {
            number: tip.number,
            hash: tip.hash,
            digest: Digest::of(&bytes),
            bytes,
        }
    }

    /// The record that it follows.
    pub fn after(&self) -> Tip {
        Tip {
            number: self.number,
            hash: self.hash,
        }
    }

    /// Whether its bytes are what they were.
    pub fn is_sound(&self) -> bool {
        Digest::of(&self.bytes) == self.digest
    }
}

/// Sees what is durable, never what is only being written.
///
/// Errors of all calls: the medium fails, or what is there can't be read as a journal.
pub trait Reader: Send {
    /// The newest record.
    fn tip(&self) -> Result<Tip, StoreError>;

    /// At most `limit` records above `after`, in order.
    fn read(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError>;

    /// At most `limit` records below `before`, newest first; without `before`, from the newest on.
    fn newest(&self, before: Option<u64>, limit: usize) -> Result<Vec<Record>, StoreError>;

    /// The newest accepted state records, by address.
    fn current(&self) -> Result<Vec<Current>, StoreError>;

    /// The newest snapshot that is sound and follows a record of this chain. Snapshots save time and nothing else: a
    /// damaged one is passed over.
    fn latest_snapshot(&self) -> Result<Option<Snapshot>, StoreError>;

    /// All snapshots that are sound and follow a record of this chain, newest first.
    fn snapshots(&self) -> Result<Vec<Snapshot>, StoreError>;
}

/// Keeps the journal. One writer at a time.
pub trait Store: Reader {
    /// Stores the whole batch; it is durable when this returns.
    ///
    /// Errors: [`StoreError::OutOfOrder`] where a record does not follow the one before; otherwise the medium fails. A
    /// batch is there whole or not at all. After an error, [`Reader::tip`] says which, and a later call may succeed.
    fn append(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Erases the bodies of the given records; what has none already, and numbers without a record, are passed over.
    /// When this returns, no file of the store holds those bytes. A snapshot may: see [`Store::forget_snapshots`].
    ///
    /// Errors: the medium fails, or a reader keeps the old bytes in use ([`StoreError::Busy`]); to be called again then.
    fn erase(&mut self, numbers: &[u64]) -> Result<(), StoreError>;

    /// Keeps a snapshot, and the one before it, and no other.
    ///
    /// Errors: [`StoreError::OutOfOrder`] where it follows no record of this chain; otherwise the medium fails.
    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError>;

    /// Drops the snapshots of records below `number`, because they may hold what was erased since.
    ///
    /// Errors: as of [`Store::erase`].
    fn forget_snapshots(&mut self, number: u64) -> Result<(), StoreError>;

    /// Makes the store usable after a failure, and says what is durable. Nothing is kept of what was believed before.
    ///
    /// Errors: the medium still fails.
    fn recover(&mut self) -> Result<Tip, StoreError>;

    /// A view of its own, for another thread.
    ///
    /// Errors: the medium fails.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;
}

/// Whether the records of `batch` follow `tip` and one another.
///
/// Errors: [`StoreError::OutOfOrder`] with the first that does not.
pub(crate) fn follows(tip: Tip, batch: &Batch) -> Result<Tip, StoreError> {
    batch.records.iter().try_fold(tip, |tip, record| {
        let (expected, got) = (tip.next(), record.place());
        if expected == got {
            Ok(record.tip())
        } else {
            Err(StoreError::OutOfOrder { expected, got })
        }
    })
}
