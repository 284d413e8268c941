//! What any [`Store`] must do, as checks that any of them can run.
//!
//! ```
//! use halo_journal::{MemoryDisk, MemoryStore, Store, conformance};
//!
//! struct Memory(MemoryDisk);
//! impl conformance::Subject for Memory {
//!     fn fresh(&mut self) -> Box<dyn Store> {
//!         let store = MemoryStore::new();
//!         self.0 = store.disk();
//!         Box::new(store)
//!     }
//!     fn reopen(&mut self, store: Box<dyn Store>) -> Box<dyn Store> {
//!         drop(store);
//!         Box::new(self.0.open())
//!     }
//! }
//!
//! # fn main() -> Result<(), conformance::Failure> {
//! conformance::run(&mut Memory(MemoryStore::new().disk()))
//! # }
//! ```

mod readers;
mod writer;

use crate::{Batch, Draft, Reader, Record, Snapshot, Store, StoreError, Tip, Verifier};
use halo_canon::Instant;
use writer::{Writer, state};

/// The store under check.
pub trait Subject {
    /// A new store, empty.
    fn fresh(&mut self) -> Box<dyn Store>;

    /// Closes the store that [`Subject::fresh`] gave last, and opens it again.
    fn reopen(&mut self, store: Box<dyn Store>) -> Box<dyn Store>;
}

/// What a store does not do.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It does something else.
    #[error("{check}: expected {expected}")]
    Expected {
        /// Which check.
        check: &'static str,
        /// What was expected.
        expected: &'static str,
    },
    /// It fails where it should not.
    #[error(transparent)]
    Store(#[from] StoreError),
}

type Checked = Result<(), Failure>;
type Check = fn(&mut dyn Subject) -> Checked;

/// Runs all checks.
///
/// Errors: the first thing that the store does not do.
pub fn run(subject: &mut dyn Subject) -> Result<(), Failure> {
    let checks: [Check; 10] = [
        starts_empty,
        appends_in_order,
        refuses_what_does_not_follow,
        stores_whole_batches,
        survives_reopening,
        replaces_current,
        pages,
        erases,
        keeps_snapshots,
        readers::see_what_is_durable,
    ];
    checks.into_iter().try_for_each(|check| check(subject))
}

fn ensure(holds: bool, check: &'static str, expected: &'static str) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Failure::Expected { check, expected })
    }
}

fn is_out_of_order(result: &Result<(), StoreError>) -> bool {
    matches!(result, Err(StoreError::OutOfOrder { .. }))
}

fn starts_empty(subject: &mut dyn Subject) -> Checked {
    let check = |holds| ensure(holds, "empty store", "no record, no state, no snapshot");
    let store = subject.fresh();
    check(store.tip()? == Tip::empty())?;
    check(store.read(0, 10)?.is_empty())?;
    check(store.newest(None, 10)?.is_empty())?;
    check(store.current()?.is_empty())?;
    check(store.latest_snapshot()?.is_none())
}

fn appends_in_order(subject: &mut dyn Subject) -> Checked {
    let mut store = subject.fresh();
    let mut writer = Writer::new();
    let mut all = Vec::new();
    for count in [1, 3, 0, 40] {
        let batch = writer.batch(count);
        store.append(&batch)?;
        all.extend(batch.records);
        ensure(
            store.tip()? == writer.chain.tip(),
            "append",
            "the tip to be the last record",
        )?;
    }
    let exact = store.read(0, usize::MAX)? == all;
    ensure(exact, "append", "the same records back")
}

fn refuses_what_does_not_follow(subject: &mut dyn Subject) -> Checked {
    let mut store = subject.fresh();
    let mut writer = Writer::new();
    let first = writer.batch(2);
    store.append(&first)?;
    let next = writer.batch(3);

    let mut gap = next.clone();
    gap.records.remove(0);
    let mut gap_inside = next.clone();
    gap_inside.records.remove(1);
    let mut exchanged = next.clone();
    exchanged.records.swap(1, 2);
    let mut other_chain = Writer::new();
    other_chain.chain.link(Draft {
        at: Instant::MIN,
        kind: "other".into(),
        body: String::new(),
    });
    other_chain.record();
    let fork = other_chain.batch(1);
    for refused in [&gap, &gap_inside, &exchanged, &fork, &first] {
        ensure(
            is_out_of_order(&store.append(refused)),
            "order",
            "a batch that does not follow to be refused as out of order",
        )?;
    }
    let tip = store.tip()?;
    ensure(tip.number == 2, "order", "a refused batch to leave nothing")?;
    store.append(&next)?;
    let count = store.read(0, 100)?.len();
    ensure(count == 5, "order", "a batch that follows to be stored")
}

fn stores_whole_batches(subject: &mut dyn Subject) -> Checked {
    let check = |holds| ensure(holds, "whole batches", "nothing of a refused batch");
    let mut store = subject.fresh();
    let mut writer = Writer::new();
    store.append(&Batch {
        records: writer.records(1),
        current: vec![state("a", 1, "kept")],
    })?;
    let mut records = writer.records(5);
    records.swap(3, 4);
    let refused = Batch {
        records,
        current: vec![state("a", 2, "lost"), state("b", 2, "lost")],
    };
    check(is_out_of_order(&store.append(&refused)))?;
    check(store.read(0, 100)?.len() == 1)?;
    check(store.current()? == [state("a", 1, "kept")])?;
    let store = subject.reopen(store);
    check(store.tip()?.number == 1)?;
    check(store.current()? == [state("a", 1, "kept")])
}

