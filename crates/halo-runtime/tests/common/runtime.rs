//! A runtime over a store in memory, with ports that tests hold in their hands.

use halo_core::{DispatchPermit, EmitPermit, Outcome};
use halo_journal::{MemoryDisk, Store};
use halo_runtime::{
    deployment::Retention,
    driver::Opened,
    ports::{
        Adapter, Answering, OutputPath,
        plugs::{AdapterPlug, PathPlug, Plugs},
    },
    runtime::Runtime,
};
use std::sync::{Arc, Mutex};

/// Two actions, a notice, and a status that waits for an action.
pub(crate) const CATALOG: &str = r#"
halo: v1
catalog: yard
version: "1"
sources:
  gate: {value: {type: object, required: [open]}}
  budget: {keyed: true}
paths: {screen: {}}
adapters: {crane: {}}
routes:
  look: {assignee: guard, ttl: 60s, attempts: 3, refresh: [gate]}
types:
  notice: {effect: emit, path: screen, payload: {type: object}}
  lift:
    effect: action
    adapter: crane
    payload: {type: object}
    bind: [{path: gate.epoch, route: look}]
    support: [{id: open, cel: "state.gate.value.open", route: look}]
  done:
    effect: emit
    path: screen
    payload: {type: object}
    requires: [{type: lift, phase: dispatched, support: until_left}]
"#;

/// What left, in order.
#[derive(Clone, Default)]
pub(crate) struct Yard {
    pub(crate) left: Arc<Mutex<Vec<String>>>,
    /// What the crane says next; accepted where nothing is said.
    pub(crate) outcomes: Arc<Mutex<Vec<Outcome>>>,
}

impl Yard {
    pub(crate) fn left(&self) -> Vec<String> {
        self.left.lock().unwrap().clone()
    }

    pub(crate) fn plugs(&self) -> Plugs {
        let mut plugs = Plugs::default();
        let adapter = AdapterPlug::new(Arc::new(self.clone()));
        plugs.adapters.insert("crane".into(), adapter);
        plugs
            .paths
            .insert("screen".into(), PathPlug::new(Arc::new(self.clone())));
        plugs
    }
}

impl Adapter for Yard {
    fn target(&self) -> String {
        "crane 7".into()
    }
    fn call(&self, permit: DispatchPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            self.left
                .lock()
                .unwrap()
                .push(format!("call {}", permit.id()));
            self.outcomes
                .lock()
                .unwrap()
                .pop()
                .unwrap_or(Outcome::Accepted)
        })
    }
}

impl OutputPath for Yard {
    fn emit(&self, permit: EmitPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            self.left
                .lock()
                .unwrap()
                .push(format!("emit {}", permit.id()));
            Outcome::Accepted
        })
    }
}

#[allow(dead_code, reason = "each test binary uses its part")]
/// Starts a runtime over what is on `disk`.
pub(crate) fn start(disk: &MemoryDisk, plugs: Plugs) -> Runtime {
    start_keeping(disk, plugs, Retention::default())
}

/// The same, keeping what is over for another time.
pub(crate) fn start_keeping(disk: &MemoryDisk, plugs: Plugs, retention: Retention) -> Runtime {
    start_with(disk, plugs, retention, halo_runtime::driver::SNAPSHOT_EVERY)
}

/// The same, with a snapshot every so many records.
pub(crate) fn start_with(
    disk: &MemoryDisk,
    plugs: Plugs,
    retention: Retention,
    snapshot_every: u64,
) -> Runtime {
    let store: Box<dyn Store> = Box::new(disk.open());
    Runtime::start(
        |host| Opened {
            retention,
            snapshot_every,
            ..Opened::new(store, plugs, ("catalog.yaml", CATALOG), host)
        },
        tokio::runtime::Handle::current(),
        Arc::new(|text: &str| eprintln!("remark: {text}")),
        |_| {},
    )
    .unwrap()
}
