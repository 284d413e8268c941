//! Snapshots: a start reads only what came after the newest of them. Payloads of what is over for long enough are erased
//! with them.

use super::Driver;
use crate::machine::SavedMachine;
use halo_canon::{Duration, Instant};
use halo_journal::{Snapshot, Store, StoreError, Tip};

/// How many records come between two snapshots, where nothing else is said.
pub const SNAPSHOT_EVERY: u64 = 20_000;

/// What is known of snapshots.
pub(super) struct Snapshots {
    every: u64,
    /// The record that the newest one follows.
    last: u64,
    /// One that waits for its record to be sent to the disk.
    waiting: Option<Waiting>,
    /// When texts were erased last.
    erased_at: Instant,
}

struct Waiting {
    tip: Tip,
    saved: SavedMachine,
    erase: Erase,
}

/// Records whose texts go once the snapshot stands for them: those of responses that were dropped before `until`.
struct Erase {
    records: Vec<u64>,
    until: Instant,
}

/// Between two snapshots that are taken only to erase texts.
const ERASE_PAUSE: Duration = Duration::from_millis(3_600_000);

impl Snapshots {
    pub(super) fn after(last: u64, every: u64) -> Self {
        Self {
            every,
            last,
            waiting: None,
            erased_at: Instant::MIN,
        }
    }

    /// Nothing of what was decided since is durable.
    pub(super) fn drop_waiting(&mut self) {
        self.waiting = None;
    }
}

impl Driver {
    /// After a record, where one is due. What is much to save is saved less often, so that it costs the same a record.
    pub(super) fn snapshot_if_due(&mut self, now: Instant) {
        let kept = self.machine.books().len() as u64;
        let step = self.snapshots.every.max(kept);
        let due = self.snapshots.last.saturating_add(step);
        if self.newest() >= due || self.erasing_is_due(now) {
            self.take_snapshot(now);
        }
    }

    /// Texts of responses that were dropped before this are not wanted any more; nothing: they are kept.
    fn erase_until(&self, now: Instant) -> Option<Instant> {
        let nanos = self.retention.payloads?.as_nanos();
        let kept = i128::try_from(nanos).unwrap_or(i128::MAX);
        Some(Instant::from_nanos(now.nanos().saturating_sub(kept)))
    }

    fn erasing_is_due(&mut self, now: Instant) -> bool {
        let Some(until) = self.erase_until(now) else {
            // Nobody wants them erased, so nobody need know them.
            self.machine.erased(Instant::MAX);
            return false;
        };
        let pause = ERASE_PAUSE.min(now.since(until));
        let first = self.machine.books().first_gone();
        first.is_some_and(|first| first < until) && self.snapshots.erased_at.plus(pause) <= now
    }

    fn take_erasable(&mut self, now: Instant) -> Erase {
        let Some(until) = self.erase_until(now) else {
            return Erase {
                records: Vec::new(),
                until: Instant::MIN,
            };
        };
        self.snapshots.erased_at = now;
        let records = self.machine.books().erasable(until);
        Erase { records, until }
    }

    /// The machine as of the newest record. To be called right after it was made: state that was accepted since would be
    /// told twice.
    pub(super) fn take_snapshot(&mut self, now: Instant) {
        let tip = self.chain.tip();
        self.snapshots.last = tip.number;
        let (saved, erase) = (self.machine.save(now), self.take_erasable(now));
        self.snapshots.waiting = Some(Waiting { tip, saved, erase });
    }

    /// Its record is on its way to the disk: writes the snapshot down elsewhere, and sends it after.
    pub(super) fn send_snapshot(&mut self) {
        let Some(Waiting { tip, saved, erase }) = self.snapshots.waiting.take() else {
            return;
        };
        if self.ended {
            // Nobody waits for the disk any more.
            let work = move || Snapshot::new(tip, saved.bytes());
            return self.store_snapshot(work, erase);
        }
        let host = self.host.clone();
        let writing = self.host.tokio.spawn_blocking(move || {
            let snapshot = Snapshot::new(tip, saved.bytes());
            host.send(move |driver| driver.store_snapshot(move || snapshot, erase));
        });
        drop(writing);
    }

    /// Once it is stored, texts that only older ones and their records hold are erased.
    fn store_snapshot(&mut self, make: impl FnOnce() -> Snapshot + Send + 'static, erase: Erase) {
        if self.halted.is_some() {
            return;
        }
        let host = self.host.clone();
        let stored = self.committer.run(move |store| {
            match store.and_then(|store| store_and_erase(store, &make(), &erase.records)) {
                Ok(()) => host.send(move |driver| driver.machine.erased(erase.until)),
                Err(error) => tell(&host, &error),
            }
        });
        if let Err(error) = stored {
            tell(&self.host, &error);
        }
    }
}

/// In this order: at every moment something sound stands for what is not there any more.
fn store_and_erase(
    store: &mut dyn Store,
    snapshot: &Snapshot,
    erase: &[u64],
) -> Result<(), StoreError> {
    store.save_snapshot(snapshot)?;
    if erase.is_empty() {
        return Ok(());
    }
    store.forget_snapshots(snapshot.number)?;
    store.erase(erase)
}

/// Without a snapshot a start takes longer, and nothing else. What was not erased is with the next one.
fn tell(host: &super::Host, error: &StoreError) {
    host.remark(&format!(
        "a snapshot was not stored, or texts not erased; tried again with the next: {error}"
    ));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::store_and_erase;
    use halo_canon::Instant;
    use halo_journal::{Batch, Chain, Draft, MemoryStore, Reader, Snapshot, Store};

    #[test]
    fn older_snapshots_go_with_what_is_erased() {
        let mut chain = Chain::default();
        let mut store = MemoryStore::new();
        let mut tips = Vec::new();
        for body in ["one", "two"] {
            let draft = Draft {
                at: Instant::MIN,
                kind: "turn".into(),
                body: body.into(),
            };
            let batch = Batch {
                records: vec![chain.link(draft)],
                current: Vec::new(),
            };
            store.append(&batch).unwrap();
            tips.push(chain.tip());
        }
        let older = Snapshot::new(tips[0], b"one".to_vec());
        store_and_erase(&mut store, &older, &[]).unwrap();
        let newer = Snapshot::new(tips[1], b"".to_vec());
        store_and_erase(&mut store, &newer, &[]).unwrap();
        assert_eq!(store.snapshots().unwrap().len(), 2);
        store_and_erase(&mut store, &newer, &[1]).unwrap();
        assert_eq!(store.snapshots().unwrap(), [newer]);
        let bodies = store.read(0, 9).unwrap().into_iter();
        let bodies: Vec<Option<String>> = bodies.map(|record| record.body).collect();
        assert_eq!(bodies, [None, Some("two".into())]);
    }
}
