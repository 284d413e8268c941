//! The engine with what the runtime must remember beside it. Live and when records are read again, one and the same step.

mod holdings;
mod saved;

pub use saved::{SavedMachine, Unusable};

use holdings::Holdings;

use crate::{
    books::{Books, Keyed},
    decision::{Decision, decision},
    turn::{Accepted, Event},
};
use halo_canon::{Digest, Instant};
use halo_catalog::{Catalog, Severity};
use halo_core::{
    ComponentRef, DispatchPermit, Effect, EmitPermit, Engine, Handled, Input, ObligationId,
    ObligationState, Options, Phase, Record, Refusal, Seed,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// Engine and books.
#[derive(Debug)]
pub struct Machine {
    engine: Engine,
    /// Non-actions that may be on their way without a record of it (P13).
    intended: BTreeSet<ComponentRef>,
    books: Books,
    /// How many processes took the directory over so far.
    epoch: u64,
    /// What each adapter's name was bound to by the newest of them.
    targets: BTreeMap<String, String>,
    /// The content of every catalog ever in force, by name and version (P25).
    versions: HashMap<(String, String), Digest>,
    /// The file name and text of the catalog in force.
    catalog_text: Arc<(String, String)>,
    holdings: Holdings,
    /// The texts of the catalogs that were in force, by content.
    texts: HashMap<Digest, Arc<(String, String)>>,
    /// Whether decisions are put into words: not while records are read again, where nobody hears them.
    tells: bool,
}

/// What came of a step.
#[derive(Debug, Default)]
pub struct Stepped {
    /// What the engine said to an input.
    pub handled: Option<Result<Handled, Refusal>>,
    /// What was decided.
    pub decisions: Vec<Decision>,
    /// Whether anything but the acceptance of state updates was decided.
    pub decided: bool,
    /// Instances whose token was spent.
    pub armed: Vec<(ComponentRef, u32)>,
    /// Authority for adapter calls.
    pub calls: Vec<DispatchPermit>,
    /// Authority for emissions.
    pub emits: Vec<EmitPermit>,
    /// Obligations whose handler is to be told.
    pub tells: Vec<ObligationId>,
    /// Instances that came to be retained.
    pub retained: Vec<ComponentRef>,
    /// Instances whose outcome was in doubt and is known now.
    pub resolved: Vec<ComponentRef>,
    /// Obligations that candidates may come for now.
    pub ready: Vec<ObligationId>,
    /// Addresses of accepted state updates.
    pub updated: Vec<String>,
    /// Numbers of the responses that it is about.
    pub touched: BTreeSet<u32>,
    /// When time itself is the next input.
    pub wake: Option<Instant>,
}

/// Who causes a step, and under which key.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cause<'a> {
    /// Who.
    pub by: &'a str,
    /// The `Idempotency-Key`.
    pub key: Option<&'a str>,
}

/// A catalog's text that does not compile.
#[derive(Debug, thiserror::Error)]
#[error("the catalog `{file}` has errors, the first at {first}; `halo check` lists them")]
pub struct BadCatalog {
    file: String,
    first: String,
}

/// Compiles a catalog's text.
pub fn compile(file: &str, text: &str) -> Result<Arc<Catalog>, BadCatalog> {
    let decoded = halo_catalog::decode::catalog(file, text);
    decoded.catalog.ok_or_else(|| {
        let worst = decoded
            .diagnostics
            .iter()
            .find(|found| found.severity == Severity::Error);
        BadCatalog {
            file: file.into(),
            first: worst.map_or_else(String::new, |found| {
                format!("{}:{}: {}", found.line, found.column, found.message)
            }),
        }
    })
}

impl Machine {
    /// A machine with its first catalog in force, at `at`. `seed` is drawn anew by every process: no token outlives one.
    pub fn new(at: Instant, seed: Seed, file: &str, text: &str) -> Result<Self, BadCatalog> {
        let catalog = compile(file, text)?;
        let options = Options {
            start: at,
            seed,
            must_state_observed_at: true,
        };
        let mut machine = Self {
            engine: Engine::new(catalog, options),
            intended: BTreeSet::new(),
            books: Books::default(),
            epoch: 0,
            targets: BTreeMap::new(),
            versions: HashMap::new(),
            catalog_text: Arc::new((file.into(), text.into())),
            holdings: Holdings::default(),
            texts: HashMap::new(),
            tells: true,
        };
        machine.note_version();
        Ok(machine)
    }

