//! The runtime over a store in memory: what leaves, what waits, what a restart does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/runtime.rs"]
mod common;

use common::{Yard, start};
use halo_core::Outcome;
use halo_journal::{MemoryDisk, MemoryStore};
use halo_runtime::{
    api::{Address, Caller, Failure, Kept, Room},
    runtime::Runtime,
};
use std::time::Duration;

fn caller(name: &str) -> Caller {
    Caller {
        name: name.into(),
        sees_all: false,
    }
}

fn operator() -> Caller {
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

const OPEN: &str = r#"{"epoch":1,"value":{"open":true}}"#;

async fn open_gate(runtime: &Runtime) {
    runtime
        .write_state(operator(), "gate".into(), OPEN.into())
        .await
        .unwrap();
}

fn response(id: &str) -> String {
    format!(
        r#"{{"response":"{id}","components":[
            {{"id":"n","type":"notice","payload":{{}}}},
            {{"id":"a","type":"lift","payload":{{"to":"{id}"}}}},
            {{"id":"d","type":"done","payload":{{}},"requires":[{{"id":"a","phase":"dispatched"}}]}}]}}"#
    )
}

async fn submit(runtime: &Runtime, who: &str, id: &str) -> Result<Kept, Failure> {
    let submitted = runtime
        .submit(
            caller(who),
            response(id).into_bytes(),
            None,
            Room::default(),
        )
        .await?;
    Ok(submitted.kept)
}

/// Waits until nothing of the response is on its way.
async fn settled(runtime: &Runtime, who: &str, id: &str) -> Kept {
    for _ in 0..2_000 {
        let kept = runtime.response(caller(who), address(id)).await.unwrap();
        if !kept.moving {
            return kept;
        }
        let _ = tokio::time::timeout(
            Duration::from_millis(100),
            runtime.changed(caller(who), address(id), kept.changed),
        )
        .await;
    }
    panic!("still moving");
}

/// I8: the journal alone gives the same decisions.
fn recomputes(disk: &MemoryDisk) {
    let audit = halo_runtime::audit::audit(Box::new(disk.open()), |_| {}).unwrap();
    assert!(audit.ok, "{audit:#?}");
    assert!(audit.decisions > 0);
}

fn phases(kept: &Kept) -> Vec<&'static str> {
    kept.components
        .iter()
        .map(|component| component.phase)
        .collect()
}

#[tokio::test]
async fn what_is_supported_leaves_once_and_in_order() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let runtime = start(&disk, yard.plugs());
    open_gate(&runtime).await;
    submit(&runtime, "ann", "r1").await.unwrap();
    let kept = settled(&runtime, "ann", "r1").await;
    assert_eq!(phases(&kept), ["emitted", "dispatched", "emitted"]);
    let left = yard.left();
    assert_eq!(left.iter().filter(|one| *one == "call a").count(), 1);
    assert_eq!(left.last().unwrap(), "emit d");
    assert_eq!(left.len(), 3);
    runtime.stop().await;
    recomputes(&disk);
}

#[tokio::test]
async fn what_is_not_supported_stays_and_comes_back() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let runtime = start(&disk, yard.plugs());
    let shut = r#"{"epoch":1,"value":{"open":false}}"#;
    runtime
        .write_state(operator(), "gate".into(), shut.into())
        .await
        .unwrap();
    submit(&runtime, "ann", "r1").await.unwrap();
    let kept = settled(&runtime, "ann", "r1").await;
    assert_eq!(phases(&kept), ["emitted", "withheld", "withheld"]);
    let open = r#"{"epoch":2,"value":{"open":true}}"#;
    runtime
        .write_state(operator(), "gate".into(), open.into())
        .await
        .unwrap();
    let obligation = kept.obligations.first().unwrap().obligation.unwrap().0;
    let foreign = runtime
        .candidates(caller("bob"), obligation, b"[]".to_vec())
        .await;
    assert!(matches!(foreign, Err(Failure::NotFound(_))));
    let candidates = br#"[{"id":"a","type":"lift","payload":{"to":"r1"}}]"#;
    runtime
        .candidates(caller("ann"), obligation, candidates.to_vec())
        .await
        .unwrap();
    let kept = settled(&runtime, "ann", "r1").await;
    assert_eq!(phases(&kept), ["emitted", "dispatched", "withheld"]);
    assert_eq!(yard.left(), ["emit n", "call a"]);
    runtime.stop().await;
    recomputes(&disk);
}

