//! The one thread that owns the engine: turns in, durable records and effects out.
//!
//! Work comes as closures over the [`Driver`] and runs in order. Everything that others may see waits until the turns
//! that it rests on are durable ([`Driver::after`]).

mod approach;
mod emissions;
mod forgetting;
mod gate;
mod guarded;
mod lanes;
mod observing;
mod pace;
mod recovery;
mod snapshots;
mod start;

pub use approach::{Asked, PULLED_AT_ONCE};
pub use lanes::GateAnswer;
pub use snapshots::SNAPSHOT_EVERY;
pub(crate) use start::draw_seed;
pub use start::{OpenError, Opened};

use crate::{
    clock::Clock,
    deployment::Retention,
    epoch::EpochFile,
    fault,
    machine::{BadCatalog, Cause, Machine, Stepped},
    ports::plugs::Plugs,
    turn::{Accepted, Event, Turn},
};
use halo_canon::Instant;
use halo_core::{ComponentRef, Engine, Handled, Input, Refusal};
use halo_journal::{Batch, Chain, Committer, Current, Draft, Record, Settled, StoreError};
use lanes::Lanes;
use pace::Pace;
use serde_json::value::RawValue;
use snapshots::Snapshots;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, mpsc},
};
use tokio::sync::broadcast;

/// Work for the driver.
pub type Job = Box<dyn FnOnce(&mut Driver) + Send>;

/// What waits until something is durable. It is given why that can't be had, where it can't.
type Wait = Box<dyn FnOnce(&mut Driver, Result<(), StoreError>) + Send>;

/// Text of a refused submission is kept up to this many bytes; of a longer one, its digest.
const KEPT_REFUSED_BYTES: usize = 64 * 1024;

/// See the module.
pub struct Driver {
    machine: Machine,
    clock: Clock,
    plugs: Arc<Plugs>,
    chain: Chain,
    committer: Committer,
    unsent: Batch,
    unsent_waits: Vec<Wait>,
    /// Sent and not answered.
    sent: VecDeque<Sent>,
    pace: Pace,
    /// State accepted since the last record, by address.
    fresh: BTreeMap<String, Accepted>,
    lanes: Lanes,
    /// How often an emission was handed over in vain.
    retries: HashMap<ComponentRef, u32>,
    wake: Option<Instant>,
    retention: Retention,
    /// When responses were dropped last.
    forgot_at: Instant,
    snapshots: Snapshots,
    /// Why nothing is decided at present: the store failed.
    halted: Option<StoreError>,
    epoch_file: Option<EpochFile>,
    host: Host,
    events: broadcast::Sender<Arc<Record>>,
    watchers: HashMap<u32, Vec<tokio::sync::oneshot::Sender<()>>>,
    /// Actions armed and emissions handed over whose end is to come.
    under_way: usize,
    counters: Counters,
    stopping: bool,
    ended: bool,
}

/// A batch on its way to the disk.
struct Sent {
    ticket: u64,
    at: std::time::Instant,
    /// For the event stream.
    records: Vec<Record>,
    waits: Vec<Wait>,
}

