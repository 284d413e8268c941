//! How a driver begins: from an empty directory, after a crash, and again once a store that failed writes again (P18).

use super::{
    Counters, Driver, Host, SNAPSHOT_EVERY, lanes::Lanes, pace::Pace, snapshots::Snapshots,
};
use crate::{
    clock::{Clock, Reading, Readings},
    deployment::Retention,
    epoch::EpochFile,
    fault,
    machine::{BadCatalog, Cause, Machine},
    ports::plugs::Plugs,
    replay::{ReplayError, Replayed, replay},
    turn::{Accepted, Event},
};
use halo_canon::Instant;
use halo_core::{ComponentRef, Input, ObligationId, ObligationState, Phase, Seed};
use halo_journal::{Backlog, Batch, Chain, Committer, Store, StoreError, Tip};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};
use tokio::sync::broadcast;

/// How many records a slow listener of the event stream may be behind before it must read the journal.
const EVENTS_HELD: usize = 4_096;
/// Between two tries to use a store that failed.
const STORE_PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// What a driver starts from.
pub struct Opened {
    /// The journal.
    pub store: Box<dyn Store>,
    /// What is plugged in.
    pub plugs: Arc<Plugs>,
    /// The catalog's file name, for diagnostics, and its text.
    pub catalog: (String, String),
    /// The record of the directory's epoch outside of it, where one is configured.
    pub epoch_file: Option<EpochFile>,
    /// How long what is over is kept.
    pub retention: Retention,
    /// How many records come between two snapshots.
    pub snapshot_every: u64,
    /// Who reads the clocks.
    pub readings: Readings,
    /// Where work goes on outside the driver's thread.
    pub host: Host,
}

impl Opened {
    /// With the settings that a deployment has where it says nothing. `catalog` is the file's name and its text.
    pub fn new(
        store: Box<dyn Store>,
        plugs: impl Into<Arc<Plugs>>,
        catalog: (&str, &str),
        host: Host,
    ) -> Self {
        let (file, text) = catalog;
        Self {
            store,
            plugs: plugs.into(),
            catalog: (file.to_owned(), text.to_owned()),
            epoch_file: None,
            retention: Retention::default(),
            snapshot_every: SNAPSHOT_EVERY,
            readings: Box::new(Reading::now),
            host,
        }
    }
}

/// Why a driver does not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The journal can't be read again.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The catalog has errors.
    #[error(transparent)]
    Catalog(#[from] BadCatalog),
    /// A known version of a catalog comes with other content (P25).
    #[error(
        "the journal knows version `{version}` of the catalog `{name}` with other content; give the changed catalog a new version"
    )]
    KnownVersion {
        /// The catalog.
        name: String,
        /// The version.
        version: String,
    },
    /// An adapter's name means another target than before.
    #[error(
        "adapter `{name}` was bound to `{was}` and is `{now}` now: what was decided for one must not reach the other; set `rebind: true` to accept it"
    )]
    Rebound {
        /// The adapter.
        name: String,
        /// What the journal says.
        was: String,
        /// What the deployment says.
        now: String,
    },
    /// What is plugged in does not fit the catalog.
    #[error("{}", .0.join("; "))]
    Misfit(Vec<String>),
    /// The epoch outside can't be read or written.
    #[error("{0}")]
    Epoch(String),
    /// The operating system gives no thread.
    #[error("no thread for the driver: {0}")]
    Thread(String),
    /// The operating system gives no random bits.
    #[error("no random bits: {0}")]
    NoRandomness(String),
}

/// Random bits for tokens.
pub(crate) fn draw_seed() -> Result<Seed, OpenError> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).map_err(|error| OpenError::NoRandomness(error.to_string()))?;
    Ok(Seed::new(bits))
}

