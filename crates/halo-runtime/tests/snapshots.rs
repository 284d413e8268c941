//! Snapshots save time and nothing else: from each of them the same comes as from the whole journal.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, reason = "tests")]

#[path = "common/runtime.rs"]
mod common;

use common::{Yard, start, start_with};
use halo_canon::Instant;
use halo_core::{Outcome, Seed, Settlement};
use halo_journal::{Batch, MemoryDisk, MemoryStore, Reader, Record, Snapshot, Store};
use halo_runtime::{
    api::{Address, Caller, Room},
    audit::audit,
    deployment::Retention,
    replay::{ReplayError, Replayed, replay},
    runtime::Runtime,
};
use std::time::Duration;

fn ann() -> Caller {
    Caller {
        name: "ann".into(),
        sees_all: false,
    }
}

fn address(id: &str) -> Address {
    Address {
        id: id.into(),
        owner: None,
    }
}

async fn gate(runtime: &Runtime, epoch: u32, open: bool) {
    let text = format!(r#"{{"epoch":{epoch},"value":{{"open":{open}}}}}"#);
    let written = runtime.write_state(ann(), "gate".into(), text.into_bytes());
    written.await.unwrap();
}

async fn submit(runtime: &Runtime, id: &str) {
    let text = format!(
        r#"{{"response":"{id}","components":[
            {{"id":"n","type":"notice","payload":{{}}}},
            {{"id":"a","type":"lift","payload":{{"to":"{id}"}}}},
            {{"id":"d","type":"done","payload":{{}},"requires":[{{"id":"a","phase":"dispatched"}}]}}]}}"#
    );
    let key = Some(format!("key of {id}"));
    let submitted = runtime.submit(ann(), text.into_bytes(), key, Room::default());
    submitted.await.unwrap();
    tokio::time::sleep(Duration::from_millis(30)).await;
}

/// A run with a bit of everything, over two processes; `retention` says whether it forgets.
async fn some_run(disk: &MemoryDisk, retention: Retention, every: u64) -> Yard {
    let yard = Yard::default();
    let runtime = start_with(disk, yard.plugs(), retention, every);
    gate(&runtime, 1, true).await;
    submit(&runtime, "r1").await;
    submit(&runtime, "r2").await;
    gate(&runtime, 2, false).await;
    submit(&runtime, "blocked").await;
    let kept = runtime.response(ann(), address("blocked")).await.unwrap();
    let obligation = kept.obligations.first().unwrap().obligation.unwrap().0;
    gate(&runtime, 3, true).await;
    let candidates = br#"[{"id":"a","type":"lift","payload":{"to":"other"}}]"#.to_vec();
    let sent = runtime.candidates(ann(), obligation, candidates);
    sent.await.unwrap();
    tokio::time::sleep(Duration::from_millis(30)).await;
    yard.outcomes.lock().unwrap().push(Outcome::Lost);
    submit(&runtime, "doubt").await;
    runtime.stop().await;
    let runtime = start_with(disk, yard.plugs(), retention, every);
    submit(&runtime, "r3").await;
    let settled = runtime.settle(
        ann(),
        address("doubt"),
        "a".into(),
        Settlement::DidNotHappen,
    );
    settled.await.unwrap();
    // Long enough that what may be forgotten is.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    submit(&runtime, "r4").await;
    runtime.stop().await;
    yard
}

fn records(disk: &MemoryDisk) -> Vec<Record> {
    disk.open().read(0, usize::MAX).unwrap()
}

/// A store with these records and no snapshot.
fn store(records: &[Record]) -> MemoryStore {
    let mut store = MemoryStore::new();
    let batch = Batch {
        records: records.to_vec(),
        current: Vec::new(),
    };
    store.append(&batch).unwrap();
    store
}

fn read(store: &MemoryStore) -> Result<Replayed, ReplayError> {
    let reader = store.reader().unwrap();
    replay(reader, Seed::new([4; 32]), |_| {}).map(Option::unwrap)
}

