//! Faults that the runtime survives (protocol.md I9), over stores, ports and files that fail on demand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "faults/yard.rs"]
mod yard;

use halo_core::Settlement;
use halo_journal::{Fault, MemoryDisk, MemoryStore, Reader as _, SqliteStore, StoreError};
use halo_runtime::{
    api::{Address, Caller, Failure, Kept, Room},
    dispatched::{Fate, dispatched},
    driver::Driver,
    epoch::EpochFile,
    ports::plugs::Mode,
    runtime::Runtime,
};
use std::{collections::BTreeSet, time::Duration};
use yard::{FaultyStore, Manner, Yard, prefix, start};

fn caller() -> Caller {
    Caller {
        name: "ops".into(),
        sees_all: true,
    }
}

fn address(id: &str) -> Address {
    Address {
        id: id.into(),
        owner: None,
    }
}

async fn write(runtime: &Runtime, source: &str, record: &str) {
    runtime
        .write_state(caller(), source.into(), record.into())
        .await
        .unwrap();
}

/// A gate that is open.
async fn open_gate(runtime: &Runtime) {
    write(runtime, "gate", r#"{"value":{"open":true}}"#).await;
}

async fn submit(runtime: &Runtime, id: &str, components: &str) -> Result<Kept, Failure> {
    let text = format!(r#"{{"response":"{id}","components":[{components}]}}"#);
    let room = Room::default();
    let submitted = runtime
        .submit(caller(), text.into_bytes(), None, room)
        .await?;
    Ok(submitted.kept)
}

fn notice(id: &str) -> String {
    format!(r#"{{"id":"{id}","type":"notice","payload":{{}}}}"#)
}

fn lift(id: &str) -> String {
    format!(r#"{{"id":"{id}","type":"lift","payload":{{"lane":"{id}"}}}}"#)
}

fn print(id: &str) -> String {
    format!(r#"{{"id":"{id}","type":"print","payload":{{}}}}"#)
}

/// The response once nothing of it is on its way.
async fn settled(runtime: &Runtime, id: &str) -> Kept {
    for _ in 0..200 {
        if let Ok(kept) = runtime.response(caller(), address(id)).await
            && !kept.moving
        {
            return kept;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("still moving");
}

fn phases(kept: &Kept) -> Vec<&'static str> {
    let components = kept.components.iter();
    components.map(|component| component.phase).collect()
}

/// Waits until the store writes again.
async fn recovered(runtime: &Runtime) {
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(25)).await;
        if runtime.look(|driver| driver.halted().is_none()).await == Some(true) {
            return;
        }
    }
    panic!("still halted");
}

/// I8: the journal alone gives the same decisions.
fn recomputes(reader: Box<dyn halo_journal::Reader>) {
    let audit = halo_runtime::audit::audit(reader, |_| {}).unwrap();
    assert!(audit.ok, "{audit:#?}");
}

#[tokio::test]
async fn a_flush_that_fails_lets_nothing_leave_and_is_an_error() {
    for stored in [false, true] {
        let (folder, yard) = (tempfile::tempdir().unwrap(), Yard::default());
        let (store, faults) = FaultyStore::boxed(SqliteStore::open(folder.path()).unwrap());
        let runtime = start(store, yard.plugs(), None).unwrap();
        open_gate(&runtime).await;
        faults.send(Fault::Flush { stored }).unwrap();
        let components = format!("{},{}", notice("n"), lift("l"));
        let refused = submit(&runtime, "r1", &components).await;
        assert!(matches!(refused, Err(Failure::Unserved(_))), "{refused:?}");
        assert_eq!(yard.left(), [""; 0]);
        recovered(&runtime).await;
        submit(&runtime, "r1", &components).await.unwrap();
        let kept = settled(&runtime, "r1").await;
        match stored {
            // It never was; now it is.
            false => {
                assert_eq!(phases(&kept), ["emitted", "dispatched"]);
                assert_eq!(yard.left().len(), 2);
            }
            // It was there all the same, armed: nobody knows, so nothing leaves.
            true => {
                assert_eq!(phases(&kept), ["in_doubt", "in_doubt"]);
                assert_eq!(yard.left(), [""; 0]);
            }
        }
        runtime.stop().await;
        recomputes(Box::new(
            SqliteStore::open_read_only(folder.path()).unwrap(),
        ));
    }
}

#[tokio::test]
async fn a_full_disk_lets_nothing_leave_until_there_is_room() {
    let (folder, yard) = (tempfile::tempdir().unwrap(), Yard::default());
    let (store, faults) = FaultyStore::boxed(SqliteStore::open(folder.path()).unwrap());
    let runtime = start(store, yard.plugs(), None).unwrap();
    open_gate(&runtime).await;
    faults.send(Fault::Room(Some(1))).unwrap();
    let large = format!(
        r#"{{"id":"n","type":"notice","payload":{{"text":"{}"}}}},{}"#,
        "x".repeat(200_000),
        lift("l")
    );
    match submit(&runtime, "r1", &large).await {
        Err(Failure::Unserved(error)) => {
            assert!(error.to_string().contains("no space left"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let refused = submit(&runtime, "r2", &large).await;
    assert!(matches!(refused, Err(Failure::Unserved(_))), "{refused:?}");
    assert_eq!(yard.left(), [""; 0]);
    faults.send(Fault::Room(None)).unwrap();
    recovered(&runtime).await;
    submit(&runtime, "r1", &large).await.unwrap();
    assert_eq!(
        phases(&settled(&runtime, "r1").await),
        ["emitted", "dispatched"]
    );
    assert_eq!(yard.left().len(), 2);
    runtime.stop().await;
    recomputes(Box::new(
        SqliteStore::open_read_only(folder.path()).unwrap(),
    ));
}

#[tokio::test]
async fn a_second_process_on_a_directory_does_not_start() {
    let (folder, yard) = (tempfile::tempdir().unwrap(), Yard::default());
    let store = Box::new(SqliteStore::open(folder.path()).unwrap());
    let runtime = start(store, yard.plugs(), None).unwrap();
    let second = SqliteStore::open(folder.path());
    assert!(matches!(second, Err(StoreError::InUse { .. })));
    open_gate(&runtime).await;
    runtime.stop().await;
    drop(runtime);
    SqliteStore::open(folder.path()).unwrap();
}

const INKED: &str = r#"{"epoch":5,"value":{"ok":true}}"#;

#[tokio::test]
async fn what_a_provider_does_at_the_last_look_lets_nothing_leave() {
    for at_the_gate in [
        Ok(r#"{"epoch":4,"value":{"ok":true}}"#),
        Ok(r#"{"epoch":5,"value":{"ok":true,"other":1}}"#),
        Ok(r#"{"epoch":6,"value":{"ok":false}}"#),
        Ok("{"),
        Err(Manner::Hang),
        Err(Manner::Drip),
        Err(Manner::Panic),
    ] {
        let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
        yard.meter.push(Ok(INKED));
        yard.meter.push(at_the_gate);
        let runtime = start(Box::new(disk.open()), yard.plugs(), None).unwrap();
        open_gate(&runtime).await;
        // The lift does not read the meter: nothing about it changes.
        let components = format!("{},{}", print("p"), lift("l"));
        submit(&runtime, "r1", &components).await.unwrap();
        let kept = settled(&runtime, "r1").await;
        assert_eq!(
            phases(&kept),
            ["withheld", "dispatched"],
            "{at_the_gate:?} {kept:#?}"
        );
        assert_eq!(yard.left(), ["call l"]);
        runtime.stop().await;
        recomputes(Box::new(disk.open()));
        // What its last look stopped had a token, and is nobody's authority all the same.
        assert_eq!(authorized(&disk), [("l".to_owned(), Fate::Accepted)]);
    }
}

/// What a journal says was authorized to leave, and what became of it.
fn authorized(disk: &MemoryDisk) -> Vec<(String, Fate)> {
    let found = dispatched(Box::new(disk.open()), |_| Some(()), |_| {}).unwrap();
    assert_eq!(found.not_told, 0);
    let dispatched = found.dispatched.into_iter();
    dispatched.map(|one| (one.component, one.outcome)).collect()
}

#[tokio::test]
async fn what_may_have_left_was_authorized_by_every_journal_that_a_crash_leaves() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let runtime = start(Box::new(disk.open()), yard.plugs(), None).unwrap();
    open_gate(&runtime).await;
    submit(&runtime, "r1", &lift("l")).await.unwrap();
    assert_eq!(phases(&settled(&runtime, "r1").await), ["dispatched"]);
    runtime.stop().await;
    let records = disk.open().tip().unwrap().number as usize;
    let said: Vec<_> = (0..=records)
        .map(|records| authorized(&prefix(&disk, records)))
        .collect();
    let only = |fate| vec![("l".to_owned(), fate)];
    // Nothing, until its token is spent; then it may have left; then its outcome is known.
    let mut different = said.clone();
    different.dedup();
    assert_eq!(
        different,
        [vec![], only(Fate::NotKnown), only(Fate::Accepted)],
        "{said:?}"
    );
}

#[tokio::test]
async fn a_provider_that_lies_reaches_only_those_who_read_it() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    for _ in 0..2 {
        yard.meter.push(Ok(INKED));
    }
    let runtime = start(Box::new(disk.open()), yard.plugs(), None).unwrap();
    write(&runtime, "gate", r#"{"value":{"open":false}}"#).await;
    let components = format!("{},{},{}", print("p"), lift("l"), notice("n"));
    submit(&runtime, "r1", &components).await.unwrap();
    let kept = settled(&runtime, "r1").await;
    assert_eq!(phases(&kept), ["dispatched", "withheld", "emitted"]);
    runtime.stop().await;
    recomputes(Box::new(disk.open()));
}

#[tokio::test]
async fn an_adapter_that_hangs_panics_or_is_late_is_in_doubt_and_leaves_its_section() {
    for manner in [Manner::Hang, Manner::Panic, Manner::Late, Manner::Drip] {
        let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
        yard.crane.push(Err(manner));
        let mut plugs = yard.plugs();
        let crane = plugs.adapters.get_mut("crane").unwrap();
        crane.hold_in_doubt = false;
        crane.lane = None;
        let runtime = start(Box::new(disk.open()), plugs, None).unwrap();
        open_gate(&runtime).await;
        let components = format!("{},{}", lift("l"), lift("m"));
        submit(&runtime, "r1", &components).await.unwrap();
        let kept = settled(&runtime, "r1").await;
        assert_eq!(phases(&kept), ["in_doubt", "dispatched"], "{manner:?}");
        // A late answer changes nothing.
        tokio::time::sleep(yard::LATE).await;
        let kept = settled(&runtime, "r1").await;
        assert_eq!(phases(&kept), ["in_doubt", "dispatched"], "{manner:?}");
        assert_eq!(yard.left(), ["call l", "call m"]);
        runtime.stop().await;
        recomputes(Box::new(disk.open()));
    }
}

async fn settle(runtime: &Runtime, id: &str, component: &str) {
    let happened = Settlement::Happened;
    runtime
        .settle(caller(), address(id), component.into(), happened)
        .await
        .unwrap();
}

#[tokio::test]
async fn an_answer_of_before_a_rebuild_does_not_hold_a_lane_that_was_settled() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    // The call from before is still out when the next one of its lane is, and ends first.
    for _ in 0..2 {
        yard.crane.push(Err(Manner::Hang));
    }
    let mut plugs = yard.plugs();
    let crane = plugs.adapters.get_mut("crane").unwrap();
    crane.lane = None;
    crane.timeout = Duration::from_millis(2_500);
    let runtime = start(Box::new(disk.open()), plugs, None).unwrap();
    open_gate(&runtime).await;
    submit(&runtime, "r1", &lift("l")).await.unwrap();
    while yard.left().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    disk.fail_next(StoreError::Ended);
    let failed = submit(&runtime, "r2", &notice("n")).await;
    assert!(matches!(failed, Err(Failure::Unserved(_))), "{failed:?}");
    recovered(&runtime).await;
    assert_eq!(phases(&settled(&runtime, "r1").await), ["in_doubt"]);
    settle(&runtime, "r1", "l").await;
    submit(&runtime, "r3", &lift("m")).await.unwrap();
    assert_eq!(phases(&settled(&runtime, "r3").await), ["in_doubt"]);
    settle(&runtime, "r3", "m").await;
    submit(&runtime, "r4", &lift("k")).await.unwrap();
    assert_eq!(phases(&settled(&runtime, "r4").await), ["dispatched"]);
    runtime.stop().await;
    recomputes(Box::new(disk.open()));
}

#[tokio::test]
async fn what_an_end_in_good_order_held_back_goes_out_once_although_the_next_start_is_cut_off() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let runtime = start(Box::new(disk.open()), yard.plugs(), None).unwrap();
    // From here on nothing new leaves.
    runtime.look(Driver::stop).await;
    submit(&runtime, "r1", &notice("n")).await.unwrap();
    runtime.stop().await;
    assert_eq!(yard.left(), [""; 0]);
    let runtime = start(Box::new(disk.open()), yard.plugs(), None).unwrap();
    assert_eq!(phases(&settled(&runtime, "r1").await), ["emitted"]);
    runtime.stop().await;
    assert_eq!(yard.left(), ["emit n"]);
    // The process dies after that start was durable, before anything said that the notice goes out.
    let restart = disk_kinds(&disk)
        .iter()
        .rposition(|kind| kind == "restart")
        .unwrap();
    let cut = prefix(&disk, restart + 1);
    let runtime = start(Box::new(cut.open()), yard.plugs(), None).unwrap();
    assert_eq!(phases(&settled(&runtime, "r1").await), ["in_doubt"]);
    assert_eq!(yard.left(), ["emit n"]);
    runtime.stop().await;
    recomputes(Box::new(cut.open()));
}

fn disk_kinds(disk: &MemoryDisk) -> Vec<String> {
    let records = halo_journal::Reader::read(&disk.open(), 0, 100_000).unwrap();
    let kinds = records.iter().map(|record| record.kind.to_string());
    kinds.collect()
}

/// Every prefix of a journal is what some crash leaves. What was armed in it may have been called; what was not, was not.
#[tokio::test]
async fn whatever_prefix_a_crash_leaves_nothing_is_called_a_second_time() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    yard.meter.always(INKED);
    let runtime = start(Box::new(disk.open()), yard.plugs(), None).unwrap();
    open_gate(&runtime).await;
    let components = format!("{},{},{},{}", notice("n"), lift("l"), lift("m"), print("p"));
    submit(&runtime, "r1", &components).await.unwrap();
    settled(&runtime, "r1").await;
    write(&runtime, "gate", r#"{"value":{"open":true,"again":1}}"#).await;
    submit(&runtime, "r2", &lift("k")).await.unwrap();
    settled(&runtime, "r2").await;
    runtime.stop().await;
    let records = halo_journal::Reader::read(&disk.open(), 0, 100_000).unwrap();
    let mut may_have_left = BTreeSet::new();
    for (cut, record) in records.iter().enumerate() {
        let body = record.body.as_deref().unwrap_or("");
        for id in ["l", "m", "p", "k"] {
            if &*record.kind == "dispatch" && body.contains(&format!("\"component\":\"{id}\"")) {
                may_have_left.insert(format!("call {id}"));
            }
        }
        if &*record.kind == "submit" && body.contains("\"n\"") {
            may_have_left.insert("emit n".into());
        }
        let cut = prefix(&disk, cut + 1);
        let yard = Yard::default();
        yard.meter.always(INKED);
        let runtime = start(Box::new(cut.open()), yard.plugs(), None).unwrap();
        for id in ["r1", "r2"] {
            if runtime.response(caller(), address(id)).await.is_ok() {
                settled(&runtime, id).await;
            }
        }
        for left in yard.left() {
            assert!(
                !may_have_left.contains(&left),
                "{left} after record {}: {may_have_left:?}",
                record.number
            );
        }
        runtime.stop().await;
        recomputes(Box::new(cut.open()));
    }
}

#[tokio::test]
async fn an_older_copy_of_the_directory_is_void() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("epoch");
    let plugs = || {
        let mut plugs = yard.plugs();
        plugs.adapters.get_mut("crane").unwrap().mode = Mode::Manual;
        plugs
    };
    let begin = |disk: &MemoryDisk| {
        let epoch = EpochFile::open(&file).unwrap();
        start(Box::new(disk.open()), plugs(), Some(epoch)).unwrap()
    };
    let runtime = begin(&disk);
    open_gate(&runtime).await;
    submit(&runtime, "r1", &lift("l")).await.unwrap();
    runtime.stop().await;
    let copy = prefix(&disk, usize::MAX);
    let runtime = begin(&disk);
    let authorized = runtime
        .dispatch(caller(), address("r1"), "l".into())
        .await
        .unwrap();
    assert_eq!(authorized.name(), "authorized");
    runtime.stop().await;
    assert_eq!(yard.left(), ["call l"]);
    let runtime = begin(&copy);
    let denied = runtime
        .dispatch(caller(), address("r1"), "l".into())
        .await
        .unwrap();
    assert_eq!(denied.name(), "not_retained");
    let kept = runtime.response(caller(), address("r1")).await.unwrap();
    assert_eq!(phases(&kept), ["invalidated"]);
    assert_eq!(yard.left(), ["call l"]);
    runtime.stop().await;
    recomputes(Box::new(copy.open()));
}

#[tokio::test]
async fn a_start_that_was_cut_off_is_no_older_copy() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("epoch");
    let begin = |disk: &MemoryDisk| {
        let mut plugs = yard.plugs();
        plugs.adapters.get_mut("crane").unwrap().mode = Mode::Manual;
        let epoch = EpochFile::open(&file).unwrap();
        start(Box::new(disk.open()), plugs, Some(epoch))
    };
    let runtime = begin(&disk).unwrap();
    open_gate(&runtime).await;
    submit(&runtime, "r1", &lift("l")).await.unwrap();
    runtime.stop().await;
    // A start of which nothing became durable must not have been noted outside.
    disk.set_full(true);
    assert!(begin(&disk).is_err());
    disk.set_full(false);
    // One that became durable and was not noted outside is no harm either.
    let noted = std::fs::read_to_string(&file).unwrap();
    begin(&disk).unwrap().stop().await;
    std::fs::write(&file, noted).unwrap();
    let runtime = begin(&disk).unwrap();
    let kept = runtime.response(caller(), address("r1")).await.unwrap();
    assert_eq!(phases(&kept), ["retained"]);
    runtime.stop().await;
}

#[tokio::test]
async fn a_rebuild_is_noted_outside_as_a_start_is() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("epoch");
    let epoch = EpochFile::open(&file).unwrap();
    let runtime = start(Box::new(disk.open()), yard.plugs(), Some(epoch)).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\n");
    disk.fail_next(StoreError::Ended);
    assert!(submit(&runtime, "r1", &notice("n")).await.is_err());
    recovered(&runtime).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "2\n");
    runtime.stop().await;
}

/// P29: two payments that each fit must not both leave before the balance is known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_payments_over_two_lanes_never_overspend_one_budget() {
    const PAYMENTS: u64 = 10_000;
    const AT_ONCE: u64 = 20;
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let runtime = start(Box::new(disk.open()), yard.plugs(), None).unwrap();
    let mut amounts = 0x9E37_79B9_u64;
    let mut paid = 0;
    for round in 0..PAYMENTS / AT_ONCE {
        yard.bank.deposit(60);
        push_balance(&runtime, &yard).await;
        let payments: Vec<String> = (0..AT_ONCE)
            .map(|at| {
                amounts = amounts.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                let amount = 1 + (amounts >> 33) % 9;
                let lane = if at % 2 == 0 { "even" } else { "odd" };
                format!(
                    r#"{{"id":"p{at}","type":"pay","payload":{{"lane":"{lane}","amount":{amount}}}}}"#
                )
            })
            .collect();
        let id = format!("r{round}");
        submit(&runtime, &id, &payments.join(",")).await.unwrap();
        loop {
            let kept = runtime.response(caller(), address(&id)).await.unwrap();
            let open = ["retained", "pending"];
            if !phases(&kept).iter().any(|phase| open.contains(phase)) {
                paid += phases(&kept)
                    .iter()
                    .filter(|phase| **phase == "dispatched")
                    .count();
                break;
            }
            push_balance(&runtime, &yard).await;
        }
    }
    assert!(yard.bank.lowest() >= 0, "overspent: {}", yard.bank.lowest());
    let payments = usize::try_from(PAYMENTS).unwrap();
    assert!(paid > payments / 4 && paid < payments, "{paid} paid");
    runtime.stop().await;
}

async fn push_balance(runtime: &Runtime, yard: &Yard) {
    let at = halo_canon::Instant::from_nanos(halo_runtime::clock::Reading::now().wall);
    let left = yard.bank.left();
    let record = format!(r#"{{"observed_at":"{at}","value":{{"left":{left}}}}}"#);
    write(runtime, "budget/main", &record).await;
}