impl Driver {
    /// Reads the journal again, takes the directory over, and restarts the engine (P18).
    ///
    /// Errors: nothing is decided, and nothing may leave.
    pub fn open(opened: Opened, progress: impl FnMut(u64)) -> Result<Self, OpenError> {
        let Opened {
            store,
            plugs,
            catalog,
            epoch_file,
            retention,
            snapshot_every,
            readings,
            host,
        } = opened;
        let replayed = replay(store.reader()?, draw_seed()?, progress)?;
        let (file, text) = catalog;
        let newest = replayed
            .as_ref()
            .map_or(Instant::MIN, |replayed| replayed.newest);
        let mut clock = Clock::start(readings, newest);
        let fresh = replayed.is_none();
        let Replayed {
            machine,
            tip,
            wake,
            fresh: accepted,
            from,
            passed_over,
            ..
        } = match replayed {
            Some(replayed) => replayed,
            None => Replayed {
                machine: Machine::new(clock.now(), draw_seed()?, &file, &text)?,
                tip: Tip::empty(),
                newest,
                wake: None,
                fresh: Vec::new(),
                from: 0,
                passed_over: Vec::new(),
            },
        };
        for why in &passed_over {
            host.remark(&format!("{why}; it was passed over"));
        }
        check_targets(&plugs, machine.targets())?;
        let reply = host.clone();
        let committer = Committer::start(store, Backlog::default(), move |settled| {
            reply.send(move |driver| driver.settled(settled));
        })?;
        let mut driver = Self {
            machine,
            clock,
            plugs,
            chain: Chain::after(tip),
            committer,
            unsent: Batch::default(),
            unsent_waits: Vec::new(),
            pace: Pace::new(),
            sent: VecDeque::new(),
            fresh: by_address(accepted),
            lanes: Lanes::default(),
            retries: HashMap::new(),
            wake,
            retention,
            forgot_at: Instant::MIN,
            snapshots: Snapshots::after(from, snapshot_every),
            halted: None,
            epoch_file,
            host,
            events: broadcast::Sender::new(EVENTS_HELD),
            watchers: HashMap::new(),
            under_way: 0,
            counters: Counters::default(),
            stopping: false,
            ended: false,
        };
        if fresh {
            driver.record_first_catalog(file, text);
        } else {
            driver.load_catalog(file, text)?;
        }
        let misfits = driver.plugs.misfits(driver.engine().catalog());
        if !misfits.is_empty() {
            return Err(OpenError::Misfit(misfits));
        }
        driver.take_over()?;
        Ok(driver)
    }

    /// The first record of a journal.
    fn record_first_catalog(&mut self, file: String, text: String) {
        let now = self.clock.now();
        let event = Event::Catalog { file, text };
        self.record(
            now,
            Cause::default(),
            event,
            &crate::machine::Stepped::default(),
            None,
        );
    }

    /// Puts a catalog in force, where it is not (P25).
    ///
    /// Errors: it has errors, its version is known with other content, or what is plugged in does not fit it; the old one
    /// stays in force.
    pub fn load_catalog(&mut self, file: String, text: String) -> Result<bool, OpenError> {
        let catalog = crate::machine::compile(&file, &text)?;
        if catalog.content == self.engine().catalog().content {
            return Ok(false);
        }
        let known = self.machine.known_version(&catalog.name, &catalog.version);
        if known.is_some_and(|content| content != catalog.content) {
            return Err(OpenError::KnownVersion {
                name: catalog.name.clone(),
                version: catalog.version.clone(),
            });
        }
        let misfits = self.plugs.misfits(&catalog);
        if !misfits.is_empty() {
            return Err(OpenError::Misfit(misfits));
        }
        fault::point("catalog.before");
        let stepped = self.event(Cause::default(), Event::Catalog { file, text }, None)?;
        self.carry_out(stepped);
        fault::point("catalog.after");
        Ok(true)
    }