/// All that a machine is, but for its tokens.
fn saved(mut replayed: Replayed) -> String {
    let bytes = replayed.machine.save(Instant::MIN).bytes();
    String::from_utf8(bytes).unwrap()
}

fn at_once() -> Retention {
    Retention {
        closed: Duration::ZERO,
        payloads: None,
    }
}

#[tokio::test]
async fn from_a_snapshot_after_any_record_the_same_comes_as_from_the_whole() {
    for retention in [Retention::default(), at_once()] {
        let disk = MemoryStore::new().disk();
        some_run(&disk, retention, u64::MAX).await;
        let records = records(&disk);
        let whole = saved(read(&store(&records)).unwrap());
        for count in 1..=records.len() {
            let mut before = read(&store(&records[..count])).unwrap();
            let bytes = before.machine.save(before.newest).bytes();
            let snapshot = Snapshot::new(before.tip, bytes);
            let mut only = store(&records[..count]);
            only.save_snapshot(&snapshot).unwrap();
            assert_eq!(saved(read(&only).unwrap()), saved(before));
            let mut all = store(&records);
            all.save_snapshot(&snapshot).unwrap();
            let after = read(&all).unwrap();
            assert_eq!(after.from, count as u64);
            assert!(after.passed_over.is_empty(), "{:?}", after.passed_over);
            assert_eq!(saved(after), whole, "from a snapshot after record {count}");
        }
    }
}

#[tokio::test]
async fn a_runtime_takes_them_and_goes_on_from_them() {
    for every in [1, 3, 10] {
        let disk = MemoryStore::new().disk();
        let yard = some_run(&disk, at_once(), every).await;
        let newest = disk.open().snapshots().unwrap();
        // At a clean stop too.
        assert_eq!(newest.first().unwrap().after(), disk.open().tip().unwrap());
        assert_eq!(newest.len(), 2);
        let calls = yard.left().iter().filter(|one| *one == "call a").count();
        assert_eq!(calls, 6, "{:?}", yard.left());
        let audit = audit(Box::new(disk.open()), |_| {}).unwrap();
        assert!(audit.ok, "{audit:#?}");
        // What was decided before is known after.
        let runtime = start(&disk, yard.plugs());
        submit_again(&runtime).await;
        runtime.stop().await;
        assert_eq!(
            yard.left().iter().filter(|one| *one == "call a").count(),
            calls
        );
    }
}

async fn submit_again(runtime: &Runtime) {
    let text = br#"{"response":"r1","components":[]}"#.to_vec();
    let other = runtime.submit(ann(), text, None, Room::default()).await;
    let Err(halo_runtime::api::Failure::Refused(refusal)) = other else {
        panic!("{other:?}");
    };
    assert_eq!(refusal.code.name(), "response_conflict");
}

#[tokio::test]
async fn one_that_cannot_be_used_is_passed_over() {
    let disk = MemoryStore::new().disk();
    some_run(&disk, Retention::default(), u64::MAX).await;
    let records = records(&disk);
    let whole = saved(read(&store(&records)).unwrap());
    let half = records.len() / 2;
    let mut before = read(&store(&records[..half])).unwrap();
    let good = before.machine.save(before.newest).bytes();
    let text = String::from_utf8(good.clone()).unwrap();
    let bad = [
        b"{}".to_vec(),
        Vec::new(),
        text.replace("snapshot v1", "snapshot v0").into_bytes(),
        text.replace("catalog: yard", "catalog: other").into_bytes(),
        text.replace("catalog: yard", "catalog: [").into_bytes(),
        text.replace("\"documents\":[", "\"documents\":[\"}\",")
            .into_bytes(),
    ];
    for bad in bad {
        assert_ne!(bad, good);
        let mut all = store(&records);
        let tip = records.last().unwrap().tip();
        all.save_snapshot(&Snapshot::new(tip, bad)).unwrap();
        let after = read(&all).unwrap();
        assert_eq!((after.from, after.passed_over.len()), (0, 1));
        assert_eq!(saved(after), whole);
        all.save_snapshot(&Snapshot::new(before.tip, good.clone()))
            .unwrap();
        let after = read(&all).unwrap();
        assert_eq!((after.from, after.passed_over.len()), (half as u64, 1));
        assert_eq!(saved(after), whole);
    }
}