    /// Takes a state record at the time when it was accepted.
    pub fn accept(&mut self, accepted: &Accepted) -> Stepped {
        let records = vec![(accepted.address.clone(), accepted.record.get().into())];
        self.input(accepted.accepted_at, Input::Update { records })
    }

    /// One step.
    ///
    /// Errors: a catalog's text that does not compile; nothing changed.
    pub fn step(
        &mut self,
        at: Instant,
        cause: Cause<'_>,
        event: Event,
    ) -> Result<Stepped, BadCatalog> {
        Ok(match event {
            Event::Input(input) => {
                let text = match &input {
                    Input::Submit { text, .. } => Some(Digest::of(&text.0)),
                    Input::Emit { component } => {
                        self.intended.remove(component);
                        None
                    }
                    _ => None,
                };
                let restart = matches!(input, Input::Restart { .. });
                let stepped = self.input(at, input);
                if restart {
                    self.intended = self.may_go_out();
                }
                if let (Some(text), Some(key), Some(Ok(Handled::Submitted { response, .. }))) =
                    (text, cause.key, &stepped.handled)
                {
                    let response = *response;
                    if self.keeps(response) {
                        self.books.note_key(cause.by, key, Keyed { response, text });
                    }
                }
                stepped
            }
            Event::Catalog { file, text } => {
                self.engine.replace_catalog(compile(&file, &text)?);
                self.catalog_text = Arc::new((file, text));
                self.note_version();
                self.drain()
            }
            Event::Start {
                epoch,
                adapters,
                shadow,
            } => {
                self.epoch = epoch;
                self.engine.set_shadow(&shadow);
                self.targets.extend(adapters);
                Stepped::default()
            }
            Event::Stop {} => {
                self.intended.clear();
                Stepped::default()
            }
            Event::Refused { .. } => Stepped::default(),
        })
    }

    /// Whether decisions are wanted from now on.
    pub fn tell_decisions(&mut self, tells: bool) {
        self.tells = tells;
    }

    /// Remembers that a record is about these responses.
    pub fn note_record(&mut self, number: u64, at: Instant, touched: &BTreeSet<u32>) {
        for response in touched {
            if self.keeps(*response) {
                self.books.note_record(*response, number, at);
            }
        }
    }

    /// Takes a response that has not changed since `until` out of the queue of those.
    pub fn take_quiet(&mut self, until: Instant) -> Option<u32> {
        self.books.take_quiet(until)
    }

    fn keeps(&self, response: u32) -> bool {
        self.engine.response_id(response).is_some()
    }

    fn forget(&mut self, response: u32) {
        self.books.forget(response, self.engine.now());
        let at = |position| ComponentRef { response, position };
        let range = self.intended.range(at(0)..=at(u32::MAX));
        let gone: Vec<ComponentRef> = range.copied().collect();
        for at in gone {
            self.intended.remove(&at);
        }
    }

    /// Non-actions that are retained: after a restart they go out, whether or not it says so of them.
    fn may_go_out(&self) -> BTreeSet<ComponentRef> {
        let responses = self.engine.responses();
        let views = responses.flat_map(|response| response.components);
        views
            .filter(|view| view.phase == Phase::Retained && !view.is_action)
            .map(|view| view.at)
            .collect()
    }

    fn note_version(&mut self) {
        let catalog = self.engine.catalog();
        self.texts
            .insert(catalog.content, self.catalog_text.clone());
        self.versions.insert(
            (catalog.name.clone(), catalog.version.clone()),
            catalog.content,
        );
    }

    fn input(&mut self, at: Instant, input: Input) -> Stepped {
        let handled = self.engine.handle(at, input);
        let mut stepped = self.drain();
        if let Ok(Handled::Submitted { response, .. }) = &handled {
            stepped.touched.insert(*response);
        }
        stepped.handled = Some(handled);
        stepped
    }

