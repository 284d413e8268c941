//! Ports and stores that fail on demand.

use halo_core::{DispatchPermit, EmitPermit, Outcome};
use halo_journal::{
    Batch, Chain, Current, Draft, Fault, MemoryDisk, MemoryStore, Reader, Record, Snapshot,
    SqliteStore, Store, StoreError, Tip,
};
use halo_runtime::{
    driver::{OpenError, Opened},
    epoch::EpochFile,
    ports::{
        Adapter, Answering, OutputPath, Provider,
        lane::Lane,
        plugs::{AdapterPlug, PathPlug, Plugs, ProviderPlug},
    },
    runtime::Runtime,
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

pub(crate) const CATALOG: &str = r#"
halo: v1
catalog: yard
version: "1"
sources:
  gate: {value: {type: object, required: [open]}}
  budget: {keyed: true}
  meter: {}
paths: {screen: {}}
adapters: {crane: {}, press: {}, bank: {}}
types:
  notice: {effect: emit, path: screen, payload: {type: object}}
  lift:
    effect: action
    adapter: crane
    payload: {type: object}
    bind: [gate.epoch]
    support: [{id: open, cel: "state.gate.value.open"}]
  print:
    effect: action
    adapter: press
    payload: {type: object}
    support: [{id: inked, cel: "state.meter.value.ok"}]
  pay:
    effect: action
    adapter: bank
    payload: {type: object}
    writes: ["budget['main']"]
    support: [{id: fits, cel: "state.budget['main'].value.left >= payload.amount"}]
"#;

/// How long a port may take.
const LIMIT: Duration = Duration::from_millis(100);
/// When a late answer comes.
pub(crate) const LATE: Duration = Duration::from_millis(250);

/// How a port fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Hang,
    Drip,
    Late,
    Panic,
}

impl Manner {
    async fn act(self) {
        match self {
            Self::Hang => std::future::pending().await,
            Self::Drip => loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
            },
            Self::Late => tokio::time::sleep(LATE).await,
            Self::Panic => panic!("a port that fails"),
        }
    }
}

/// What a port does next.
type Next = Result<&'static str, Manner>;

/// What a port does, call by call.
#[derive(Clone, Default)]
pub(crate) struct Script(Arc<Mutex<(VecDeque<Next>, Option<&'static str>)>>);

impl Script {
    pub(crate) fn push(&self, next: Next) {
        self.0.lock().unwrap().0.push_back(next);
    }

    /// Where nothing else is said.
    pub(crate) fn always(&self, text: &'static str) {
        self.0.lock().unwrap().1 = Some(text);
    }

    fn next(&self) -> Option<Next> {
        let mut script = self.0.lock().unwrap();
        let always = script.1.map(Ok);
        script.0.pop_front().or(always)
    }
}

/// An account that must never be below zero.
#[derive(Clone, Default)]
pub(crate) struct Bank(Arc<Mutex<(i64, i64)>>);

impl Bank {
    pub(crate) fn deposit(&self, amount: i64) {
        self.0.lock().unwrap().0 += amount;
    }

    pub(crate) fn left(&self) -> i64 {
        self.0.lock().unwrap().0
    }

    /// The least that it ever held.
    pub(crate) fn lowest(&self) -> i64 {
        self.0.lock().unwrap().1
    }
}

/// What left, in order, and how ports behave.
#[derive(Clone, Default)]
pub(crate) struct Yard {
    left: Arc<Mutex<Vec<String>>>,
    pub(crate) crane: Script,
    pub(crate) meter: Script,
    pub(crate) bank: Bank,
}

impl Yard {
    pub(crate) fn left(&self) -> Vec<String> {
        let mut left = self.left.lock().unwrap().clone();
        left.sort();
        left
    }

    fn note(&self, what: &str, id: &str) {
        self.left.lock().unwrap().push(format!("{what} {id}"));
    }

    pub(crate) fn plugs(&self) -> Plugs {
        let mut plugs = Plugs::default();
        for name in ["crane", "press", "bank"] {
            let mut plug = AdapterPlug::new(Arc::new(self.clone()));
            plug.timeout = LIMIT;
            if name != "press" {
                plug.lane = Lane::compile("payload.lane").ok();
            }
            plugs.adapters.insert(name.into(), plug);
        }
        let path = PathPlug::new(Arc::new(self.clone()));
        plugs.paths.insert("screen".into(), path);
        let mut meter = ProviderPlug::new(Arc::new(self.clone()));
        meter.timeout = LIMIT;
        plugs.providers.insert("meter".into(), meter);
        plugs
    }
}

impl Adapter for Yard {
    fn target(&self) -> String {
        "yard".into()
    }

    fn call(&self, permit: DispatchPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            if permit.adapter() == "bank" {
                // Another lane's payment has time to pass its last look meanwhile.
                tokio::task::yield_now().await;
                let digits = permit.payload().split("\"amount\":").nth(1).unwrap();
                let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
                let mut bank = self.bank.0.lock().unwrap();
                bank.0 -= digits.parse::<i64>().unwrap();
                bank.1 = bank.1.min(bank.0);
                return Outcome::Accepted;
            }
            self.note("call", permit.id());
            if permit.adapter() == "crane"
                && let Some(Err(manner)) = self.crane.next()
            {
                manner.act().await;
            }
            Outcome::Accepted
        })
    }
}

