//! Admission of a group of proposed instances: a whole response, candidates, a next window, or after a restart.

use super::{Engine, Timer, fall::Fall};
use crate::{
    closure::{RetainedSet, greatest},
    component::{HeldToken, SlotList, TokenState, UnderWay},
    gate,
    graph::{GraphEdge, ResponseGraph},
    identity::Witness,
    phase::{ComponentRef, Phase},
    state::{Keys, NO_SLOT, SlotIx},
    support::{self, DigestText, Failure},
};
use halo_canon::Instant;
use halo_catalog::Temporal;
use halo_cel::RecordRef;
use std::cmp::Reverse;

/// What the names in an instance's checks refer to.
struct Resolved {
    slots: SlotList,
    /// Slots to be made: position, source, key.
    missing: Vec<(usize, u32, Option<Box<str>>)>,
    once_key: Option<Box<str>>,
}

/// What admission gives an instance that it retains.
struct Authority {
    bound: Vec<crate::state::BoundValue>,
    witness: Option<Witness>,
    adapter: Option<u32>,
    seen: Option<Box<[Instant]>>,
    deadline: Option<Instant>,
    footprint: usize,
    reads_clock: bool,
    watches_key: bool,
}

impl Engine {
    /// Judges the proposed instances at `group` (in response order) and retains the greatest closed set among them
    /// (P5, P9, P12, P14).
    pub(super) fn admit(&mut self, response: u32, group: &[u32]) {
        let at = |position: &u32| ComponentRef {
            response,
            position: *position,
        };
        for position in group {
            self.resolve(at(position));
        }
        let mut judged: Vec<Vec<Failure>> = group
            .iter()
            .map(|position| self.judge_support(at(position)))
            .collect();
        self.ask_policy(response, group, &mut judged);
        let well_formed = |position: &u32| {
            self.component(at(position))
                .is_some_and(|component| !component.malformed)
        };
        let mut supported: Vec<bool> = group
            .iter()
            .zip(&judged)
            .map(|(position, failures)| failures.is_empty() && well_formed(position))
            .collect();
        if !self.mechanisms.partial_retention && supported.contains(&false) {
            supported.fill(false);
        }
        let retained = self.close(response, group, &supported, group);
        self.retain(response, group, &retained);
        for position in group
            .iter()
            .filter(|position| retained.contains(**position))
        {
            self.set_phase(at(position), Phase::Pending);
        }
        self.withhold(response, group, judged, &retained);
        for position in group
            .iter()
            .filter(|position| retained.contains(**position))
        {
            self.enter_first_phase(at(position));
            self.record_shadow(at(position));
        }
    }

    /// Finds the slots of an instance's records, and its `once` key.
    fn resolve(&mut self, at: ComponentRef) {
        let now = self.now;
        let snapshot = (!self.mechanisms.footprints).then(|| self.state.changes());
        if let Some(component) = self.component_mut(at) {
            component.admitted_at = now;
            component.snapshot = snapshot;
        }
        if !self.shadowed.is_empty() {
            self.note_shadow(at);
        }
        let Some(Resolved {
            mut slots,
            missing,
            once_key,
        }) = self.find_slots(at)
        else {
            return;
        };
        for (index, source, key) in missing {
            if let Some(slot) = slots.get_mut(index) {
                *slot = self.state.slot(source, key.as_deref());
            }
        }
        if let Some(component) = self.component_mut(at) {
            component.slots = slots;
            component.once_key = once_key;
        }
    }