#[tokio::test]
async fn two_agents_may_use_the_same_id_and_see_only_their_own() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let runtime = start(&disk, yard.plugs());
    open_gate(&runtime).await;
    submit(&runtime, "ann", "r1").await.unwrap();
    submit(&runtime, "bob", "r1").await.unwrap();
    settled(&runtime, "ann", "r1").await;
    settled(&runtime, "bob", "r1").await;
    assert_eq!(yard.left().iter().filter(|one| *one == "call a").count(), 2);
    let other = runtime.response(caller("eve"), address("r1")).await;
    assert!(matches!(other, Err(Failure::NotFound(_))));
    let both = runtime.response(operator(), address("r1")).await;
    assert!(matches!(both, Err(Failure::Ambiguous(_))));
    runtime.stop().await;
    recomputes(&disk);
}

#[tokio::test]
async fn a_restart_tells_what_happened_and_repeats_nothing() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let runtime = start(&disk, yard.plugs());
    open_gate(&runtime).await;
    submit(&runtime, "ann", "r1").await.unwrap();
    let before = settled(&runtime, "ann", "r1").await;
    runtime.stop().await;
    let runtime = start(&disk, yard.plugs());
    let after = settled(&runtime, "ann", "r1").await;
    assert_eq!(phases(&before), phases(&after));
    assert_eq!(yard.left().len(), 3);
    let again = runtime
        .submit(
            caller("ann"),
            response("r1").into_bytes(),
            None,
            Room::default(),
        )
        .await
        .unwrap();
    assert!(!again.new);
    assert_eq!(yard.left().len(), 3);
    runtime.stop().await;
    recomputes(&disk);
}

#[tokio::test]
async fn an_action_in_doubt_holds_its_lane_until_it_is_settled() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    yard.outcomes.lock().unwrap().push(Outcome::Lost);
    let runtime = start(&disk, yard.plugs());
    open_gate(&runtime).await;
    submit(&runtime, "ann", "r1").await.unwrap();
    let kept = settled(&runtime, "ann", "r1").await;
    assert_eq!(phases(&kept), ["emitted", "in_doubt", "pending"]);
    submit(&runtime, "ann", "r2").await.unwrap();
    let answer = runtime
        .dispatch(caller("ann"), address("r2"), "a".into())
        .await
        .unwrap();
    assert_eq!(answer.name(), "lane_in_doubt");
    let happened = halo_core::Settlement::Happened;
    runtime
        .settle(operator(), address("r1"), "a".into(), happened)
        .await
        .unwrap();
    let kept = settled(&runtime, "ann", "r2").await;
    assert_eq!(phases(&kept), ["emitted", "dispatched", "emitted"]);
    assert_eq!(yard.left().iter().filter(|one| *one == "call a").count(), 2);
    runtime.stop().await;
    recomputes(&disk);
}

#[tokio::test]
async fn a_store_that_fails_stops_everything_and_comes_back() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let runtime = start(&disk, yard.plugs());
    open_gate(&runtime).await;
    disk.set_full(true);
    let refused = submit(&runtime, "ann", "r1").await;
    assert!(matches!(refused, Err(Failure::Unserved(_))), "{refused:?}");
    assert!(yard.left().is_empty());
    disk.set_full(false);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    submit(&runtime, "ann", "r1").await.unwrap();
    let kept = settled(&runtime, "ann", "r1").await;
    assert_eq!(phases(&kept), ["emitted", "dispatched", "emitted"]);
    runtime.stop().await;
    recomputes(&disk);
}