impl OutputPath for Yard {
    fn emit(&self, permit: EmitPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            self.note("emit", permit.id());
            Outcome::Accepted
        })
    }
}

impl Provider for Yard {
    fn ask<'a>(&'a self, _: Option<&'a str>) -> Answering<'a, Result<Vec<u8>, String>> {
        Box::pin(async move {
            match self.meter.next() {
                Some(Ok(text)) => Ok(text.as_bytes().to_vec()),
                Some(Err(manner)) => {
                    manner.act().await;
                    Err("too late".into())
                }
                None => Err("nothing to say".into()),
            }
        })
    }
}

/// Starts a runtime.
pub(crate) fn start(
    store: Box<dyn Store>,
    plugs: Plugs,
    epoch_file: Option<EpochFile>,
) -> Result<Runtime, OpenError> {
    Runtime::start(
        |host| Opened {
            epoch_file,
            ..Opened::new(store, plugs, ("catalog.yaml", CATALOG), host)
        },
        tokio::runtime::Handle::current(),
        Arc::new(|text: &str| eprintln!("remark: {text}")),
        |_| {},
    )
}

/// A disk with the first records of another: what a crash leaves.
pub(crate) fn prefix(disk: &MemoryDisk, records: usize) -> MemoryDisk {
    let copy = MemoryStore::new().disk();
    let (mut store, mut chain) = (copy.open(), Chain::default());
    for record in Reader::read(&disk.open(), 0, records).unwrap() {
        let draft = Draft {
            at: record.at,
            kind: record.kind,
            body: record.body.unwrap(),
        };
        let batch = Batch {
            records: vec![chain.link(draft)],
            current: Vec::new(),
        };
        store.append(&batch).unwrap();
    }
    copy
}

/// An SQLite store whose medium fails as it is told to before its next batch.
pub(crate) struct FaultyStore {
    store: SqliteStore,
    faults: mpsc::Receiver<Fault>,
}

impl FaultyStore {
    pub(crate) fn boxed(store: SqliteStore) -> (Box<dyn Store>, mpsc::Sender<Fault>) {
        let (sender, faults) = mpsc::channel();
        (Box::new(Self { store, faults }), sender)
    }

    fn inject(&mut self) {
        for fault in self.faults.try_iter() {
            // One that fails already goes on to.
            let _ = self.store.inject(fault);
        }
    }
}

impl Reader for FaultyStore {
    fn tip(&self) -> Result<Tip, StoreError> {
        self.store.tip()
    }
    fn read(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.store.read(after, limit)
    }
    fn newest(&self, before: Option<u64>, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.store.newest(before, limit)
    }
    fn current(&self) -> Result<Vec<Current>, StoreError> {
        self.store.current()
    }
    fn latest_snapshot(&self) -> Result<Option<Snapshot>, StoreError> {
        self.store.latest_snapshot()
    }
    fn snapshots(&self) -> Result<Vec<Snapshot>, StoreError> {
        self.store.snapshots()
    }
}

impl Store for FaultyStore {
    fn append(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.inject();
        self.store.append(batch)
    }
    fn erase(&mut self, numbers: &[u64]) -> Result<(), StoreError> {
        self.store.erase(numbers)
    }
    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.store.save_snapshot(snapshot)
    }
    fn forget_snapshots(&mut self, number: u64) -> Result<(), StoreError> {
        self.store.forget_snapshots(number)
    }
    fn recover(&mut self) -> Result<Tip, StoreError> {
        self.inject();
        self.store.recover()
    }
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.store.reader()
    }
}