    /// The slots that exist, and the names of those to be made.
    fn find_slots(&self, at: ComponentRef) -> Option<Resolved> {
        let instance = self
            .instance(at)
            .filter(|instance| !instance.component.malformed)?;
        if instance.type_.records.is_empty() && instance.type_.once.is_none() {
            return None;
        }
        let digest = DigestText::of(&instance);
        let keys = instance.keys(digest.as_str())?;
        let sources = &self.installed(instance.component.catalog).sources;
        let (mut slots, mut missing) = (SlotList::new(), Vec::new());
        for (index, record) in instance.type_.records.iter().enumerate() {
            let source = sources
                .get(usize::from(record.source))
                .copied()
                .unwrap_or(u32::MAX);
            let key = record.index.as_ref().map(|index| keys.text(index));
            let found = match key {
                Some(None) => None,
                key => {
                    let key = key.flatten();
                    let found = self.state.find(source, key);
                    if found.is_none() {
                        missing.push((index, source, key.map(Box::from)));
                    }
                    found
                }
            };
            slots.push(found.unwrap_or(NO_SLOT));
        }
        let once_key = support::once_key(&instance, &self.world());
        Some(Resolved {
            slots,
            missing,
            once_key,
        })
    }

    /// The slot of a record as `keys` resolve it, where there is one.
    pub(super) fn find_slot(&self, catalog: u32, record: &RecordRef, keys: &Keys<'_>) -> SlotIx {
        let sources = &self.installed(catalog).sources;
        let Some(source) = sources.get(usize::from(record.source)).copied() else {
            return NO_SLOT;
        };
        let found = match &record.index {
            None => self.state.find(source, None),
            Some(index) => keys
                .text(index)
                .and_then(|key| self.state.find(source, Some(key))),
        };
        found.unwrap_or(NO_SLOT)
    }

    fn judge_support(&self, at: ComponentRef) -> Vec<Failure> {
        match self.instance(at) {
            Some(instance) if !instance.component.malformed => {
                support::failures(&instance, &self.world(), true)
            }
            _ => Vec::new(),
        }
    }

    /// The retained set among `group`. Ancestors of `of` that left and that nobody waited for until now, or that lapsed
    /// under way, are judged with it: what of them is in `A*` counts again, and is watched (P9).
    pub(super) fn close(
        &mut self,
        response: u32,
        group: &[u32],
        supported: &[bool],
        of: &[u32],
    ) -> RetainedSet {
        let at = |position: u32| ComponentRef { response, position };
        let ancestors = self.unwatched_ancestors(response, of);
        let Some(stored) = self.responses.get(response) else {
            return greatest(&ResponseGraph::default(), &[], &[], |_| false);
        };
        let graph = &stored.graph;
        let outside = |edge: &GraphEdge| stored.edge_holds(edge);
        if ancestors.is_empty() {
            return greatest(graph, group, supported, outside);
        }
        let same_parents = |position: u32| {
            graph.prerequisites(position).iter().all(|edge| {
                self.component(at(edge.parent))
                    .is_some_and(|parent| parent.version == edge.version)
            })
        };
        let may_count = |position: &u32| self.local(at(*position)).0 && same_parents(*position);
        let nodes: Vec<u32> = group.iter().chain(&ancestors).copied().collect();
        let supported: Vec<bool> = supported
            .iter()
            .copied()
            .chain(ancestors.iter().map(may_count))
            .collect();
        let retained = greatest(graph, &nodes, &supported, outside);
        for position in ancestors {
            if retained.contains(position) {
                self.watch(at(position));
            }
        }
        retained
    }