#[tokio::test]
async fn what_was_erased_is_counted_and_the_rest_is_computed_again() {
    let disk = MemoryStore::new().disk();
    some_run(&disk, Retention::default(), u64::MAX).await;
    let records = records(&disk);
    let count = records.len() as u64;
    let mut all = store(&records);
    for after in [10, 14] {
        let mut before = read(&store(&records[..after])).unwrap();
        let bytes = before.machine.save(before.newest).bytes();
        all.save_snapshot(&Snapshot::new(before.tip, bytes))
            .unwrap();
    }
    all.erase(&[5, 7]).unwrap();
    let audited = audit(all.reader().unwrap(), |_| {}).unwrap();
    assert!(audited.ok, "{audited:#?}");
    assert_eq!((audited.erased, audited.unfounded), (2, 4));
    assert_eq!(audited.records, count);
    // One more after the first snapshot: the second one stands for it.
    all.erase(&[11]).unwrap();
    let audited = audit(all.reader().unwrap(), |_| {}).unwrap();
    assert!(audited.ok, "{audited:#?}");
    assert_eq!((audited.erased, audited.unfounded), (3, 7));
    assert_eq!(read(&all).unwrap().from, 14);
    // Nothing stands for one after the last.
    all.erase(&[15]).unwrap();
    let failed = read(&all).err().unwrap();
    assert!(
        matches!(failed, ReplayError::Erased { number: 15 }),
        "{failed}"
    );
}

/// `retention.payloads`: nothing of a dropped response's payload is left, and all else goes on.
#[tokio::test]
async fn payloads_of_what_is_dropped_are_erased() {
    let disk = MemoryStore::new().disk();
    let retention = Retention {
        // Long enough that the last one is still there when it is looked for.
        closed: Duration::from_secs(1),
        payloads: Some(Duration::ZERO),
    };
    let yard = Yard::default();
    let runtime = start_with(&disk, yard.plugs(), retention, u64::MAX);
    gate(&runtime, 1, true).await;
    submit(&runtime, "secret-1").await;
    submit(&runtime, "secret-2").await;
    let holds = |text: &str| {
        let store = disk.open();
        let records = store.read(0, usize::MAX).unwrap();
        let bodies = records.iter().filter_map(|record| record.body.clone());
        let snapshots = store.snapshots().unwrap().into_iter();
        let snapshots = snapshots.map(|one| String::from_utf8(one.bytes).unwrap());
        bodies.chain(snapshots).any(|body| body.contains(text))
    };
    // Erasing comes with a record, once what is over was dropped.
    let mut last = String::new();
    for number in 0..40 {
        tokio::time::sleep(Duration::from_millis(250)).await;
        last = format!("kept-{number}");
        submit(&runtime, &last).await;
        if !holds(r#"\"to\":\"secret"#) {
            break;
        }
    }
    assert!(!holds(r#"\"to\":\"secret"#), "a payload is left");
    assert!(holds(&format!(r#"\"to\":\"{last}\""#)));
    runtime.stop().await;
    let audited = audit(Box::new(disk.open()), |_| {}).unwrap();
    assert!(audited.ok, "{audited:#?}");
    // How many decisions can still be computed depends on when the last snapshot was taken: see the test above for that.
    assert!(
        audited.erased > 4 && audited.erased < audited.records,
        "{audited:#?}"
    );
    let runtime = start_with(&disk, yard.plugs(), retention, u64::MAX);
    let before = calls(&yard);
    submit(&runtime, "after").await;
    runtime.stop().await;
    assert_eq!(
        calls(&yard),
        before + 1,
        "nothing that was erased acts again"
    );
}

fn calls(yard: &Yard) -> usize {
    yard.left().iter().filter(|one| *one == "call a").count()
}