fn survives_reopening(subject: &mut dyn Subject) -> Checked {
    let check = |holds| ensure(holds, "reopening", "all that was stored, exactly");
    let mut store = subject.fresh();
    let mut writer = Writer::new();
    let mut all = Vec::new();
    for round in 0..4 {
        let batch = Batch {
            records: writer.records(7),
            current: vec![state("source", round, "value")],
        };
        store.append(&batch)?;
        all.extend(batch.records);
        store = subject.reopen(store);
        check(store.tip()? == writer.chain.tip())?;
        check(store.read(0, usize::MAX)? == all)?;
        check(store.current()? == [state("source", round, "value")])?;
    }
    check(store.recover()? == writer.chain.tip())
}

fn replaces_current(subject: &mut dyn Subject) -> Checked {
    let check = |holds| ensure(holds, "current state", "the last record of each address");
    let mut store = subject.fresh();
    let current = vec![
        state("b/ß", u64::MAX, "one"),
        state("a", 0, ""),
        state("b/ß", 3, "two"),
    ];
    store.append(&Batch {
        records: Vec::new(),
        current,
    })?;
    let (a, b) = (state("a", 0, ""), state("b/ß", 3, "two"));
    check(store.current()? == [a, b.clone()])?;
    check(store.tip()? == Tip::empty())?;
    let a = state("a", u64::MAX, "three");
    store.append(&Batch {
        records: Writer::new().records(1),
        current: vec![a.clone()],
    })?;
    check(store.current()? == [a, b])
}

fn pages(subject: &mut dyn Subject) -> Checked {
    let check = |holds| ensure(holds, "paging", "the asked records in the asked order");
    let numbers = |records: Vec<Record>| {
        let numbers = records.into_iter().map(|record| record.number);
        numbers.collect::<Vec<_>>()
    };
    let mut store = subject.fresh();
    store.append(&Writer::new().batch(10))?;
    for view in [&*store as &dyn Reader, &*store.reader()?] {
        check(numbers(view.read(0, 3)?) == [1, 2, 3])?;
        check(numbers(view.read(3, 4)?) == [4, 5, 6, 7])?;
        check(numbers(view.read(8, 9)?) == [9, 10])?;
        check(view.read(10, 9)?.is_empty())?;
        check(view.read(u64::MAX, 9)?.is_empty())?;
        check(view.read(0, 0)?.is_empty())?;
        check(numbers(view.newest(None, 2)?) == [10, 9])?;
        check(numbers(view.newest(Some(9), 3)?) == [8, 7, 6])?;
        check(numbers(view.newest(Some(3), 9)?) == [2, 1])?;
        check(view.newest(Some(1), 9)?.is_empty())?;
        check(view.newest(Some(0), 9)?.is_empty())?;
        check(numbers(view.newest(Some(u64::MAX), 1)?) == [10])?;
    }
    Ok(())
}

fn erases(subject: &mut dyn Subject) -> Checked {
    let check = |holds| ensure(holds, "erasing", "no body, and a chain that is sound");
    let mut store = subject.fresh();
    let mut writer = Writer::new();
    store.append(&writer.batch(8))?;
    let erased = [2, 3, 8];
    store.erase(&erased)?;
    store.erase(&[0, 2, 99, u64::MAX])?;
    store.append(&writer.batch(1))?;
    let store = subject.reopen(store);
    let mut verifier = Verifier::default();
    for record in store.read(0, 100)? {
        check(record.body.is_none() == erased.contains(&record.number))?;
        check(verifier.check(&record).is_ok())?;
    }
    check(verifier.tip() == writer.chain.tip())
}

fn keeps_snapshots(subject: &mut dyn Subject) -> Checked {
    let check = |holds| {
        ensure(
            holds,
            "snapshots",
            "the last two, sound and of this chain only",
        )
    };
    let mut store = subject.fresh();
    let mut writer = Writer::new();
    let empty = Snapshot::new(writer.chain.tip(), b"nothing".to_vec());
    store.save_snapshot(&empty)?;
    let mut taken = Vec::new();
    for bytes in ["one", "two", "three"] {
        store.append(&writer.batch(2))?;
        let snapshot = Snapshot::new(writer.chain.tip(), bytes.into());
        store.save_snapshot(&snapshot)?;
        taken.push(snapshot);
    }
    check(store.latest_snapshot()?.as_ref() == taken.last())?;
    check(store.reader()?.latest_snapshot()?.as_ref() == taken.last())?;

    let mut elsewhere = Writer::new().record().tip();
    elsewhere.number = 2;
    let foreign = Snapshot::new(elsewhere, Vec::new());
    check(is_out_of_order(&store.save_snapshot(&foreign)))?;
    elsewhere.number = 99;
    let ahead = Snapshot::new(elsewhere, Vec::new());
    check(is_out_of_order(&store.save_snapshot(&ahead)))?;

    // A damaged one is passed over. These take the places of the newest two, and the one before them is gone.
    let damage = |store: &mut dyn Store, sound: &Snapshot| {
        let mut damaged = sound.clone();
        damaged.bytes.push(b'!');
        store.save_snapshot(&damaged)
    };
    let [_, second, third] = &taken[..] else {
        return Ok(());
    };
    damage(&mut *store, third)?;
    let mut store = subject.reopen(store);
    check(store.latest_snapshot()?.as_ref() == Some(second))?;
    check(store.snapshots()? == [second.clone()])?;
    damage(&mut *store, second)?;
    check(store.latest_snapshot()?.is_none())?;
    store.save_snapshot(second)?;
    store.forget_snapshots(second.number)?;
    check(store.latest_snapshot()?.as_ref() == Some(second))?;
    store.forget_snapshots(third.number)?;
    check(store.latest_snapshot()?.is_none())
}
