//! An engine as data, and an engine from it again: whatever comes next, both decide the same.

use super::{Engine, Options, Timer};
use crate::{
    component::{Component, SavedComponent, UnderWay},
    forgotten::Trace,
    graph::{ResponseGraph, SavedEdge},
    ledger::{Ledger, SavedLedger},
    numbered::Numbered,
    obligation::Obligation,
    phase::{ComponentRef, Phase},
    response::Response,
    shelf::{Documents, Shelf},
    state::{SavedState, State},
    token::Seed,
    variant::Variant,
};
use halo_canon::{Digest, Instant};
use halo_catalog::Catalog;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap, hash::BuildHasher, sync::Arc};

/// All of an engine that its decisions rest on, as plain data. Tokens are no part of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Saved {
    /// Which mechanism is taken out.
    #[serde(skip_serializing_if = "Variant::is_full", default)]
    variant: Variant,
    now: Instant,
    must_state_observed_at: bool,
    /// The contents of the catalogs that something refers to, in order of installation; the last is in force.
    catalogs: Vec<Digest>,
    /// Every document once.
    documents: Vec<String>,
    state: SavedState,
    ledger: SavedLedger,
    next_response: u32,
    responses: Vec<(u32, SavedResponse)>,
    forgotten: Vec<Trace>,
    made_ids: u64,
    next_obligation: u32,
    obligations: Vec<(u32, Obligation)>,
    timers: Vec<(Instant, Timer)>,
    clock_readers: Vec<ComponentRef>,
    clock_obligations: Vec<u32>,
    announced: Option<Instant>,
    /// Adapters in shadow mode.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    shadow: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedResponse {
    owner: Box<str>,
    id: Box<str>,
    document: u32,
    components: Vec<SavedComponent>,
    edges: Vec<SavedEdge>,
    obligations: Vec<u32>,
}

