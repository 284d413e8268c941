//! The protocol in motion: one input in, decisions and effects out.
//!
//! Call [`Engine::handle`] with times that never run backwards (an earlier one counts as the latest, P26), then drain
//! [`Engine::next_effect`]. The engine never calls back and never blocks.

mod admit;
mod approve;
mod events;
mod fall;
mod footprint;
mod forget;
mod leave;
mod observe;
mod outside;
mod readmit;
mod recover;
mod restart;
mod roll;
mod save;
pub(crate) mod shadow;
mod submit;
mod whole;

pub use save::{Damaged, Saved};

use crate::{
    component::{Component, UnderWay},
    effect::{Effect, Record},
    forgotten::Forgotten,
    identity::CatalogText,
    input::Input,
    ledger::Ledger,
    numbered::Numbered,
    obligation::{Obligation, ObligationId},
    phase::{ComponentRef, OrderedRefs, Phase},
    policy::AdmissionPolicy,
    reason::{Answer, Refusal, RefusalCode},
    response::{NameRef, Response, ResponseName},
    state::State,
    support::{Instance, World},
    token::{Presented, Seed, TokenMint},
    variant::{Mechanisms, Variant},
};
use foldhash::{SharedSeed, quality::SeedableRandomState};
use halo_canon::Instant;
use halo_catalog::{BoundField, Catalog, Effect as Leaves, Type};
use halo_cel::{Index, PathSegment};
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, VecDeque},
    hash::BuildHasher,
    sync::Arc,
};

/// How an engine starts.
#[derive(Debug)]
pub struct Options {
    /// The first `now`.
    pub start: Instant,
    /// Random bits for tokens and tables.
    pub seed: Seed,
    /// Whether records of sources with a freshness limit must state `observed_at` (formats.md §3). Scenarios: no.
    pub must_state_observed_at: bool,
}

/// What came of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handled {
    /// It was taken.
    Done,
    /// A response was accepted, or was known with the same content.
    Submitted {
        /// Its number.
        response: u32,
        /// Whether it was new.
        new: bool,
    },
    /// The gate answered; `authorized` from [`Input::Dispatch`] means armed, from [`Input::LastLook`] that a permit
    /// was made.
    Answered(Answer),
    /// State updates were taken, but for these (by position).
    Updated {
        /// What was refused.
        refused: Vec<(usize, Refusal)>,
    },
}

/// A catalog in force, or that was when some response was admitted (P25).
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) text: CatalogText,
    /// Ledger numbers of its adapters.
    pub(crate) adapters: Vec<u32>,
    /// State numbers of its sources.
    pub(crate) sources: Vec<u32>,
    /// By type: whether a check needs the digest as text.
    reads_digest: Vec<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Timer {
    Component(ComponentRef),
    Obligation(u32),
}

/// The protocol's state and transitions.
#[derive(Debug)]
pub struct Engine {
    variant: Variant,
    /// What `variant` keeps.
    pub(crate) mechanisms: Mechanisms,
    policy: Option<Arc<dyn AdmissionPolicy>>,
    catalogs: Vec<Installed>,
    now: Instant,
    must_state_observed_at: bool,
    pub(crate) state: State,
    pub(crate) ledger: Ledger,
    pub(crate) responses: Numbered<Response>,
    /// Responses by id; owners that chose the same one stand side by side.
    response_index: HashTable<u32>,
    forgotten: Forgotten,
    made_ids: u64,
    pub(crate) obligations: Numbered<Obligation>,
    hasher: SeedableRandomState,
    mint: TokenMint,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    /// Watched instances with a predicate on the clock, and open obligations with such a condition: every passing of
    /// time reconsiders them.
    clock_readers: BTreeSet<ComponentRef>,
    clock_obligations: BTreeSet<u32>,
    /// Retained and not under way, by what they are.
    emissions: OrderedRefs,
    actions: OrderedRefs,
    effects: VecDeque<Effect>,
    /// What the driver was last told to wake at.
    announced: Option<Instant>,
    /// Ledger numbers of the adapters in shadow mode.
    shadowed: BTreeSet<u32>,
    /// Written and read within one input only; kept for its memory.
    buffer: Vec<u8>,
}

