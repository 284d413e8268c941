//! P17: an adapter that can look is asked what became of its calls, also by the process after a crash.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/runtime.rs"]
mod common;

use common::{Yard, start};
use halo_core::{DispatchPermit, Outcome};
use halo_journal::{MemoryDisk, MemoryStore};
use halo_runtime::{
    api::{Address, Caller, Kept, Room},
    ports::{
        Adapter, Answering, Attempt, Observer, Sighting,
        plugs::{AdapterPlug, Plugs},
    },
    runtime::Runtime,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// A crane that can be looked at.
#[derive(Clone, Default)]
struct Seen {
    yard: Yard,
    /// What a look finds next; the last one for ever.
    sightings: Arc<Mutex<Vec<Result<Sighting, String>>>>,
    looks: Arc<Mutex<Vec<Attempt>>>,
    /// Calls never answer.
    hangs: bool,
}

impl Seen {
    fn finding(sightings: &[Result<Sighting, &str>]) -> Self {
        let sightings = sightings.iter().rev();
        let sightings = sightings.map(|one| one.map_err(str::to_owned));
        Self {
            sightings: Arc::new(Mutex::new(sightings.collect())),
            ..Self::default()
        }
    }

    fn plugs(&self) -> Plugs {
        let mut plugs = self.yard.plugs();
        let mut plug = AdapterPlug::new(Arc::new(self.clone()));
        plug.timeout = Duration::from_secs(60);
        plugs.adapters.insert("crane".into(), plug);
        plugs
    }

    fn looks(&self) -> Vec<Attempt> {
        self.looks.lock().unwrap().clone()
    }
}

impl Adapter for Seen {
    fn target(&self) -> String {
        self.yard.target()
    }
    fn call(&self, permit: DispatchPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            let outcome = self.yard.call(permit).await;
            if self.hangs {
                std::future::pending::<()>().await;
            }
            outcome
        })
    }
    fn observer(&self) -> Option<&dyn Observer> {
        Some(self)
    }
}

impl Observer for Seen {
    fn look<'a>(&'a self, attempt: &'a Attempt) -> Answering<'a, Result<Sighting, String>> {
        Box::pin(async move {
            self.looks.lock().unwrap().push(attempt.clone());
            let mut sightings = self.sightings.lock().unwrap();
            match sightings.len() {
                1 => sightings[0].clone(),
                _ => sightings.pop().unwrap(),
            }
        })
    }
}

fn operator() -> Caller {
    Caller {
        name: "ops".into(),
        sees_all: true,
    }
}

async fn read(runtime: &Runtime) -> Kept {
    let address = Address {
        id: "r".into(),
        owner: None,
    };
    runtime.response(operator(), address).await.unwrap()
}

/// Submits an action with a status that waits for it.
async fn submit(runtime: &Runtime) {
    let open = r#"{"epoch":1,"value":{"open":true}}"#;
    runtime
        .write_state(operator(), "gate".into(), open.into())
        .await
        .unwrap();
    let text = r#"{"response":"r","components":[{"id":"a","type":"lift","payload":{"to":"r"}},
        {"id":"d","type":"done","payload":{},"requires":[{"id":"a","phase":"observed"}]}]}"#;
    let text = text.replace("observed", "dispatched").into_bytes();
    runtime
        .submit(operator(), text, None, Room::default())
        .await
        .unwrap();
}

