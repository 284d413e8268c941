//! What durability costs (`halo bench ledger`): dispatches beside a bare store that writes the same batches, in one run.

use crate::{
    clock::{cpu_us, median},
    core::Figure,
};
use halo_core::{DispatchPermit, Input, Outcome, RawText, Seed};
use halo_journal::{Batch, Chain, Draft, Record, SqliteStore, Store, StoreError};
use halo_runtime::{
    api::{Address, Caller, Failure, Room},
    driver::{OpenError, Opened},
    machine::{Cause, Machine},
    ports::{
        Adapter, Answering,
        lane::Lane,
        plugs::{AdapterPlug, Mode, Plugs},
    },
    replay::replay,
    runtime::Runtime,
    turn::Event,
};
use serde::Serialize;
use std::{
    path::Path,
    sync::{Arc, mpsc},
    time::Instant,
};

/// One kind of action, in as many lanes as there are dispatches in flight.
pub(crate) const LANES_CATALOG: &str = r#"
halo: v1
catalog: bench
version: "1"
sources: {limit: {}}
adapters: {bank: {}}
types:
  pay:
    effect: action
    adapter: bank
    payload: {type: object}
    bind: [{path: limit.epoch}]
    support: [{id: within, cel: "payload.amount <= state.limit.value.most"}]
"#;

const IN_FLIGHT: usize = 64;
/// Actions in a response of the panel.
const ACTIONS: usize = 16;
const ROUNDS: usize = 100;
const ONE_BY_ONE: usize = 300;
const STARTUP_RECORDS: u64 = 1_000_000;

/// The panel of the journal and the ledger.
#[derive(Debug, Clone, Serialize)]
pub struct LedgerPanel {
    /// Dispatches a second whose records a bare store could write, in the batches in which the runtime made them.
    pub store_per_s_64: f64,
    /// Durable dispatches a second, 64 in flight.
    pub dispatch_per_s_64: f64,
    /// The second over the first.
    pub dispatch_over_store_64: f64,
    /// One bare commit of one record.
    pub store_one_us: f64,
    /// One dispatch alone, from the request to the adapter's call.
    pub dispatch_one_us: f64,
    /// The second over the first.
    pub dispatch_over_store_one: f64,
    /// From the last look to the adapter's call, CPU time.
    pub look_to_call_us: f64,
    /// Starting on a journal of 1,000,000 records whose newest snapshot is as old as a runtime lets it become.
    pub startup_1m_s: f64,
    /// The same without any snapshot.
    pub startup_1m_without_snapshot_s: f64,
    /// Wall clock for all but `look_to_call_us`: a disk's time is no CPU time.
    pub clock: &'static str,
    /// Every figure with its samples.
    pub figures: Vec<Figure>,
}

/// Why the panel can't run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The runtime does not start.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The runtime refuses what it must not.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// The system fails.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// The panel's own catalog does not load: a defect.
    #[error("the panel's own {0}; this is a defect")]
    Defect(&'static str),
}

/// Accepts everything, and tells when it was called.
struct Bank {
    called: mpsc::Sender<Instant>,
}

impl Bank {
    fn new() -> (Arc<Self>, mpsc::Receiver<Instant>) {
        let (called, calls) = mpsc::channel();
        (Arc::new(Self { called }), calls)
    }
}

impl Adapter for Bank {
    fn target(&self) -> String {
        "nowhere".into()
    }
    fn call(&self, _permit: DispatchPermit) -> Answering<'_, Outcome> {
        // Only one of the panel's parts listens.
        let _ = self.called.send(Instant::now());
        Box::pin(async { Outcome::Accepted })
    }
}