    /// Notes who owns the directory now, and restarts the engine (P18).
    fn take_over(&mut self) -> Result<(), OpenError> {
        let next = self.machine.epoch() + 1;
        let file = self.epoch_file.as_ref();
        let (epoch, void) = file.map_or((next, false), |file| file.after(next));
        if void {
            self.host.remark(
                "the data directory is an older copy: its epoch is behind the one recorded outside; every open action is void",
            );
        }
        let adapters = self.plugs.adapters.iter();
        let adapters = adapters
            .map(|(name, plug)| (name.clone(), plug.adapter.target()))
            .collect();
        let shadow = self.plugs.adapters.iter().filter(|(_, plug)| plug.shadow);
        let start = Event::Start {
            epoch,
            adapters,
            shadow: shadow.map(|(name, _)| name.clone()).collect(),
        };
        // It is no catalog, so it does not fail to compile.
        self.event(Cause::default(), start, None)?;
        fault::point("start.noted");
        let again = self.plugs.paths.iter().filter(|(_, plug)| plug.again);
        let restart = Input::Restart {
            intended: self.machine.intended().iter().copied().collect(),
            again: again.map(|(name, _)| name.clone()).collect(),
            void,
        };
        let stepped = self.input(Cause::default(), restart, None);
        fault::point("restart.after");
        let doubted = self.components(|phase, is_action| phase == Phase::InDoubt && is_action);
        for at in doubted {
            self.note_in_doubt(at);
        }
        let seen: Vec<ComponentRef> = stepped.retained.clone();
        self.carry_out(stepped);
        for at in self.components(|phase, is_action| phase == Phase::Retained && !is_action) {
            if !seen.contains(&at) {
                self.may_leave(at);
            }
        }
        self.resume_obligations();
        self.look_for_all();
        self.claim(epoch)
    }

    /// Records the epoch outside, where that is wanted: after the journal tells of it, before anything leaves.
    fn claim(&mut self, epoch: u64) -> Result<(), OpenError> {
        let Some(mut file) = self.epoch_file.take() else {
            return Ok(());
        };
        self.flush();
        let (sender, durable) = std::sync::mpsc::channel();
        // What waits for it is still to come: the driver hears of it in its next job.
        let asked = self
            .committer
            .run(move |store| drop(sender.send(store.map(|_| ()))));
        let durable = asked.and_then(|_| durable.recv().unwrap_or(Err(StoreError::Ended)));
        fault::point("epoch.before");
        let claimed = match durable {
            Ok(()) => file.claim(epoch).map_err(OpenError::Epoch),
            Err(error) => Err(error.into()),
        };
        self.epoch_file = Some(file);
        fault::point("epoch.after");
        claimed
    }

    pub(super) fn components(&self, wanted: impl Fn(Phase, bool) -> bool) -> Vec<ComponentRef> {
        self.engine()
            .responses()
            .flat_map(|response| response.components)
            .filter(|view| wanted(view.phase, view.is_action))
            .map(|view| view.at)
            .collect()
    }

    fn resume_obligations(&mut self) {
        let open: Vec<(ObligationId, ObligationState)> = self
            .engine()
            .obligations()
            .map(|view| (view.id, view.state))
            .filter(|(_, state)| state.is_open())
            .collect();
        for (id, state) in open {
            match state {
                ObligationState::Created => self.after(move |driver, durable| {
                    if durable.is_ok() {
                        driver.tell(id, 0);
                    }
                }),
                ObligationState::ReadyForReadmission => self.resubmit(id),
                _ => {}
            }
        }
    }

    /// The store failed: nobody gets an answer that rests on what is not there, and nothing leaves (I9).
    pub(super) fn halt(&mut self, error: StoreError) {
        self.counters.store_failures += 1;
        self.host.remark(&format!("the store failed: {error}"));
        self.halted = Some(error.clone());
        for sent in std::mem::take(&mut self.sent) {
            for wait in sent.waits {
                wait(self, Err(error.clone()));
            }
        }
        self.refuse_unsent();
        self.clear_lanes(&error);
        self.try_again_later();
    }