impl Engine {
    /// An engine with one catalog and no state.
    pub fn new(catalog: Arc<Catalog>, options: Options) -> Self {
        Self::of_variant(catalog, options, Variant::HaloFull)
    }

    /// The same with a mechanism taken out; see [`crate::VariantEngine`].
    pub(crate) fn of_variant(catalog: Arc<Catalog>, options: Options, variant: Variant) -> Self {
        let hasher =
            SeedableRandomState::with_seed(options.seed.table_bits(), SharedSeed::global_fixed());
        let mut engine = Self {
            variant,
            mechanisms: variant.mechanisms(),
            policy: None,
            catalogs: Vec::new(),
            now: options.start,
            must_state_observed_at: options.must_state_observed_at,
            state: State::new(hasher.clone()),
            ledger: Ledger::new(hasher.clone()),
            responses: Numbered::default(),
            response_index: HashTable::new(),
            forgotten: Forgotten::new(hasher.clone()),
            made_ids: 0,
            obligations: Numbered::default(),
            hasher,
            mint: TokenMint::new(options.seed),
            timers: BinaryHeap::new(),
            clock_readers: BTreeSet::new(),
            clock_obligations: BTreeSet::new(),
            emissions: OrderedRefs::default(),
            actions: OrderedRefs::default(),
            effects: VecDeque::new(),
            announced: None,
            shadowed: BTreeSet::new(),
            buffer: Vec::new(),
        };
        engine.install(catalog);
        engine
    }

    /// Takes one input at `now`. What time alone does by then happens first.
    ///
    /// Errors: the input is refused whole; a refusal is recorded, and nothing else changed but what P8 and P22 say.
    pub fn handle(&mut self, now: Instant, input: Input) -> Result<Handled, Refusal> {
        self.pass_time(now);
        let handled = match input {
            Input::Submit {
                owner,
                text,
                fallback_id,
            } => self.submit(&owner, &text.0, fallback_id.as_deref()),
            Input::Update { records } => Ok(self.update(&records)),
            Input::Time => {
                self.reconsider_time();
                Ok(Handled::Done)
            }
            Input::Dispatch {
                response,
                component,
                payload,
                token,
                sequence,
            } => {
                let asked = leave::Asked {
                    payload: payload.as_ref(),
                    token: token.as_ref(),
                    sequence,
                };
                Ok(Handled::Answered(self.ask(&response, &component, &asked)))
            }
            Input::LastLook { component, silent } => {
                Ok(Handled::Answered(self.last_look(component, &silent)))
            }
            Input::Emit { component } => Ok(Handled::Answered(self.emit(component))),
            Input::Outcome {
                component,
                generation,
                outcome,
            } => {
                self.outcome(component, generation, outcome);
                Ok(Handled::Done)
            }
            Input::Observe {
                response,
                component,
                generation,
                reply,
            } => self.observe(&response, &component, generation, reply),
            Input::Support { obligation } => self.support_reported(obligation),
            Input::Refuse { obligation, text } => self.assignee_refuses(obligation, &text),
            Input::Told { obligation } => self.told(obligation),
            Input::Candidates {
                obligation,
                candidates,
            } => self.candidates(obligation, &candidates),
            Input::Roll {
                response,
                component,
                payload,
            } => self.roll(&response, &component, payload.as_ref()),
            Input::Approval {
                response,
                component,
                generation,
                by,
                voice,
            } => self.approval(&response, &component, generation, &by, voice),
            Input::Withdraw {
                response,
                component,
            } => self.withdraw(&response, &component),
            Input::Settle {
                response,
                component,
                settlement,
            } => self.settle(&response, &component, settlement),
            Input::Forget { responses } => {
                self.forget(&responses);
                Ok(Handled::Done)
            }
            Input::Restart {
                intended,
                again,
                void,
            } => {
                self.restart(&intended, &again, void);
                Ok(Handled::Done)
            }
        };
        if let Err(refusal) = &handled {
            self.record(Record::Refused(refusal.clone()));
        }
        self.announce_timer();
        handled
    }