/// Runs the panel on the disk of `directory`. `progress` is told what comes next, and which share of the whole is done.
///
/// Errors: the disk or the system fails.
pub fn ledger(
    directory: &Path,
    mut progress: impl FnMut(&str, f64),
) -> Result<LedgerPanel, BenchError> {
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    progress("one bare commit, one dispatch", 0.0);
    let (store_one, dispatch_one) = one_by_one(directory, &tokio)?;
    progress("64 dispatches in flight", 0.1);
    let (store_64, dispatch_64) = in_flight(directory, &tokio)?;
    progress("from the last look to the call", 0.3);
    let look = look_to_call()?;
    progress("reading 1,000,000 records again", 0.35);
    let (startup, without) = startup(directory)?;
    let figure = |name, unit, samples: Vec<f64>| Figure {
        name,
        median: median(&samples),
        unit,
        at_most: None,
        samples,
    };
    let figures = vec![
        figure("store_per_s_64", "/s", store_64),
        figure("dispatch_per_s_64", "/s", dispatch_64),
        figure("store_one_us", "us", store_one),
        figure("dispatch_one_us", "us", dispatch_one),
        figure("look_to_call_us", "us", look),
        figure("startup_1m_s", "s", vec![startup]),
        figure("startup_1m_without_snapshot_s", "s", vec![without]),
    ];
    let of = |name: &str| {
        let found = figures.iter().find(|figure| figure.name == name);
        found.map_or(0.0, |figure| figure.median)
    };
    Ok(LedgerPanel {
        store_per_s_64: of("store_per_s_64"),
        dispatch_per_s_64: of("dispatch_per_s_64"),
        dispatch_over_store_64: of("dispatch_per_s_64") / of("store_per_s_64"),
        store_one_us: of("store_one_us"),
        dispatch_one_us: of("dispatch_one_us"),
        dispatch_over_store_one: of("dispatch_one_us") / of("store_one_us"),
        look_to_call_us: of("look_to_call_us"),
        startup_1m_s: of("startup_1m_s"),
        startup_1m_without_snapshot_s: of("startup_1m_without_snapshot_s"),
        clock: "wall clock; look_to_call_us: thread CPU time",
        figures,
    })
}

pub(crate) fn anyone() -> Caller {
    Caller {
        name: String::new(),
        sees_all: true,
    }
}

/// What is plugged in: a bank that waits to be asked. Who tells of its calls.
pub(crate) fn bench_plugs() -> Result<(Plugs, mpsc::Receiver<Instant>), BenchError> {
    let (bank, calls) = Bank::new();
    let lane = Lane::compile("payload.lane").map_err(|_| BenchError::Defect("lane"))?;
    let mut plug = AdapterPlug::new(bank);
    plug.mode = Mode::Manual;
    plug.lane = Some(lane);
    let mut plugs = Plugs::default();
    plugs.adapters.insert("bank".into(), plug);
    Ok((plugs, calls))
}

fn start(
    store: SqliteStore,
    plugs: Plugs,
    tokio: &tokio::runtime::Runtime,
) -> Result<Runtime, BenchError> {
    let runtime = Runtime::start(
        |host| Opened::new(Box::new(store), plugs, ("bench.yaml", LANES_CATALOG), host),
        tokio.handle().clone(),
        Arc::new(|_: &str| {}),
        |_| {},
    )?;
    let limit = r#"{"epoch":1,"value":{"most":1000}}"#;
    tokio.block_on(runtime.write_state(anyone(), "limit".into(), limit.into()))?;
    Ok(runtime)
}

/// A response with `ACTIONS` actions whose lanes begin at `first`.
fn response(id: &str, first: usize) -> Vec<u8> {
    let component = |number: usize| {
        let lane = (first + number) % IN_FLIGHT;
        format!(
            r#"{{"id":"p{number}","type":"pay","payload":{{"amount":{number},"lane":"l{lane}","to":"account-0042"}}}}"#
        )
    };
    let components: Vec<String> = (0..ACTIONS).map(component).collect();
    format!(
        r#"{{"response":"{id}","components":[{}]}}"#,
        components.join(",")
    )
    .into_bytes()
}

async fn submit(runtime: &Runtime, number: usize) -> Result<(), Failure> {
    let text = response(&format!("r{number}"), number * ACTIONS);
    let submitted = runtime.submit(anyone(), text, None, Room::default());
    submitted.await.map(drop)
}

