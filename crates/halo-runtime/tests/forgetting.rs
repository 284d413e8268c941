//! What is over is dropped from memory after a time, and is still known by its id.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, reason = "tests")]

#[path = "common/runtime.rs"]
mod common;

use common::{Yard, start_keeping};
use halo_journal::MemoryStore;
use halo_runtime::{
    api::{Address, Caller, Failure, Room, Submitted},
    deployment::Retention,
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

fn at_once() -> Retention {
    Retention {
        closed: Duration::ZERO,
        payloads: None,
    }
}

fn text(id: &str, to: &str) -> Vec<u8> {
    format!(r#"{{"response":"{id}","components":[{{"id":"a","type":"lift","payload":{{"to":"{to}"}}}}]}}"#).into_bytes()
}

async fn submit(runtime: &Runtime, text: Vec<u8>, key: &str) -> Result<Submitted, Failure> {
    let key = Some(key.to_owned());
    runtime.submit(ann(), text, key, Room::default()).await
}

/// How much the runtime remembers, and how many responses and obligations it keeps.
async fn kept(runtime: &Runtime) -> (usize, usize, usize) {
    let look = |driver: &mut halo_runtime::driver::Driver| {
        let machine = driver.machine();
        let engine = machine.engine();
        (
            machine.books().len() + machine.intended().len(),
            engine.responses().count(),
            engine.obligations().count(),
        )
    };
    runtime.look(look).await.unwrap()
}

async fn emptied(runtime: &Runtime) {
    for _ in 0..100 {
        if kept(runtime).await == (0, 0, 0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("still kept: {:?}", kept(runtime).await);
}

#[tokio::test]
async fn nothing_is_left_in_memory_and_the_id_is_known() {
    let (disk, yard) = (MemoryStore::new().disk(), Yard::default());
    let runtime = start_keeping(&disk, yard.plugs(), at_once());
    let open = r#"{"epoch":1,"value":{"open":true}}"#;
    let state = |text: &str| text.as_bytes().to_vec();
    runtime
        .write_state(ann(), "gate".into(), state(open))
        .await
        .unwrap();
    for number in 0..20 {
        let (id, key) = (format!("r{number}"), format!("k{number}"));
        assert!(submit(&runtime, text(&id, "x"), &key).await.unwrap().new);
    }
    for _ in 0..100 {
        if yard.left().len() == 20 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // One waits for its obligation, and stays.
    let shut = r#"{"epoch":2,"value":{"open":false}}"#;
    runtime
        .write_state(ann(), "gate".into(), state(shut))
        .await
        .unwrap();
    submit(&runtime, text("blocked", "x"), "kb").await.unwrap();
    for _ in 0..100 {
        if kept(&runtime).await.1 == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(kept(&runtime).await.2, 1);
    let kept_one = runtime.response(ann(), address("blocked")).await.unwrap();
    let obligation = kept_one.obligations.first().unwrap().obligation.unwrap();
    runtime
        .refuse(ann(), obligation.0, "no".into())
        .await
        .unwrap();
    emptied(&runtime).await;
    check_known(&runtime).await;
    assert_eq!(yard.left().len(), 20);
    assert_eq!(kept(&runtime).await, (0, 0, 0));
    runtime.stop().await;
    let audit = halo_runtime::audit::audit(Box::new(disk.open()), |_| {}).unwrap();
    assert!(audit.ok, "{audit:#?}");
    // After a restart it is the same.
    let runtime = start_keeping(&disk, yard.plugs(), at_once());
    emptied(&runtime).await;
    check_known(&runtime).await;
    assert_eq!(yard.left().len(), 20);
    runtime.stop().await;
}

async fn check_known(runtime: &Runtime) {
    let read = runtime.response(ann(), address("r3")).await;
    assert!(matches!(read, Err(Failure::Gone(_))), "{read:?}");
    let never = runtime.response(ann(), address("r99")).await;
    assert!(matches!(never, Err(Failure::NotFound(_))), "{never:?}");
    let again = submit(runtime, text("r3", "x"), "k3").await;
    assert!(matches!(again, Err(Failure::Gone(_))), "{again:?}");
    let other = submit(runtime, text("r3", "y"), "k3").await;
    let Err(Failure::Refused(refusal)) = other else {
        panic!("{other:?}");
    };
    assert_eq!(refusal.code.name(), "response_conflict");
}
