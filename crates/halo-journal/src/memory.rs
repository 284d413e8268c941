//! A store that forgets.

use crate::{Batch, Current, Reader, Record, Snapshot, Store, StoreError, Tip, store};
use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Keeps the journal in memory: **nothing of it survives the process.** For tests, and for programs that embed the
/// runtime and can do without durability.
#[derive(Debug, Default)]
pub struct MemoryStore {
    kept: Arc<Mutex<Kept>>,
}

/// A second hold on what a [`MemoryStore`] keeps: makes its calls fail, and outlives the store as a disk outlives a process.
#[derive(Debug, Clone)]
pub struct MemoryDisk {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Number `n` at index `n - 1`.
    records: Vec<Record>,
    current: BTreeMap<String, Current>,
    /// The newest last; at most two.
    snapshots: VecDeque<Snapshot>,
    /// What the next writing call answers instead of writing.
    fails: Option<StoreError>,
    full: bool,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// What it keeps its records on.
    pub fn disk(&self) -> MemoryDisk {
        MemoryDisk {
            kept: Arc::clone(&self.kept),
        }
    }
}

impl MemoryDisk {
    /// A store that goes on with what is here, as after a restart.
    pub fn open(&self) -> MemoryStore {
        MemoryStore {
            kept: Arc::clone(&self.kept),
        }
    }

    /// The next call that writes stores nothing and answers `error`.
    pub fn fail_next(&self, error: StoreError) {
        lock(&self.kept).fails = Some(error);
    }

    /// Until further notice, every call that writes stores nothing and answers [`StoreError::Full`].
    pub fn set_full(&self, full: bool) {
        lock(&self.kept).full = full;
    }
}

/// A panic elsewhere leaves nothing half-written here: every change is made of moves.
fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept {
    fn tip(&self) -> Tip {
        self.records.last().map_or_else(Tip::empty, Record::tip)
    }

    /// Whether a write may go on.
    fn write(&mut self) -> Result<(), StoreError> {
        if let Some(error) = self.fails.take() {
            return Err(error);
        }
        if self.full {
            let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(StoreError::io("write", PathBuf::from("memory"), source));
        }
        Ok(())
    }

    fn has(&self, tip: Tip) -> bool {
        let record = usize::try_from(tip.number)
            .ok()
            .and_then(|number| number.checked_sub(1))
            .and_then(|index| self.records.get(index));
        record.map_or_else(|| tip == Tip::empty(), |record| record.hash == tip.hash)
    }
}

/// How many records come before the one after `number`.
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Reader for MemoryStore {
    fn tip(&self) -> Result<Tip, StoreError> {
        Ok(lock(&self.kept).tip())
    }

    fn read(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let kept = lock(&self.kept);
        let records = kept.records.iter().skip(index(after)).take(limit);
        Ok(records.cloned().collect())
    }

    fn newest(&self, before: Option<u64>, limit: usize) -> Result<Vec<Record>, StoreError> {
        let kept = lock(&self.kept);
        let below = before.map_or(usize::MAX, |before| index(before.saturating_sub(1)));
        let records = kept.records.iter().take(below).rev().take(limit);
        Ok(records.cloned().collect())
    }

    fn current(&self) -> Result<Vec<Current>, StoreError> {
        Ok(lock(&self.kept).current.values().cloned().collect())
    }

    fn latest_snapshot(&self) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.snapshots()?.into_iter().next())
    }

    fn snapshots(&self) -> Result<Vec<Snapshot>, StoreError> {
        let kept = lock(&self.kept);
        let newest_first = kept.snapshots.iter().rev();
        let sound =
            newest_first.filter(|snapshot| snapshot.is_sound() && kept.has(snapshot.after()));
        Ok(sound.cloned().collect())
    }
}

impl Store for MemoryStore {
    fn append(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let mut kept = lock(&self.kept);
        store::follows(kept.tip(), batch)?;
        kept.write()?;
        kept.records.extend_from_slice(&batch.records);
        for current in &batch.current {
            kept.current
                .insert(current.address.clone(), current.clone());
        }
        Ok(())
    }

    fn erase(&mut self, numbers: &[u64]) -> Result<(), StoreError> {
        let mut kept = lock(&self.kept);
        kept.write()?;
        for number in numbers {
            let place = number.checked_sub(1).map(index);
            if let Some(record) = place.and_then(|place| kept.records.get_mut(place)) {
                record.body = None;
            }
        }
        Ok(())
    }

    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let mut kept = lock(&self.kept);
        if !kept.has(snapshot.after()) {
            return Err(StoreError::OutOfOrder {
                expected: kept.tip().next(),
                got: snapshot.after().next(),
            });
        }
        kept.write()?;
        kept.snapshots.retain(|kept| kept.number != snapshot.number);
        let later = |kept: &Snapshot| kept.number > snapshot.number;
        let place = kept.snapshots.iter().position(later);
        let place = place.unwrap_or(kept.snapshots.len());
        kept.snapshots.insert(place, snapshot.clone());
        if kept.snapshots.len() > 2 {
            kept.snapshots.pop_front();
        }
        Ok(())
    }

    fn forget_snapshots(&mut self, number: u64) -> Result<(), StoreError> {
        let mut kept = lock(&self.kept);
        kept.write()?;
        kept.snapshots.retain(|snapshot| snapshot.number >= number);
        Ok(())
    }

    fn recover(&mut self) -> Result<Tip, StoreError> {
        let mut kept = lock(&self.kept);
        kept.write()?;
        Ok(kept.tip())
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(self.disk().open()))
    }
}