    /// Ancestors that left, or lapsed under way, and do not count for anybody at present.
    fn unwatched_ancestors(&self, response: u32, of: &[u32]) -> Vec<u32> {
        let Some(stored) = self.responses.get(response) else {
            return Vec::new();
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut stack = of.to_vec();
        while let Some(node) = stack.pop() {
            for edge in stored.graph.prerequisites(node) {
                let unwatched = stored.get(edge.parent).is_some_and(|parent| {
                    parent.lapsed || (parent.phase.has_left() && !parent.monitored)
                });
                if unwatched && !edge.until_left && seen.insert(edge.parent) {
                    stack.push(edge.parent);
                }
            }
        }
        seen.into_iter().collect()
    }

    /// The current local support of an instance that left, or is about to; and when time alone may change it.
    fn local(&self, at: ComponentRef) -> (bool, Option<Instant>) {
        let Some(instance) = self.instance(at) else {
            return (false, None);
        };
        let world = self.world();
        let waiting =
            instance.component.phase.is_live() && instance.component.under_way != UnderWay::Calling;
        let holds = self.current_failures(&instance, waiting).is_empty();
        (holds, support::deadline(&instance, &world, waiting))
    }

    /// Whether such an instance is in `A*`, given that what is watched is; and when time alone may change that.
    pub(super) fn membership(&self, at: ComponentRef) -> (bool, Option<Instant>) {
        let (holds, deadline) = self.local(at);
        let closed = self
            .responses
            .get(at.response)
            .is_some_and(|response| response.prerequisites_hold(at.position));
        let member = holds && closed;
        (member, deadline)
    }

    /// Watches an instance that left, if it is in `A*` now.
    pub(super) fn watch_if_member(&mut self, at: ComponentRef) {
        if self.membership(at).0 {
            self.watch(at);
        }
    }

    /// Watches an instance that left and is in `A*`. One that lapsed under way is watched, and counts again.
    fn watch(&mut self, at: ComponentRef) {
        let (_, deadline) = self.local(at);
        if let Some(component) = self.component_mut(at)
            && component.phase.is_live()
        {
            component.lapsed = false;
            return;
        }
        let Some(instance) = self.instance(at) else {
            return;
        };
        let (footprint, reads_clock) = (
            usize::from(instance.type_.footprint),
            instance.type_.reads_clock,
        );
        if let Some(component) = self.component_mut(at) {
            component.monitored = true;
        }
        self.subscribe(at, footprint, reads_clock, deadline);
    }

    pub(super) fn subscribe(
        &mut self,
        at: ComponentRef,
        footprint: usize,
        reads_clock: bool,
        deadline: Option<Instant>,
    ) {
        let (responses, state) = (&self.responses, &mut self.state);
        if let Some(component) = responses
            .get(at.response)
            .and_then(|response| response.components.get(at.position as usize))
        {
            state.subscribe(at, &component.slots, footprint);
        }
        if reads_clock {
            self.clock_readers.insert(at);
        }
        self.set_timer(at, deadline);
    }

    /// Takes an instance that is not watched any more off every list.
    pub(super) fn unsubscribe(&mut self, at: ComponentRef) {
        let Some(instance) = self.instance(at) else {
            return;
        };
        let (footprint, reads_clock) = (
            usize::from(instance.type_.footprint),
            instance.type_.reads_clock,
        );
        let (responses, state) = (&self.responses, &mut self.state);
        let find = |at: ComponentRef| {
            responses
                .get(at.response)
                .and_then(|response| response.components.get(at.position as usize))
        };
        if let Some(component) = find(at) {
            let still = |reader: ComponentRef| {
                find(reader).is_some_and(crate::component::Component::is_watched)
            };
            state.unsubscribe(&component.slots, footprint, still);
        }
        if reads_clock {
            self.clock_readers.remove(&at);
        }
    }

    /// Sees to it that time reconsiders `at` by `deadline`. An earlier entry serves as well: it sets the next one.
    pub(super) fn set_timer(&mut self, at: ComponentRef, deadline: Option<Instant>) {
        let Some(deadline) = deadline else { return };
        let Some(component) = self.component_mut(at) else {
            return;
        };
        if component.timer.is_some_and(|timer| timer <= deadline) {
            return;
        }
        component.timer = Some(deadline);
        self.timers.push(Reverse((deadline, Timer::Component(at))));
    }

    /// Gives every retained instance its witness, sequence, binding and token: given sequences first, the others in
    /// response order (P14).
    fn retain(&mut self, response: u32, group: &[u32], retained: &RetainedSet) {
        for position in group
            .iter()
            .filter(|position| retained.contains(**position))
        {
            let at = ComponentRef {
                response,
                position: *position,
            };
            let given = self
                .component(at)
                .and_then(|component| component.given_sequence);
            if let Some(sequence) = given
                && let Some(adapter) = self.instance(at).and_then(|instance| instance.adapter)
            {
                self.ledger.take(adapter, sequence);
            }
        }
        for position in group
            .iter()
            .filter(|position| retained.contains(**position))
        {
            self.authorize(ComponentRef {
                response,
                position: *position,
            });
        }
    }

    pub(super) fn authorize(&mut self, at: ComponentRef) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let Some(authority) = self.authority(at, &mut buffer) else {
            self.buffer = buffer;
            return;
        };
        let given = self
            .component(at)
            .and_then(|component| component.given_sequence);
        let sequence = authority
            .adapter
            .map(|adapter| given.unwrap_or_else(|| self.ledger.next(adapter)));
        let token = authority.adapter.map(|_| HeldToken {
            token: self.mint.mint(),
            state: TokenState::Live,
        });
        if let Some(component) = self.component_mut(at) {
            component.bound = authority.bound;
            component.seen = authority.seen;
            component.binding = authority
                .witness
                .zip(sequence)
                .map(|(witness, sequence)| witness.binding(sequence, &mut buffer));
            component.sequence = sequence;
            component.token = token;
        }
        self.buffer = buffer;
        self.subscribe(
            at,
            authority.footprint,
            authority.reads_clock,
            authority.deadline,
        );
        if authority.watches_key
            && let (Some(adapter), Some(key)) = (
                authority.adapter,
                self.component(at)
                    .and_then(|component| component.once_key.clone()),
            )
        {
            self.ledger.watch_key(adapter, &key, at);
        }
    }