/// A saved state from which no engine can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the saved state is damaged: {0}")]
pub struct Damaged(&'static str);

impl Saved {
    /// The contents of the catalogs that [`Engine::restore`] needs, in order.
    pub fn catalogs(&self) -> &[Digest] {
        &self.catalogs
    }
}

impl Engine {
    /// The engine as data, between two inputs and with its effects drained.
    pub fn save(&self) -> Saved {
        let catalogs = self.used_catalogs();
        let mut shelf = Shelf::default();
        let state = self.state.save(&mut shelf);
        let number = |catalog: u32| catalogs.get(&catalog).copied().unwrap_or(0);
        let responses = self.responses.iter();
        let responses = responses
            .map(|(at, response)| (at, save_response(response, &mut shelf, number)))
            .collect();
        let obligations = self.obligations.iter().map(|(id, obligation)| {
            let mut obligation = obligation.clone();
            obligation.catalog = number(obligation.catalog);
            (id, obligation)
        });
        let contents = catalogs.keys();
        let mut timers: Vec<(Instant, Timer)> =
            self.timers.iter().map(|Reverse(timer)| *timer).collect();
        timers.sort_unstable();
        Saved {
            variant: self.variant,
            now: self.now,
            must_state_observed_at: self.must_state_observed_at,
            catalogs: contents
                .map(|catalog| self.installed(*catalog).catalog.content)
                .collect(),
            state,
            ledger: self.ledger.save(),
            next_response: self.responses.next(),
            responses,
            forgotten: self.forgotten.all(),
            made_ids: self.made_ids,
            next_obligation: self.obligations.next(),
            obligations: obligations.collect(),
            timers,
            clock_readers: self.clock_readers.iter().copied().collect(),
            clock_obligations: self.clock_obligations.iter().copied().collect(),
            announced: self.announced,
            shadow: self.shadow(),
            documents: shelf.into_texts(),
        }
    }

    /// When the driver was last asked to wake it.
    pub fn wake_at(&self) -> Option<Instant> {
        self.announced
    }

    /// The catalogs that something refers to, with the numbers that they are saved under.
    fn used_catalogs(&self) -> BTreeMap<u32, u32> {
        let responses = self.responses.iter();
        let components = responses.flat_map(|(_, response)| &response.components);
        let obligations = self.obligations.iter();
        let mut used: BTreeMap<u32, u32> = components
            .map(|component| component.catalog)
            .chain(obligations.map(|(_, obligation)| obligation.catalog))
            .chain([self.current_catalog()])
            .map(|catalog| (catalog, 0))
            .collect();
        for (number, saved) in (0..).zip(used.values_mut()) {
            *saved = number;
        }
        used
    }

    /// An engine that goes on where the saved one was. `catalogs`: those of [`Saved::catalogs`], in that order. Tokens
    /// of the saved engine are unknown to it; [`crate::Input::Restart`] gives live actions new ones (P18).
    ///
    /// Errors: the data does not hang together, or a [`crate::VariantEngine`] was saved.
    pub fn restore(saved: Saved, catalogs: Vec<Arc<Catalog>>, seed: Seed) -> Result<Self, Damaged> {
        if !saved.variant.is_full() {
            return Err(Damaged("it lacks a mechanism"));
        }
        Self::restore_variant(saved, catalogs, seed)
    }

    /// The same, whatever variant was saved.
    pub(crate) fn restore_variant(
        saved: Saved,
        catalogs: Vec<Arc<Catalog>>,
        seed: Seed,
    ) -> Result<Self, Damaged> {
        let contents = catalogs.iter().map(|catalog| &catalog.content);
        if !contents.eq(&saved.catalogs) {
            return Err(Damaged("other catalogs"));
        }
        let mut catalogs = catalogs.into_iter();
        let first = catalogs.next().ok_or(Damaged("no catalog"))?;
        let options = Options {
            start: saved.now,
            seed,
            must_state_observed_at: saved.must_state_observed_at,
        };
        let mut engine = Self::of_variant(first.clone(), options, saved.variant);
        let documents = Documents::read(&saved.documents).ok_or(Damaged("documents"))?;
        let hasher = engine.hasher.clone();
        engine.state = State::restore(saved.state, &documents, hasher.clone())
            .ok_or(Damaged("state records"))?;
        engine.ledger = Ledger::restore(saved.ledger, hasher).ok_or(Damaged("the ledger"))?;
        engine.catalogs.clear();
        for catalog in [first].into_iter().chain(catalogs) {
            engine.install(catalog);
        }
        engine.restore_responses(saved.next_response, saved.responses, &documents)?;
        engine.restore_obligations(saved.next_obligation, saved.obligations)?;
        for trace in saved.forgotten {
            engine.forgotten.insert(trace);
        }
        engine.made_ids = saved.made_ids;
        engine.timers = saved.timers.into_iter().map(Reverse).collect();
        engine.clock_readers = saved.clock_readers.into_iter().collect();
        engine.clock_obligations = saved.clock_obligations.into_iter().collect();
        engine.announced = saved.announced;
        engine.set_shadow(&saved.shadow);
        engine.index_all();
        Ok(engine)
    }

    fn restore_responses(
        &mut self,
        next: u32,
        saved: Vec<(u32, SavedResponse)>,
        documents: &Documents,
    ) -> Result<(), Damaged> {
        let mut responses = Vec::with_capacity(saved.len());
        for (number, saved) in saved {
            let sound = saved
                .components
                .iter()
                .all(|component| self.fits(component));
            let response = sound
                .then(|| self.restore_response(saved, documents))
                .flatten();
            responses.push((number, response.ok_or(Damaged("a response"))?));
        }
        self.responses = Numbered::restore(next, responses).ok_or(Damaged("numbers"))?;
        Ok(())
    }

    /// Whether what a component refers to is there.
    fn fits(&self, component: &SavedComponent) -> bool {
        let catalog = self.catalogs.get(component.catalog as usize);
        let type_fits = catalog.is_some_and(|installed| {
            let types = installed.catalog.types.len();
            component.type_.is_none_or(|ix| usize::from(ix) < types)
        });
        type_fits && component.slots.iter().all(|ix| self.state.has_slot(*ix))
    }

    fn restore_response(
        &mut self,
        saved: SavedResponse,
        documents: &Documents,
    ) -> Option<Response> {
        let mint = &mut self.mint;
        let components = saved.components.into_iter();
        let components: Vec<Component> = components
            .map(|component| Component::restore(component, documents, mint))
            .collect::<Option<_>>()?;
        let graph = ResponseGraph::restore(components.len(), saved.edges)?;
        let ids: Vec<Option<&str>> = components
            .iter()
            .map(|component| component.id.map(|_| component.id()))
            .collect();
        let (index, _) = self.index_ids(&ids);
        Some(Response {
            owner: saved.owner,
            id: saved.id,
            document: documents.get(saved.document)?.clone(),
            components,
            graph,
            index,
            obligations: saved.obligations,
            closure: self.mechanisms.closure,
        })
    }

    fn restore_obligations(
        &mut self,
        next: u32,
        saved: Vec<(u32, Obligation)>,
    ) -> Result<(), Damaged> {
        let sound = |(_, obligation): &(u32, Obligation)| {
            let refresh = obligation.refresh.iter().map(|(slot, _)| slot);
            let mut slots = refresh.chain(&obligation.slots);
            (obligation.catalog as usize) < self.catalogs.len()
                && slots.all(|ix| self.state.has_slot(*ix))
        };
        if !saved.iter().all(sound) {
            return Err(Damaged("an obligation"));
        }
        self.obligations = Numbered::restore(next, saved).ok_or(Damaged("numbers"))?;
        Ok(())
    }

    /// What can be told from the responses: their names, and who may leave.
    fn index_all(&mut self) {
        for (number, response) in self.responses.iter() {
            let hash = self.hasher.hash_one(&*response.id);
            let (responses, hasher) = (&self.responses, &self.hasher);
            self.response_index.insert_unique(hash, number, |ix| {
                let response = responses.get(*ix);
                response.map_or(0, |response| hasher.hash_one(&*response.id))
            });
        }
        for at in self.all_components() {
            let may_leave = self.component(at).is_some_and(|component| {
                component.phase == Phase::Retained && component.under_way == UnderWay::Idle
            });
            let is_action = self
                .instance(at)
                .is_some_and(|instance| instance.type_.is_action());
            if may_leave && is_action {
                self.actions.insert(at);
            } else if may_leave {
                self.emissions.insert(at);
            }
        }
    }
}

fn save_response(
    response: &Response,
    shelf: &mut Shelf,
    catalog: impl Fn(u32) -> u32,
) -> SavedResponse {
    let document = shelf.put(&response.document);
    let components = response.components.iter();
    SavedResponse {
        owner: response.owner.clone(),
        id: response.id.clone(),
        document,
        components: components
            .map(|component| component.save(shelf, catalog(component.catalog)))
            .collect(),
        edges: response.graph.save(),
        obligations: response.obligations.clone(),
    }
}