async fn dispatch(runtime: &Runtime, number: usize, action: usize) -> Result<(), Failure> {
    let address = Address {
        id: format!("r{number}"),
        owner: None,
    };
    let asked = runtime.dispatch(anyone(), address, format!("p{action}"));
    asked.await.map(drop)
}

/// Bare commits of one record each, and dispatches one after the other, turn by turn.
fn one_by_one(
    directory: &Path,
    tokio: &tokio::runtime::Runtime,
) -> Result<(Vec<f64>, Vec<f64>), BenchError> {
    let folder = tempfile::tempdir_in(directory)?;
    let (plugs, calls) = bench_plugs()?;
    let runtime = start(
        SqliteStore::open(folder.path().join("runtime"))?,
        plugs,
        tokio,
    )?;
    let mut bare = SqliteStore::open(folder.path().join("bare"))?;
    let mut chain = Chain::default();
    let (mut store_us, mut dispatch_us) = (Vec::new(), Vec::new());
    for number in 0..ONE_BY_ONE {
        if number.is_multiple_of(ACTIONS) {
            tokio.block_on(submit(&runtime, number / ACTIONS))?;
        }
        let begin = Instant::now();
        tokio.block_on(dispatch(&runtime, number / ACTIONS, number % ACTIONS))?;
        let called = calls.recv().map_err(|_| BenchError::Defect("dispatch"))?;
        dispatch_us.push(called.duration_since(begin).as_secs_f64() * 1e6);
        let record = chain.link(Draft {
            at: halo_canon::Instant::from_nanos(0),
            kind: "dispatch".into(),
            body: "x".repeat(300),
        });
        let batch = Batch {
            records: vec![record],
            current: Vec::new(),
        };
        let begin = Instant::now();
        bare.append(&batch)?;
        store_us.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    tokio.block_on(runtime.stop());
    Ok((store_us, dispatch_us))
}

/// Rounds of 64 dispatches in flight, and the records of each round written to a bare store, turn by turn.
fn in_flight(
    directory: &Path,
    tokio: &tokio::runtime::Runtime,
) -> Result<(Vec<f64>, Vec<f64>), BenchError> {
    let folder = tempfile::tempdir_in(directory)?;
    let (plugs, _calls) = bench_plugs()?;
    let runtime = start(
        SqliteStore::open(folder.path().join("runtime"))?,
        plugs,
        tokio,
    )?;
    let mut bare = SqliteStore::open(folder.path().join("bare"))?;
    let mut chain = Chain::default();
    let responses = ROUNDS * 4 * IN_FLIGHT / ACTIONS;
    for number in 0..responses {
        tokio.block_on(submit(&runtime, number))?;
    }
    let (mut store, mut dispatches) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let before = newest(&runtime, tokio)?;
        let begin = Instant::now();
        tokio.block_on(round_of(&runtime, round))?;
        let done = (4 * IN_FLIGHT) as f64;
        dispatches.push(done / begin.elapsed().as_secs_f64());
        let records = written(&runtime, tokio, before)?;
        let batches = batches(records, &mut chain);
        let begin = Instant::now();
        for batch in &batches {
            bare.append(batch)?;
        }
        store.push(done / begin.elapsed().as_secs_f64());
    }
    tokio.block_on(runtime.stop());
    Ok((store, dispatches))
}