    fn authority(&self, at: ComponentRef, buffer: &mut Vec<u8>) -> Option<Authority> {
        let instance = self.instance(at)?;
        let world = self.world();
        let component = instance.component;
        let installed = self.installed(component.catalog);
        let digest = DigestText::of(&instance);
        let keys: Keys<'_> = instance.keys(digest.as_str())?;
        // A non-action has no witness: what it says was checked, and it asks for nothing (P13, P16).
        let bound = if instance.adapter.is_some() {
            gate::read_bounds(&instance, &world, &keys, self.mechanisms)
        } else {
            Vec::new()
        };
        let witness = match (instance.adapter, component.digest) {
            (Some(_), Some(digest)) => {
                let certificate = component
                    .certificate
                    .as_ref()
                    .map(|certificate| &certificate.digest);
                let order = installed.text.bound_order(component.type_?);
                Some(Witness::of(
                    &digest,
                    &bound,
                    order,
                    certificate,
                    &installed.text,
                    buffer,
                ))
            }
            _ => None,
        };
        let rolling = matches!(instance.type_.temporal, Temporal::Rolling { .. });
        let seen = rolling.then(|| {
            let observed = |slot| {
                instance
                    .record(&self.state, slot)
                    .map_or(Instant::MIN, |record| record.observed_at)
            };
            instance
                .type_
                .fresh
                .iter()
                .map(|limit| observed(limit.slot))
                .collect()
        });
        Some(Authority {
            bound,
            witness,
            adapter: instance.adapter,
            seen,
            deadline: support::deadline(&instance, &world, true),
            footprint: usize::from(instance.type_.footprint),
            reads_clock: instance.type_.reads_clock,
            watches_key: component.once_key.is_some(),
        })
    }

    /// Not in `A*` at admission: withheld (P12).
    fn withhold(
        &mut self,
        response: u32,
        group: &[u32],
        judged: Vec<Vec<Failure>>,
        retained: &RetainedSet,
    ) {
        let mut falls = Vec::new();
        for (position, failures) in group.iter().zip(judged) {
            if retained.contains(*position) {
                continue;
            }
            let at = ComponentRef {
                response,
                position: *position,
            };
            falls.push(match self.component(at) {
                Some(component) if component.malformed => {
                    Fall::malformed(at, component.reasons.clone())
                }
                _ => self.fall_of_failures(at, failures),
            });
        }
        if !falls.is_empty() {
            self.fall(falls, Vec::new());
        }
    }

    fn enter_first_phase(&mut self, at: ComponentRef) {
        if self.readiness(at).is_ok() {
            self.set_phase(at, Phase::Retained);
        }
        self.record_phase(at, Phase::Proposed);
    }
}