#[tokio::test]
async fn an_explanation_names_the_check_its_values_and_the_way_back() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    yard.outcomes.lock().unwrap().push(Outcome::Lost);
    let runtime = start(&disk, yard.plugs());
    open_gate(&runtime).await;
    // The first one is in doubt and holds the lane; the second is admitted, waits, and loses its support.
    submit(&runtime, "ann", "r1").await.unwrap();
    settled(&runtime, "ann", "r1").await;
    submit(&runtime, "ann", "r2").await.unwrap();
    let shut = r#"{"epoch":2,"value":{"open":false}}"#;
    runtime
        .write_state(operator(), "gate".into(), shut.into())
        .await
        .unwrap();
    let explained = runtime
        .explain(caller("ann"), address("r2"), "a".into())
        .await
        .unwrap();
    assert_eq!(explained.component.phase, "withheld");
    let gate = explained.records.first().unwrap();
    assert!(gate.at_admission.as_ref().unwrap().get().contains("true"));
    assert!(gate.at_the_end.as_ref().unwrap().get().contains("false"));
    assert!(
        explained.way_back.contains("refresh gate"),
        "{}",
        explained.way_back
    );
    assert_eq!(explained.history.len(), 4, "{:#?}", explained.history);
    runtime.stop().await;
    recomputes(&disk);
}

#[tokio::test]
async fn a_changed_decision_is_named() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let runtime = start(&disk, yard.plugs());
    open_gate(&runtime).await;
    submit(&runtime, "ann", "r1").await.unwrap();
    settled(&runtime, "ann", "r1").await;
    runtime.stop().await;
    // A journal whose chain is whole, but which claims another decision.
    let forged = MemoryStore::new().disk();
    let mut chain = halo_journal::Chain::default();
    let mut store = forged.open();
    for record in halo_journal::Reader::read(&disk.open(), 0, 1_000).unwrap() {
        let body = record
            .body
            .unwrap()
            .replace("\"to\":\"dispatched\"", "\"to\":\"withheld\"");
        let draft = halo_journal::Draft {
            at: record.at,
            kind: record.kind,
            body,
        };
        let batch = halo_journal::Batch {
            records: vec![chain.link(draft)],
            current: Vec::new(),
        };
        halo_journal::Store::append(&mut store, &batch).unwrap();
    }
    let audit = halo_runtime::audit::audit(Box::new(store), |_| {}).unwrap();
    assert!(!audit.ok);
    assert!(
        audit
            .faults
            .iter()
            .all(|fault| fault.what.contains("withheld")),
        "{audit:#?}"
    );
}

#[tokio::test]
async fn shadow_mode_lets_through_and_counts_what_it_would_have_withheld() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let mut plugs = yard.plugs();
    plugs.adapters.get_mut("crane").unwrap().shadow = true;
    let runtime = start(&disk, plugs);
    // The gate is not even known: enforcement would withhold.
    submit(&runtime, "ann", "r1").await.unwrap();
    let kept = settled(&runtime, "ann", "r1").await;
    assert_eq!(phases(&kept), ["emitted", "dispatched", "emitted"]);
    let counters = runtime
        .read(|driver| driver.counters().clone())
        .await
        .unwrap();
    assert_eq!(
        counters.would_have_withheld.get("state_missing"),
        Some(&2),
        "at admission and at the gate"
    );
    runtime.stop().await;
    recomputes(&disk);
    // Enforced again: what was let through stays, and the next one is withheld.
    let runtime = start(&disk, yard.plugs());
    submit(&runtime, "ann", "r2").await.unwrap();
    let kept = settled(&runtime, "ann", "r2").await;
    assert_eq!(phases(&kept), ["emitted", "withheld", "withheld"]);
    runtime.stop().await;
    recomputes(&disk);
}