    /// Forgets what was decided since: none of it is durable.
    pub(super) fn refuse_unsent(&mut self) {
        self.unsent = Batch::default();
        self.snapshots.drop_waiting();
        let Some(error) = self.halted.clone() else {
            return;
        };
        while !self.unsent_waits.is_empty() {
            for wait in std::mem::take(&mut self.unsent_waits) {
                wait(self, Err(error.clone()));
            }
        }
    }

    fn try_again_later(&self) {
        let host = self.host.clone();
        self.host.spawn(async move {
            tokio::time::sleep(STORE_PAUSE).await;
            host.send(Self::try_again);
        });
    }

    /// Where the store writes again: everything from the journal, as after a crash.
    fn try_again(&mut self) {
        if self.stopping {
            return;
        }
        if self.committer.recover().is_err() {
            return self.try_again_later();
        }
        let host = self.host.clone();
        let again = self.committer.run(move |store| {
            let replayed = match (store, draw_seed()) {
                (Ok(store), Ok(seed)) => store
                    .reader()
                    .map_err(ReplayError::Store)
                    .and_then(|reader| replay(reader, seed, |_| {}))
                    .map_err(|error| error.to_string()),
                (Err(error), _) => Err(error.to_string()),
                (_, Err(error)) => Err(error.to_string()),
            };
            host.send(move |driver| driver.rebuilt(replayed));
        });
        if again.is_err() {
            self.try_again_later();
        }
    }

    fn rebuilt(&mut self, replayed: Result<Option<Replayed>, String>) {
        match replayed {
            Ok(Some(replayed)) => {
                self.machine = replayed.machine;
                self.chain = Chain::after(replayed.tip);
                self.wake = replayed.wake;
                self.fresh = by_address(replayed.fresh);
            }
            Ok(None) => {
                // Not even the first record was written.
                let (file, text) = self.machine.catalog_text().clone();
                let now = self.clock.now();
                let machine = draw_seed()
                    .ok()
                    .and_then(|seed| Machine::new(now, seed, &file, &text).ok());
                let Some(machine) = machine else {
                    return self.try_again_later();
                };
                self.machine = machine;
                self.chain = Chain::default();
                self.fresh.clear();
                self.record_first_catalog(file, text);
            }
            Err(reason) => {
                self.host
                    .remark(&format!("the journal can't be read again: {reason}"));
                return self.try_again_later();
            }
        }
        self.lanes = Lanes::default();
        self.retries.clear();
        self.halted = None;
        self.host
            .remark("the store writes again; the state was rebuilt from the journal");
        if let Err(error) = self.take_over() {
            self.halt(StoreError::Io {
                doing: "take it over",
                path: "the data directory".into(),
                source: Arc::new(error),
            });
        }
    }

    /// Ends in good order: nothing new leaves, what is out is waited for, everything is stored. Whether it is done.
    pub fn stop(&mut self) -> bool {
        if !self.stopping {
            self.stopping = true;
        }
        self.under_way == 0 && self.sent.is_empty() && self.is_flushed()
    }

    /// Writes the last record; the thread ends with it.
    pub fn end(&mut self) {
        if self.halted.is_none() {
            // It is no catalog, so it does not fail to compile.
            let _ = self.event(Cause::default(), Event::Stop {}, None);
            let now = self.clock.now();
            self.take_snapshot(now);
        }
        self.ended = true;
    }

    /// Whether the thread may end.
    pub fn has_ended(&self) -> bool {
        self.ended && self.is_flushed()
    }
}

fn by_address(accepted: Vec<Accepted>) -> BTreeMap<String, Accepted> {
    let named = accepted.into_iter();
    named.map(|one| (one.address.clone(), one)).collect()
}

fn check_targets(plugs: &Plugs, known: &BTreeMap<String, String>) -> Result<(), OpenError> {
    for (name, plug) in &plugs.adapters {
        let now = plug.adapter.target();
        if let Some(was) = known.get(name).filter(|was| **was != now)
            && !plug.rebind
        {
            return Err(OpenError::Rebound {
                name: name.clone(),
                was: was.clone(),
                now,
            });
        }
    }
    Ok(())
}