    fn announce_timer(&mut self) {
        let earliest = self.timers.peek().map(|Reverse((due, _))| *due);
        if earliest != self.announced {
            self.announced = earliest;
            self.effects.extend(earliest.map(Effect::WakeAt));
        }
    }

    /// The next effect, in the order in which they came about.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Puts a catalog in force (P25). What was admitted under another one can no longer leave. The same content under
    /// the same version changes nothing; that a known version does not come with other content is for the caller, who
    /// knows the past ones, to see to.
    pub fn replace_catalog(&mut self, catalog: Arc<Catalog>) {
        if self
            .catalogs
            .last()
            .is_some_and(|current| current.catalog.content == catalog.content)
        {
            return;
        }
        self.install(catalog);
    }

    /// Which mechanism is taken out.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The time of the latest input.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The catalog in force.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.installed(self.current_catalog()).catalog
    }

    /// The first retained non-action in order of (response, position).
    pub fn first_emission(&self) -> Option<ComponentRef> {
        self.emissions.first()
    }

    /// The first retained action in order of (response, position).
    pub fn first_action(&self) -> Option<ComponentRef> {
        self.actions.first()
    }

    /// What a holder of that generation's token would present; nothing where none was issued.
    pub fn present<'n>(
        &self,
        response: impl Into<NameRef<'n>>,
        component: &str,
        generation: u32,
    ) -> Option<Presented> {
        let component = self.component(self.find(response, component)?)?;
        if component.generation == generation {
            return component.token.as_ref().map(|held| held.token.presented());
        }
        component
            .past
            .iter()
            .find(|past| past.generation == generation)
            .map(|past| past.held.token.presented())
    }

    /// The number of a component by the ids; of several bearers of an id, the first.
    pub fn find<'n>(
        &self,
        response: impl Into<NameRef<'n>>,
        component: &str,
    ) -> Option<ComponentRef> {
        let response = self.find_response(response)?;
        let position = self
            .responses
            .get(response)?
            .position(&self.hasher, component)?;
        Some(ComponentRef { response, position })
    }

    /// The newest obligation of a component.
    pub fn newest_obligation(&self, component: ComponentRef) -> Option<ObligationId> {
        self.component(component)?.newest_obligation
    }

    /// The number of a response.
    pub fn find_response<'n>(&self, response: impl Into<NameRef<'n>>) -> Option<u32> {
        let name = response.into();
        let same = |ix: &u32| {
            self.responses
                .get(*ix)
                .is_some_and(|response| response.name() == name)
        };
        self.response_index
            .find(self.hasher.hash_one(name.id), same)
            .copied()
    }

    /// Who has a response of this id, in the order of their names.
    pub fn owners_of(&self, id: &str) -> Vec<&str> {
        let hits = self.response_index.iter_hash(self.hasher.hash_one(id));
        let responses = hits.filter_map(|ix| self.responses.get(*ix));
        let named = responses.filter(|response| *response.id == *id);
        let mut owners: Vec<&str> = named.map(|response| &*response.owner).collect();
        owners.sort_unstable();
        owners
    }

    fn find_or_refuse(
        &self,
        response: &ResponseName,
        component: &str,
    ) -> Result<ComponentRef, Refusal> {
        self.find(response, component).ok_or_else(|| {
            let message = format!(
                "there is no component `{}` in a response `{}`",
                crate::envelope::shorten(component),
                crate::envelope::shorten(&response.id)
            );
            Refusal::new(RefusalCode::NoSuchComponent, message)
        })
    }

    fn install(&mut self, catalog: Arc<Catalog>) {
        let adapters = catalog
            .adapters
            .iter()
            .map(|adapter| self.ledger.adapter(&adapter.name))
            .collect();
        let sources = catalog
            .sources
            .iter()
            .map(|source| self.state.source(&source.name))
            .collect();
        let reads_digest = catalog.types.iter().map(reads_digest).collect();
        let text = CatalogText::new(&catalog);
        self.catalogs.push(Installed {
            catalog,
            text,
            adapters,
            sources,
            reads_digest,
        });
    }

    pub(crate) fn current_catalog(&self) -> u32 {
        (self.catalogs.len() - 1) as u32
    }

    pub(crate) fn installed(&self, catalog: u32) -> &Installed {
        // Catalogs are only ever added, and the first with the engine; every number was given out here.
        self.catalogs
            .get(catalog as usize)
            .unwrap_or(&self.catalogs[0])
    }

    pub(crate) fn component(&self, at: ComponentRef) -> Option<&Component> {
        self.responses
            .get(at.response)?
            .components
            .get(at.position as usize)
    }

    fn component_mut(&mut self, at: ComponentRef) -> Option<&mut Component> {
        self.responses
            .get_mut(at.response)?
            .components
            .get_mut(at.position as usize)
    }

    /// The instance at `at` with its type; nothing where its catalog has no such type.
    pub(crate) fn instance(&self, at: ComponentRef) -> Option<Instance<'_>> {
        let response = self.responses.get(at.response)?;
        let component = response.components.get(at.position as usize)?;
        let installed = self.installed(component.catalog);
        let type_ix = component.type_?;
        let type_ = installed.catalog.types.get(usize::from(type_ix))?;
        let adapter = match type_.effect {
            Leaves::Action(ix) => installed.adapters.get(usize::from(ix)).copied(),
            Leaves::Emit(_) => None,
        };
        let reads_digest = installed
            .reads_digest
            .get(usize::from(type_ix))
            .copied()
            .unwrap_or(true);
        Some(Instance {
            me: at,
            response: &response.id,
            component,
            type_,
            adapter,
            reads_digest,
        })
    }

    pub(crate) fn world(&self) -> World<'_> {
        World {
            state: &self.state,
            ledger: &self.ledger,
            now: self.now,
        }
    }

    fn record(&mut self, record: Record) {
        self.effects.push_back(Effect::Record(record));
    }

    /// The one place where a phase changes. Keeps the sets of what may leave in step.
    fn set_phase(&mut self, at: ComponentRef, to: Phase) {
        let is_action = self
            .instance(at)
            .is_some_and(|instance| instance.type_.is_action());
        let Some(component) = self.component_mut(at) else {
            return;
        };
        debug_assert!(
            component.phase.may_become(to),
            "{:?} → {to:?}",
            component.phase
        );
        let could_leave = component.phase == Phase::Retained;
        component.phase = to;
        let may_leave = to == Phase::Retained && component.under_way == UnderWay::Idle;
        let set = if is_action {
            &mut self.actions
        } else {
            &mut self.emissions
        };
        if may_leave {
            set.insert(at);
        } else if could_leave {
            set.remove(at);
        }
    }

    fn record_phase(&mut self, at: ComponentRef, from: Phase) {
        let Some(component) = self.component(at) else {
            return;
        };
        let record = Record::Phase {
            component: at,
            generation: component.generation,
            from,
            to: component.phase,
            reasons: component.reasons.clone(),
            terminal: component.terminal,
        };
        self.record(record);
    }
}

/// Whether a type's checks need the digest as text.
fn reads_digest(type_: &Type) -> bool {
    let indexes = |path: &[PathSegment]| {
        path.iter()
            .any(|s| matches!(s, PathSegment::Index(Index::ComponentDigest)))
    };
    let bound = type_.bind.iter().any(|bound| match &bound.field {
        BoundField::Value(path) => indexes(path),
        BoundField::Epoch | BoundField::Provenance => false,
    });
    let keyed = type_
        .records
        .iter()
        .any(|record| record.index == Some(Index::ComponentDigest));
    let programs = !type_.support.is_empty()
        || type_.once.is_some()
        || type_.ready.iter().any(Option::is_some);
    let horizon = !matches!(type_.temporal, halo_catalog::Temporal::Point);
    bound || keyed || programs || horizon
}