/// Waits until the action is in that phase.
async fn comes_to(runtime: &Runtime, phase: &str) -> Kept {
    let mut kept = read(runtime).await;
    for _ in 0..2_000 {
        if kept.components[0].phase == phase {
            return kept;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        kept = read(runtime).await;
    }
    panic!("{:?}", kept.components[0]);
}

fn recomputes(disk: &MemoryDisk) {
    let audit = halo_runtime::audit::audit(Box::new(disk.open()), |_| {}).unwrap();
    assert!(audit.ok, "{audit:#?}");
}

#[tokio::test]
async fn an_accepted_action_is_observed_once_its_effect_is_seen() {
    let disk = MemoryStore::new().disk();
    let seen = Seen::finding(&[Ok(Sighting::NotDone), Err("fog"), Ok(Sighting::Done)]);
    let runtime = start(&disk, seen.plugs());
    submit(&runtime).await;
    let kept = comes_to(&runtime, "observed").await;
    let looks = seen.looks();
    assert_eq!(looks.len(), 3);
    assert_eq!(Some(looks[0].binding), kept.components[0].binding);
    assert_eq!(looks[0].payload, r#"{"to":"r"}"#);
    assert_eq!(looks[0].bound, [("gate.epoch".into(), "1".to_owned())]);
    assert_eq!((looks[0].generation, &*looks[0].type_name), (1, "lift"));
    runtime.stop().await;
    recomputes(&disk);
}

#[tokio::test]
async fn what_got_no_answer_is_settled_by_a_look() {
    for (sighting, phase, left) in [
        (Sighting::Done, "observed", vec!["call a", "emit d"]),
        (Sighting::NotDone, "failed", vec!["call a"]),
    ] {
        let disk = MemoryStore::new().disk();
        let seen = Seen::finding(&[Err("fog"), Ok(sighting)]);
        seen.yard.outcomes.lock().unwrap().push(Outcome::Lost);
        let runtime = start(&disk, seen.plugs());
        submit(&runtime).await;
        let kept = comes_to(&runtime, phase).await;
        if phase == "failed" {
            assert_eq!(kept.components[0].reasons[0].code.name(), "did_not_happen");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(seen.yard.left(), left);
        runtime.stop().await;
        recomputes(&disk);
    }
}

#[tokio::test]
async fn after_a_crash_a_look_settles_what_was_out() {
    for (sighting, phase) in [(Sighting::Done, "observed"), (Sighting::NotDone, "failed")] {
        let disk = MemoryStore::new().disk();
        let mut seen = Seen::finding(&[Ok(sighting)]);
        seen.hangs = true;
        let runtime = start(&disk, seen.plugs());
        submit(&runtime).await;
        while seen.yard.left().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        // The process is gone: what it had sent is on the disk, and nothing else of it is left.
        assert!(seen.looks().is_empty());
        drop(runtime);
        let after = Seen::finding(&[Err("fog"), Ok(sighting)]);
        let runtime = start(&disk, after.plugs());
        comes_to(&runtime, phase).await;
        assert!(after.looks().len() == 2 && after.yard.left().iter().all(|one| one != "call a"));
        runtime.stop().await;
        recomputes(&disk);
    }
}

#[tokio::test]
async fn an_accepted_action_whose_effect_was_not_seen_is_looked_for_after_a_start() {
    let disk = MemoryStore::new().disk();
    let blind = Seen::finding(&[Err("fog")]);
    let runtime = start(&disk, blind.plugs());
    submit(&runtime).await;
    comes_to(&runtime, "dispatched").await;
    runtime.stop().await;
    let seen = Seen::finding(&[Ok(Sighting::Done)]);
    let runtime = start(&disk, seen.plugs());
    comes_to(&runtime, "observed").await;
    runtime.stop().await;
    recomputes(&disk);
}

#[tokio::test]
async fn a_settled_action_is_not_looked_for_any_more() {
    let disk = MemoryStore::new().disk();
    let blind = Seen::finding(&[Err("fog")]);
    blind.yard.outcomes.lock().unwrap().push(Outcome::Lost);
    let runtime = start(&disk, blind.plugs());
    submit(&runtime).await;
    comes_to(&runtime, "in_doubt").await;
    let address = Address {
        id: "r".into(),
        owner: None,
    };
    let happened = halo_core::Settlement::Happened;
    runtime
        .settle(operator(), address, "a".into(), happened)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    let looks = blind.looks().len();
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(blind.looks().len(), looks);
    runtime.stop().await;
    recomputes(&disk);
}
