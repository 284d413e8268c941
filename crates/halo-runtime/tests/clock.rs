//! P26 in the running system: clocks that step, stop or sleep never lengthen authority.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use halo_core::{DispatchPermit, Outcome};
use halo_journal::{MemoryDisk, MemoryStore, Reader as _, Store};
use halo_runtime::{
    api::{Address, Caller, Room},
    clock::Reading,
    driver::Opened,
    ports::{
        Adapter, Answering,
        plugs::{AdapterPlug, Mode, Plugs},
    },
    runtime::Runtime,
};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

const CATALOG: &str = r#"
halo: v1
catalog: clocks
version: "1"
sources: {fix: {}}
adapters: {arm: {}}
types:
  move: {effect: action, adapter: arm, payload: {type: object}, fresh: {fix: 10s}, support: [{id: on, cel: state.fix.value}]}
"#;

const SECOND: i128 = 1_000_000_000;
/// 2026-01-01T00:00:00Z.
const BEGIN: i128 = 1_767_225_600 * SECOND;

/// Counts its calls.
#[derive(Default)]
struct Arm(AtomicUsize);

impl Adapter for Arm {
    fn target(&self) -> String {
        "arm".into()
    }
    fn call(&self, _permit: DispatchPermit) -> Answering<'_, Outcome> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Outcome::Accepted })
    }
}

/// A runtime whose clocks the test sets.
struct World {
    runtime: Runtime,
    clocks: Arc<Mutex<Reading>>,
    arm: Arc<Arm>,
    disk: MemoryDisk,
}

fn anyone() -> Caller {
    Caller {
        name: String::new(),
        sees_all: true,
    }
}

impl World {
    fn start(disk: MemoryDisk, clocks: Reading) -> Self {
        let (arm, clocks) = (Arc::new(Arm::default()), Arc::new(Mutex::new(clocks)));
        let mut plug = AdapterPlug::new(arm.clone());
        plug.mode = Mode::Manual;
        let mut plugs = Plugs::default();
        plugs.adapters.insert("arm".into(), plug);
        let store: Box<dyn Store> = Box::new(disk.open());
        let read = clocks.clone();
        let runtime = Runtime::start(
            |host| Opened {
                readings: Box::new(move || *read.lock().unwrap()),
                ..Opened::new(store, plugs, ("catalog.yaml", CATALOG), host)
            },
            tokio::runtime::Handle::current(),
            Arc::new(|text: &str| eprintln!("remark: {text}")),
            |_| {},
        )
        .unwrap();
        Self {
            runtime,
            clocks,
            arm,
            disk,
        }
    }

    /// With a record observed now and an action that rests on it.
    async fn with_one_action() -> Self {
        let clocks = Reading {
            wall: BEGIN,
            boot: 0,
        };
        let world = Self::start(MemoryStore::new().disk(), clocks);
        let fix = r#"{"observed_at":"2026-01-01T00:00:00Z","value":true}"#;
        let written = world
            .runtime
            .write_state(anyone(), "fix".into(), fix.into());
        written.await.unwrap();
        let response = br#"{"response":"r","components":[{"id":"a","type":"move","payload":{}}]}"#;
        let submitted = world
            .runtime
            .submit(anyone(), response.to_vec(), None, Room::default());
        submitted.await.unwrap();
        world
    }

    fn set(&self, wall: i128, boot: i128) {
        *self.clocks.lock().unwrap() = Reading {
            wall: BEGIN + wall * SECOND,
            boot: boot * SECOND,
        };
    }

    async fn asked(&self) -> &'static str {
        let address = Address {
            id: "r".into(),
            owner: None,
        };
        let asked = self.runtime.dispatch(anyone(), address, "a".into());
        asked.await.unwrap().name()
    }

    async fn ends_with(self, calls: usize) {
        self.runtime.stop().await;
        assert_eq!(self.arm.0.load(Ordering::Relaxed), calls);
        let audit = halo_runtime::audit::audit(Box::new(self.disk.open()), |_| {}).unwrap();
        assert!(audit.ok, "{audit:#?}");
    }
}

#[tokio::test]
async fn p26_in_its_time_it_leaves() {
    let world = World::with_one_action().await;
    world.set(10, 10);
    assert_eq!(world.asked().await, "authorized");
    world.ends_with(1).await;
}

#[tokio::test]
async fn p26_a_wall_clock_that_is_set_back_ages_nothing_less() {
    let world = World::with_one_action().await;
    world.set(-3_600, 11);
    assert_ne!(world.asked().await, "authorized");
    world.ends_with(0).await;
}

#[tokio::test]
async fn p26_a_wall_clock_that_is_set_forward_ages_at_once_and_for_good() {
    let world = World::with_one_action().await;
    world.set(3_600, 1);
    assert_ne!(world.asked().await, "authorized");
    world.set(2, 2);
    assert_ne!(world.asked().await, "authorized");
    world.ends_with(0).await;
}

#[tokio::test]
async fn p26_suspend_counts() {
    let world = World::with_one_action().await;
    // The wall clock was not yet corrected when the machine woke up.
    world.set(0, 8 * 3_600);
    assert_ne!(world.asked().await, "authorized");
    world.ends_with(0).await;
}

#[tokio::test]
async fn p26_what_is_due_after_suspend_is_noticed_without_being_asked() {
    let world = World::with_one_action().await;
    let newest = || world.disk.open().tip().unwrap().number;
    // Nothing is left to do but to wait ten seconds.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let before = newest();
    world.set(0, 3_600);
    for _ in 0..160 {
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        // Looking at the disk asks nobody.
        if newest() > before {
            return world.ends_with(0).await;
        }
    }
    panic!("nobody noticed");
}

#[tokio::test]
async fn p26_after_a_restart_time_goes_on_behind_nothing_in_the_journal() {
    let world = World::with_one_action().await;
    world.set(60, 60);
    assert_ne!(world.asked().await, "authorized");
    let disk = world.disk.clone();
    world.runtime.stop().await;
    // Another boot, and a wall clock that is a day behind.
    let clocks = Reading {
        wall: BEGIN - 86_400 * SECOND,
        boot: 5 * SECOND,
    };
    let again = World::start(disk, clocks);
    let late = r#"{"observed_at":"2026-01-01T00:00:30Z","value":true}"#;
    let written = again
        .runtime
        .write_state(anyone(), "fix".into(), late.into());
    written.await.unwrap();
    let response = br#"{"response":"s","components":[{"id":"a","type":"move","payload":{}}]}"#;
    let submitted = again
        .runtime
        .submit(anyone(), response.to_vec(), None, Room::default());
    // Thirty seconds old by the journal's time, whatever the wall clock says.
    let kept = submitted.await.unwrap().kept;
    assert_eq!(kept.components[0].phase, "withheld");
    again.ends_with(0).await;
}