/// What has happened since the process started, for metrics.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// Responses accepted.
    pub submitted: u64,
    /// In shadow mode: what enforcement would have withheld, by the code of the first reason.
    pub would_have_withheld: BTreeMap<&'static str, u64>,
    /// Gate answers, by name.
    pub answers: BTreeMap<&'static str, u64>,
    /// Instances that ended, by the code of their first reason.
    pub ended: BTreeMap<&'static str, u64>,
    /// Adapter calls, by adapter and outcome.
    pub calls: BTreeMap<(String, &'static str), u64>,
    /// Emissions, by path and outcome.
    pub emissions: BTreeMap<(String, &'static str), u64>,
    /// Providers that were asked and did not answer, by source.
    pub silent: BTreeMap<String, u64>,
    /// Commits of the store that failed.
    pub store_failures: u64,
}

/// Where the driver's own work goes on outside its thread.
#[derive(Clone)]
pub struct Host {
    tokio: tokio::runtime::Handle,
    jobs: mpsc::Sender<Job>,
    remark: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Host {
    /// Spawns on `tokio`, sends work back over `jobs`, and says to `remark` what an operator should know.
    pub fn new(
        tokio: tokio::runtime::Handle,
        jobs: mpsc::Sender<Job>,
        remark: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> Self {
        Self {
            tokio,
            jobs,
            remark,
        }
    }

    /// Sends work to the driver. Without a driver nobody needs it done.
    pub fn send(&self, job: impl FnOnce(&mut Driver) + Send + 'static) {
        let _ = self.jobs.send(Box::new(job));
    }

    /// Tells the operator.
    pub fn remark(&self, text: &str) {
        (self.remark)(text);
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.tokio.spawn(task));
    }
}

impl Driver {
    /// The engine, to read.
    pub fn engine(&self) -> &Engine {
        self.machine.engine()
    }

    /// The engine's books, to read.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Why nothing is decided at present.
    pub fn halted(&self) -> Option<&StoreError> {
        self.halted.as_ref()
    }

    /// What is plugged in.
    pub fn plugs(&self) -> &Arc<Plugs> {
        &self.plugs
    }

    /// What has happened since the process started.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Where work goes on outside the driver's thread.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The time.
    pub fn now(&mut self) -> Instant {
        self.clock.now()
    }

    /// The number of the newest record, durable or not yet.
    pub fn newest(&self) -> u64 {
        self.chain.tip().number
    }

    /// Runs `then` once everything decided so far is durable, or with why it is not.
    pub fn after(&mut self, then: impl FnOnce(&mut Self, Result<(), StoreError>) + Send + 'static) {
        self.unsent_waits.push(Box::new(then));
    }

    /// Told when something about this response was decided and is durable.
    pub fn watch(&mut self, response: u32) -> tokio::sync::oneshot::Receiver<()> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let watchers = self.watchers.entry(response).or_default();
        watchers.retain(|watcher| !watcher.is_closed());
        watchers.push(sender);
        receiver
    }

    /// One input: decided, recorded, and its effects under way. What the engine said.
    pub fn turn(&mut self, cause: Cause<'_>, input: Input) -> Result<Handled, Refusal> {
        let stepped = self.input(cause, input, None);
        let handled = stepped.handled.clone();
        self.carry_out(stepped);
        handled.unwrap_or(Ok(Handled::Done))
    }

    /// The same, with what came of it: the caller carries it out.
    fn input(&mut self, cause: Cause<'_>, input: Input, called: Option<Instant>) -> Stepped {
        let event = Event::Input(input);
        // An input that is not a catalog does not fail to compile.
        self.event(cause, event, called).unwrap_or_default()
    }

    /// One event: stepped and recorded.
    fn event(
        &mut self,
        cause: Cause<'_>,
        event: Event,
        called: Option<Instant>,
    ) -> Result<Stepped, BadCatalog> {
        fault::point("turn.before");
        let now = self.clock.now();
        let recorded = event.clone();
        let stepped = self.machine.step(now, cause, event)?;
        self.count(&stepped);
        if let Some(wake) = stepped.wake {
            self.wake = Some(wake);
        }
        let quiet = matches!(recorded, Event::Input(Input::Update { .. } | Input::Time))
            && !stepped.decided;
        if !quiet {
            self.record(now, cause, recorded, &stepped, called);
        }
        if self.halted.is_some() {
            return Ok(Stepped::default());
        }
        for address in &stepped.updated {
            self.keep_state(address, now, quiet);
        }
        if !quiet {
            self.snapshot_if_due(now);
        }
        fault::point("turn.after");
        Ok(stepped)
    }

    fn record(
        &mut self,
        at: Instant,
        cause: Cause<'_>,
        event: Event,
        stepped: &Stepped,
        called: Option<Instant>,
    ) {
        let mut state: Vec<Accepted> = std::mem::take(&mut self.fresh).into_values().collect();
        state.sort_by_key(|accepted| accepted.accepted_at);
        let event = shorten_refused(event, stepped);
        let kind = event.kind();
        let turn = Turn {
            by: cause.by.to_owned(),
            key: cause.key.map(str::to_owned),
            state,
            event,
            decisions: &stepped.decisions,
            called,
        };
        let body = match serde_json::to_string(&turn) {
            Ok(body) => body,
            // Its parts are text, numbers and maps with text keys. What can't be recorded was not decided all the same.
            Err(error) => {
                return self.halt(StoreError::Io {
                    doing: "put a record into words",
                    path: "the journal".into(),
                    source: Arc::new(std::io::Error::from(error)),
                });
            }
        };
        let draft = Draft {
            at,
            kind: kind.into(),
            body,
        };
        let record = self.chain.link(draft);
        self.machine
            .note_record(record.number, at, &stepped.touched);
        self.unsent.records.push(record);
        self.pace.recorded();
        let watched = |response: &u32| self.watchers.contains_key(response);
        if stepped.touched.iter().any(watched) {
            let touched = stepped.touched.clone();
            self.after(move |driver, _| driver.tell_watchers(&touched));
        }
    }

    fn tell_watchers(&mut self, touched: &std::collections::BTreeSet<u32>) {
        for response in touched {
            for watcher in self.watchers.remove(response).unwrap_or_default() {
                let _ = watcher.send(());
            }
        }
    }

    /// Keeps an accepted state record beside the journal; one that no record tells of goes into the next.
    fn keep_state(&mut self, address: &str, now: Instant, quiet: bool) {
        let Some(record) = self.engine().state_record(address) else {
            return;
        };
        let text = record.text();
        let Ok(raw) = RawValue::from_string(text.clone()) else {
            return;
        };
        let since = if quiet {
            let accepted = Accepted {
                address: address.to_owned(),
                accepted_at: now,
                record: raw,
            };
            self.fresh.insert(address.to_owned(), accepted);
            self.chain.next_number()
        } else {
            self.chain.tip().number
        };
        self.unsent.current.push(Current {
            address: address.to_owned(),
            accepted_at: now,
            since,
            record: text,
        });
    }

    /// What a step asks for, apart from what its caller does itself.
    fn carry_out(&mut self, stepped: Stepped) {
        for at in stepped.resolved {
            self.lane_resolved(at);
        }
        for permit in stepped.emits {
            self.hand_over(permit);
        }
        for obligation in stepped.tells {
            self.after(move |driver, durable| {
                if durable.is_ok() {
                    driver.tell(obligation, 0);
                }
            });
        }
        for obligation in stepped.ready {
            self.resubmit(obligation);
        }
        for at in stepped.retained {
            self.may_leave(at);
        }
    }

    /// An instance came to be retained: it may leave.
    fn may_leave(&mut self, at: ComponentRef) {
        let Some(view) = self.engine().view(at) else {
            return;
        };
        let generation = view.generation;
        if !view.is_action {
            self.after(move |driver, durable| {
                if durable.is_ok() {
                    driver.emit(at, generation);
                }
            });
        } else if self.leaves_by_itself(at) {
            self.ask_for(at, None);
        }
    }

    /// Sends what was decided to the disk.
    pub fn flush(&mut self) {
        if self.halted.is_some() {
            return self.refuse_unsent();
        }
        if self.unsent.is_empty() {
            return self.release_or_join();
        }
        let batch = std::mem::take(&mut self.unsent);
        let waits = std::mem::take(&mut self.unsent_waits);
        // Bodies are kept for the event stream only where somebody listens.
        let records = match self.events.receiver_count() {
            0 => Vec::new(),
            _ => batch.records.clone(),
        };
        fault::point("batch.before");
        match self.committer.send(batch) {
            Ok(ticket) => {
                fault::point("batch.sent");
                self.pace.sent();
                self.sent.push_back(Sent {
                    ticket,
                    at: std::time::Instant::now(),
                    records,
                    waits,
                });
                self.send_snapshot();
            }
            Err(error) => {
                self.unsent_waits = waits;
                self.halt(error);
            }
        }
    }

    /// Waits that came with nothing to store: durable with what was sent last, or at once.
    fn release_or_join(&mut self) {
        if self.unsent_waits.is_empty() {
            return;
        }
        let waits = std::mem::take(&mut self.unsent_waits);
        match self.sent.back_mut() {
            Some(sent) => sent.waits.extend(waits),
            None => {
                for wait in waits {
                    wait(self, Ok(()));
                }
            }
        }
    }

    /// Whether nothing waits to be sent.
    pub fn is_flushed(&self) -> bool {
        self.unsent.is_empty() && self.unsent_waits.is_empty()
    }

    /// What the store says of batches.
    pub fn settled(&mut self, settled: Settled) {
        if self.halted.is_some() {
            // Of a batch from before: everybody who waited was told already.
            return;
        }
        if let Err(error) = settled.durable {
            // Everything that was sent is answered with the same, here and now.
            return self.halt(error);
        }
        while self
            .sent
            .front()
            .is_some_and(|sent| sent.ticket <= settled.ticket)
        {
            let Some(Sent {
                at, records, waits, ..
            }) = self.sent.pop_front()
            else {
                return;
            };
            self.pace.settled(at, waits.len());
            fault::point("batch.durable");
            for record in records {
                // Nobody may be listening.
                let _ = self.events.send(Arc::new(record));
            }
            for wait in waits {
                wait(self, Ok(()));
            }
            fault::point("batch.answered");
        }
    }

    /// Listens to records as they become durable.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Record>> {
        self.events.subscribe()
    }

    /// When time itself is the next input, and how long until then.
    pub fn until_wake(&mut self) -> Option<std::time::Duration> {
        if self.halted.is_some() {
            // Nothing is decided; the store's return wakes it.
            return None;
        }
        let next = [self.wake, self.forget_at()];
        let wake = next.into_iter().flatten().min()?;
        let nanos = (wake.nanos() - self.clock.now().nanos()).max(0);
        Some(std::time::Duration::from_nanos(
            u64::try_from(nanos).unwrap_or(u64::MAX),
        ))
    }

    /// Time has come.
    pub fn time_passed(&mut self) {
        if self.halted.is_some() {
            return;
        }
        let now = self.clock.now();
        if self.wake.is_some_and(|wake| now >= wake) {
            self.wake = None;
            let stepped = self.input(Cause::default(), Input::Time, None);
            self.carry_out(stepped);
        }
        self.forget_due(now);
    }

    fn count(&mut self, stepped: &Stepped) {
        use crate::decision::Decision;
        let counters = &mut self.counters;
        for decision in &stepped.decisions {
            match decision {
                Decision::Submitted { .. } => counters.submitted += 1,
                Decision::Answered { answer, .. } => {
                    *counters.answers.entry(answer).or_default() += 1;
                }
                Decision::WouldWithhold { reasons, .. } => {
                    if let Some(first) = reasons.first() {
                        let code = first.code.name();
                        *counters.would_have_withheld.entry(code).or_default() += 1;
                    }
                }
                Decision::Phase { reasons, .. } => {
                    if let Some(first) = reasons.first() {
                        *counters.ended.entry(first.code.name()).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
    }
}

/// The text of a long submission that was refused is not kept: nobody may fill the disk with what decides nothing.
fn shorten_refused(event: Event, stepped: &Stepped) -> Event {
    match event {
        Event::Input(Input::Submit { text, .. })
            if text.0.len() > KEPT_REFUSED_BYTES && matches!(stepped.handled, Some(Err(_))) =>
        {
            Event::Refused {
                bytes: text.0.len(),
                digest: halo_canon::Digest::of(&text.0),
            }
        }
        event => event,
    }
}