/// Four dispatches in each of 64 lanes: 64 in flight throughout.
async fn round_of(runtime: &Runtime, round: usize) -> Result<(), Failure> {
    let mut tasks = tokio::task::JoinSet::<Result<(), Failure>>::new();
    for lane in 0..IN_FLIGHT {
        let runtime = runtime.clone();
        tasks.spawn(async move {
            for turn in 0..4 {
                // Responses are laid out so that each has one action in each of its lanes.
                let action = (round * 4 + turn) * IN_FLIGHT + lane;
                dispatch(&runtime, action / ACTIONS, action % ACTIONS).await?;
            }
            Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap_or(Ok(()))?;
    }
    Ok(())
}

fn newest(runtime: &Runtime, tokio: &tokio::runtime::Runtime) -> Result<u64, BenchError> {
    let newest = tokio.block_on(runtime.read(halo_runtime::driver::Driver::newest));
    newest.map_err(|error| BenchError::Failure(error.into()))
}

fn written(
    runtime: &Runtime,
    tokio: &tokio::runtime::Runtime,
    after: u64,
) -> Result<Vec<Record>, BenchError> {
    // Everything decided so far is durable once this is answered.
    newest(runtime, tokio)?;
    let read = runtime.journal(move |reader| reader.read(after, usize::MAX));
    tokio
        .block_on(read)
        .map_err(|error| BenchError::Failure(error.into()))
}

/// The same records as a bare store would get them: those of 64 dispatches in each commit.
fn batches(records: Vec<Record>, chain: &mut Chain) -> Vec<Batch> {
    let commits = records.len().div_ceil(4).max(1);
    let relinked = records.into_iter().map(|record| {
        chain.link(Draft {
            at: record.at,
            kind: record.kind,
            body: record.body.unwrap_or_default(),
        })
    });
    let relinked: Vec<Record> = relinked.collect();
    relinked
        .chunks(commits)
        .map(|records| Batch {
            records: records.to_vec(),
            current: Vec::new(),
        })
        .collect()
}

/// CPU time of the last look, of making its permit, and of entering the adapter's call.
fn look_to_call() -> Result<Vec<f64>, BenchError> {
    let defect = |_| BenchError::Defect("catalog");
    let now = halo_canon::Instant::from_nanos(0);
    let seed = Seed::new([7; 32]);
    let mut machine = Machine::new(now, seed, "bench.yaml", LANES_CATALOG).map_err(defect)?;
    let step = |machine: &mut Machine, input| {
        let event = Event::Input(input);
        machine.step(now, Cause::default(), event).map_err(defect)
    };
    let record = RawText(br#"{"epoch":1,"value":{"most":1000}}"#.to_vec());
    let records = vec![("limit".to_owned(), record)];
    step(&mut machine, Input::Update { records })?;
    let (bank, _calls) = Bank::new();
    let mut samples = Vec::new();
    for number in 0..64 {
        let id = format!("r{number}");
        let text = RawText(response(&id, 0));
        let submit = Input::Submit {
            owner: String::new(),
            text,
            fallback_id: None,
        };
        step(&mut machine, submit)?;
        for action in 0..ACTIONS {
            let asked = Input::Dispatch {
                response: id.as_str().into(),
                component: format!("p{action}"),
                payload: None,
                token: None,
                sequence: None,
            };
            let armed = step(&mut machine, asked)?.armed;
            let (at, _) = *armed.first().ok_or(BenchError::Defect("gate"))?;
            let mut calls = 0;
            samples.push(cpu_us(|| {
                let looked = step(&mut machine, Input::last_look(at));
                for permit in looked.map(|stepped| stepped.calls).unwrap_or_default() {
                    drop(bank.call(permit));
                    calls += 1;
                }
            }));
            if calls != 1 {
                return Err(BenchError::Defect("last look"));
            }
        }
    }
    Ok(samples)
}

/// Seconds to read a journal of 1,000,000 records again, from its newest snapshot and without.
fn startup(directory: &Path) -> Result<(f64, f64), BenchError> {
    let folder = tempfile::tempdir_in(directory)?;
    let mut store = SqliteStore::open(folder.path().join("long"))?;
    crate::history::write(&mut store, LANES_CATALOG, STARTUP_RECORDS)?;
    let from_snapshot = reread(&store)?;
    store.forget_snapshots(u64::MAX)?;
    Ok((from_snapshot, reread(&store)?))
}

fn reread(store: &SqliteStore) -> Result<f64, BenchError> {
    let begin = Instant::now();
    let seed = Seed::new([1; 32]);
    let replayed = replay(store.reader()?, seed, |_| {}).map_err(OpenError::Replay)?;
    let taken = begin.elapsed().as_secs_f64();
    match replayed {
        Some(replayed) if replayed.tip.number >= STARTUP_RECORDS => Ok(taken),
        _ => Err(BenchError::Defect("history")),
    }
}