    fn drain(&mut self) -> Stepped {
        let mut stepped = Stepped::default();
        let mut records = Vec::new();
        while let Some(effect) = self.engine.next_effect() {
            match effect {
                Effect::Spend(armed) => {
                    let (at, generation) = (armed.component(), armed.generation());
                    self.books.note_binding(armed.binding(), at, generation);
                    stepped.armed.push((at, generation));
                }
                Effect::Dispatch(permit) => stepped.calls.push(permit),
                Effect::Emit(permit) => stepped.emits.push(permit),
                Effect::Tell(obligation) => stepped.tells.push(obligation),
                Effect::WakeAt(at) => stepped.wake = Some(at),
                Effect::Record(record) => records.push(record),
            }
        }
        for record in records {
            self.note(&record, &mut stepped);
            if self.tells {
                stepped.decisions.extend(decision(&self.engine, record));
            }
        }
        for response in &stepped.touched {
            self.holdings.note_response(&self.engine, *response);
        }
        stepped
    }

    fn note(&mut self, record: &Record, stepped: &mut Stepped) {
        stepped.decided |= !matches!(record, Record::Updated { .. });
        let mut touch = |at: &ComponentRef| {
            stepped.touched.insert(at.response);
        };
        match record {
            Record::Phase {
                component,
                from,
                to,
                ..
            } => {
                touch(component);
                if *to == Phase::Retained {
                    stepped.retained.push(*component);
                    if self
                        .engine
                        .view(*component)
                        .is_some_and(|view| !view.is_action)
                    {
                        self.intended.insert(*component);
                    }
                }
                if *from == Phase::InDoubt {
                    stepped.resolved.push(*component);
                }
            }
            Record::Obligation { obligation, state } => {
                if let Some(view) = self.engine.obligation(*obligation) {
                    touch(&view.at);
                }
                self.holdings
                    .note_obligation(&self.engine, *obligation, *state);
                if *state == ObligationState::ReadyForReadmission {
                    stepped.ready.push(*obligation);
                }
            }
            Record::Forgotten { response, .. } => self.forget(*response),
            Record::Updated { address, .. } => stepped.updated.push(address.clone()),
            Record::Answered {
                component: Some(component),
                ..
            }
            | Record::Contradiction { component, .. }
            | Record::WouldWithhold { component, .. }
            | Record::Voice { component, .. } => touch(component),
            Record::Answered {
                component: None, ..
            }
            | Record::Submitted { .. }
            | Record::Resubmitted { .. }
            | Record::Refused(_) => {}
        }
    }

    /// How many responses with something live, and how many open obligations, an owner has.
    pub fn holdings(&self, owner: &str) -> (u64, u64) {
        self.holdings.of_owner(owner)
    }

    /// How many obligations are open.
    pub fn open(&self) -> usize {
        self.holdings.all().1
    }

    /// How many responses have something live.
    pub fn live(&self) -> usize {
        self.holdings.all().0
    }

    /// The engine, to read.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Non-actions that may be on their way without a record of it.
    pub fn intended(&self) -> &BTreeSet<ComponentRef> {
        &self.intended
    }

    /// The instance whose token was spent under this binding.
    pub fn bound(&self, binding: &Digest) -> Option<(ComponentRef, u32)> {
        self.books.bound(binding)
    }

    /// What came under a key.
    pub fn keyed(&self, owner: &str, key: &str) -> Option<Keyed> {
        self.books.keyed(owner, key)
    }

    /// How many processes took the directory over so far.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What each adapter's name was bound to.
    pub fn targets(&self) -> &BTreeMap<String, String> {
        &self.targets
    }

    /// The content that a version of a catalog is known with.
    pub fn known_version(&self, name: &str, version: &str) -> Option<Digest> {
        self.versions
            .get(&(name.to_owned(), version.to_owned()))
            .copied()
    }

    /// File name and text of the catalog in force.
    pub fn catalog_text(&self) -> &(String, String) {
        &self.catalog_text
    }

    /// Numbers of the records about a response, in order.
    pub fn trail(&self, response: u32) -> &[u64] {
        self.books.trail(response)
    }

    /// The texts of what was dropped before `until` are erased, or nobody wants them erased.
    pub fn erased(&mut self, until: Instant) {
        self.books.erased(until);
    }

    /// What is remembered of each response that is kept.
    pub fn books(&self) -> &Books {
        &self.books
    }
}
