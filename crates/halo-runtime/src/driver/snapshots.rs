//! Snapshots: a start reads only what came after the newest of them.

use super::Driver;
use crate::machine::SavedMachine;
use halo_canon::Instant;
use halo_journal::{Snapshot, StoreError, Tip};

/// How many records come between two snapshots, where nothing else is said.
pub const SNAPSHOT_EVERY: u64 = 20_000;

/// What is known of snapshots.
pub(super) struct Snapshots {
    every: u64,
    /// The record that the newest one follows.
    last: u64,
    /// One that waits for its record to be sent to the disk.
    waiting: Option<(Tip, SavedMachine)>,
}

impl Snapshots {
    pub(super) fn after(last: u64, every: u64) -> Self {
        Self {
            every,
            last,
            waiting: None,
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
        if self.newest() >= due {
            self.take_snapshot(now);
        }
    }

    /// The machine as of the newest record. To be called right after it was made: state that was accepted since would be
    /// told twice.
    pub(super) fn take_snapshot(&mut self, now: Instant) {
        let tip = self.chain.tip();
        self.snapshots.last = tip.number;
        self.snapshots.waiting = Some((tip, self.machine.save(now)));
    }

    /// Its record is on its way to the disk: writes the snapshot down elsewhere, and sends it after.
    pub(super) fn send_snapshot(&mut self) {
        let Some((tip, saved)) = self.snapshots.waiting.take() else {
            return;
        };
        if self.ended {
            // Nobody waits for the disk any more.
            let work = move || Snapshot::new(tip, saved.bytes());
            return self.store_snapshot(work);
        }
        let host = self.host.clone();
        let writing = self.host.tokio.spawn_blocking(move || {
            let snapshot = Snapshot::new(tip, saved.bytes());
            host.send(move |driver| driver.store_snapshot(move || snapshot));
        });
        drop(writing);
    }

    fn store_snapshot(&mut self, make: impl FnOnce() -> Snapshot + Send + 'static) {
        if self.halted.is_some() {
            return;
        }
        let host = self.host.clone();
        let stored = self.committer.run(move |store| {
            let stored = store.and_then(|store| store.save_snapshot(&make()));
            if let Err(error) = stored {
                tell(&host, &error);
            }
        });
        if let Err(error) = stored {
            tell(&self.host, &error);
        }
    }
}

/// Without a snapshot a start takes longer, and nothing else.
fn tell(host: &super::Host, error: &StoreError) {
    host.remark(&format!("a snapshot was not stored: {error}"));
}
