//! How instances end, and what that leaves behind: P12, P19, P20 in one place, whatever the cause.

use super::{Engine, Timer};
use crate::{
    component::{SlotList, UnderWay},
    effect::{Effect, Record},
    obligation::{Obligation, ObligationId, ObligationState},
    phase::{ComponentRef, Phase},
    reason::{Reason, ReasonCode},
    state::{NO_SLOT, SlotIx},
    support::Failure,
};
use std::{cmp::Reverse, collections::BTreeMap};

/// An instance that ends, with the cause that is its own.
#[derive(Debug)]
pub(super) struct Fall {
    pub(super) at: ComponentRef,
    pub(super) phase: Phase,
    pub(super) reasons: Vec<Reason>,
    /// Whether closure has a part in it: then the direct parents that are lost are reasons too (P12). An end of the
    /// instance's own (withdrawn, rejected, restarted, a changed witness) has no other reason.
    pub(super) by_closure: bool,
    pub(super) recovery: Recovery,
}

/// How it may come back (P19).
#[derive(Debug)]
pub(super) enum Recovery {
    /// Not at all.
    Terminal,
    /// With an ancestor only.
    WithAncestor,
    /// Through this route.
    Route {
        route: u16,
        /// The records that the failing checks read, or that hold the changed bound paths.
        records: Vec<SlotIx>,
        /// Whether their change was the reason: then they count as refreshed (P21).
        refreshed: bool,
    },
}

impl Fall {
    pub(super) fn terminal(at: ComponentRef, phase: Phase, reason: Reason) -> Self {
        Self {
            at,
            phase,
            reasons: vec![reason],
            by_closure: false,
            recovery: Recovery::Terminal,
        }
    }

    /// It fell with an ancestor only.
    pub(super) fn excluded(at: ComponentRef, phase: Phase) -> Self {
        Self {
            at,
            phase,
            reasons: Vec::new(),
            by_closure: true,
            recovery: Recovery::WithAncestor,
        }
    }

    pub(super) fn malformed(at: ComponentRef, reasons: Vec<Reason>) -> Self {
        Self {
            at,
            phase: Phase::Withheld,
            reasons,
            by_closure: false,
            recovery: Recovery::Terminal,
        }
    }
}

impl Engine {
    /// The fall of an instance whose local checks fail, or of one that fell with an ancestor only.
    pub(super) fn fall_of_failures(&self, at: ComponentRef, failures: Vec<Failure>) -> Fall {
        let phase = Phase::Withheld;
        let Some(first) = failures.first() else {
            return Fall::excluded(at, phase);
        };
        let recovery = match first.route {
            Some(route) if failures.iter().all(|failure| failure.route.is_some()) => {
                let reads = failures.iter().flat_map(|failure| &failure.reads);
                Recovery::Route {
                    route,
                    records: self.slots_of(at, reads.copied()),
                    refreshed: false,
                }
            }
            _ => Recovery::Terminal,
        };
        let reasons = failures.into_iter().map(|failure| failure.reason).collect();
        Fall {
            at,
            phase,
            reasons,
            by_closure: true,
            recovery,
        }
    }

    /// The state slots behind a type's slots, each once; absent keys hold no record.
    pub(super) fn slots_of(
        &self,
        at: ComponentRef,
        reads: impl Iterator<Item = u16>,
    ) -> Vec<SlotIx> {
        let Some(component) = self.component(at) else {
            return Vec::new();
        };
        let mut slots = Vec::new();
        for slot in reads.filter_map(|read| component.slots.get(usize::from(read)).copied()) {
            if slot != NO_SLOT && !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        slots
    }

    /// Ends these instances and everything that falls with them. `lapsed` left earlier and do not count any more for
    /// those that wait for them.
    pub(super) fn fall(&mut self, falls: Vec<Fall>, lapsed: Vec<ComponentRef>) {
        let mut fallen: BTreeMap<ComponentRef, (Phase, Fall)> = BTreeMap::new();
        let mut lost = lapsed;
        for fall in falls {
            let at = fall.at;
            let Some(before) = self.end(at, fall.phase) else {
                continue;
            };
            lost.push(at);
            fallen.insert(at, (before, fall));
        }
        self.close_over_dependents(lost, &mut fallen);
        if !self.mechanisms.partial_retention {
            self.take_all_along(&mut fallen);
        }
        for (at, (_, fall)) in &mut fallen {
            self.conclude(*at, fall);
        }
        for (at, (before, _)) in &fallen {
            self.record_phase(*at, *before);
        }
        for (at, (_, fall)) in fallen {
            if let Recovery::Route {
                route,
                records,
                refreshed,
            } = fall.recovery
            {
                self.create_obligation(at, route, records, refreshed);
            }
        }
    }

    /// P9 after an event: whatever is watched and has lost a prerequisite goes as well. Those that left only stop
    /// being watched: what left is not rolled back (P12).
    fn close_over_dependents(
        &mut self,
        mut lost: Vec<ComponentRef>,
        fallen: &mut BTreeMap<ComponentRef, (Phase, Fall)>,
    ) {
        while let Some(parent) = lost.pop() {
            let Some(response) = self.responses.get(parent.response) else {
                continue;
            };
            let broken: Vec<u32> = response
                .graph
                .dependents(parent.position)
                .filter(|edge| !response.edge_holds(edge))
                .map(|edge| edge.child)
                .collect();
            for position in broken {
                let at = ComponentRef {
                    response: parent.response,
                    position,
                };
                let Some(component) = self.component(at) else {
                    continue;
                };
                if component.under_way != UnderWay::Idle {
                    // Its call may be out: the last look or the outcome decides about it. For those that wait for it
                    // it is lost at once.
                    if self.lapse(at) {
                        lost.push(at);
                    }
                    continue;
                }
                if component.phase.is_live() {
                    let Some(before) = self.end(at, Phase::Invalidated) else {
                        continue;
                    };
                    fallen.insert(at, (before, Fall::excluded(at, Phase::Invalidated)));
                    lost.push(at);
                } else if component.monitored {
                    self.stop_monitoring(at);
                    lost.push(at);
                }
            }
        }
    }

    /// An instance with an attempt under way does not count for those that wait for it any more. Whether it did.
    pub(super) fn lapse(&mut self, at: ComponentRef) -> bool {
        self.component_mut(at)
            .is_some_and(|component| !std::mem::replace(&mut component.lapsed, true))
    }

    /// An instance that left does not count for those that wait for it any more.
    pub(super) fn stop_monitoring(&mut self, at: ComponentRef) {
        if let Some(component) = self.component_mut(at) {
            component.monitored = false;
        }
        self.unsubscribe(at);
    }

    /// Sets the phase and takes away authority and watch. The phase before; nothing where there is no such instance.
    pub(super) fn end(&mut self, at: ComponentRef, phase: Phase) -> Option<Phase> {
        if self.component(at)?.under_way == UnderWay::Armed {
            // It was not sent (P15).
            self.free_key(at);
        }
        let component = self.component_mut(at)?;
        let before = component.phase;
        let watched = component.is_watched();
        component.lapsed = false;
        component.revoke_token();
        component.monitored = false;
        component.under_way = UnderWay::Idle;
        self.set_phase(at, phase);
        if watched {
            self.unsubscribe(at);
        }
        Some(before)
    }

    /// Completes the reasons, now that all that fell has fallen, and says whether it is over for good (P12, P19).
    fn conclude(&mut self, at: ComponentRef, fall: &mut Fall) {
        if fall.by_closure {
            fall.reasons.extend(self.excluded_parents(at));
        }
        if let Recovery::Route { route, .. } = fall.recovery {
            let attempts = self.route(at, route).map_or(0, |route| route.attempts);
            if self
                .component(at)
                .is_none_or(|component| component.last_attempt >= attempts)
            {
                fall.reasons.push(Reason::of(ReasonCode::AttemptsExhausted));
                fall.recovery = Recovery::Terminal;
            }
        }
        if let Some(component) = self.component_mut(at) {
            component.reasons = std::mem::take(&mut fall.reasons);
            component.terminal = matches!(fall.recovery, Recovery::Terminal);
        }
    }

    /// `prerequisite_excluded` for each direct parent that is not in `A*`, by id.
    fn excluded_parents(&self, at: ComponentRef) -> Vec<Reason> {
        let Some(response) = self.responses.get(at.response) else {
            return Vec::new();
        };
        let edges = response.graph.prerequisites(at.position).iter();
        let mut ids: Vec<&str> = edges
            .filter(|edge| !response.edge_holds(edge))
            .filter_map(|edge| Some(response.get(edge.parent)?.id()))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter()
            .map(|id| Reason::about(ReasonCode::PrerequisiteExcluded, id))
            .collect()
    }

    pub(super) fn route(&self, at: ComponentRef, route: u16) -> Option<&halo_catalog::Route> {
        let component = self.component(at)?;
        self.installed(component.catalog)
            .catalog
            .routes
            .get(usize::from(route))
    }

    fn create_obligation(
        &mut self,
        at: ComponentRef,
        route_ix: u16,
        records: Vec<SlotIx>,
        refreshed: bool,
    ) {
        let Some(route) = self.route(at, route_ix) else {
            return;
        };
        let (ttl, retry, whole_scope) = (route.ttl, route.retry, route.scope_dependents);
        let asked = route.refresh.clone();
        let scope = if whole_scope {
            self.scope(at)
        } else {
            vec![at.position]
        };
        let refresh = match asked {
            None => records.iter().map(|slot| (*slot, refreshed)).collect(),
            Some(sources) => {
                let slots = self.slots_of_sources(at, &sources);
                slots
                    .into_iter()
                    .map(|slot| (slot, refreshed && records.contains(&slot)))
                    .collect()
            }
        };
        let id = ObligationId(self.obligations.next());
        let now = self.now;
        let Some(component) = self.component_mut(at) else {
            return;
        };
        component.last_attempt += 1;
        component.newest_obligation = Some(id);
        let obligation = Obligation {
            component: at,
            generation: component.generation,
            catalog: component.catalog,
            route: route_ix,
            reasons: component.reasons.clone(),
            state: ObligationState::Created,
            scope,
            refresh,
            reported: false,
            slots: component.slots.clone(),
            attempt: component.last_attempt,
            expires: now.plus(ttl),
            tell_again: retry.map(|retry| now.plus(retry)),
        };
        self.timers
            .push(Reverse((obligation.expires, Timer::Obligation(id.0))));
        if let Some(again) = obligation.tell_again {
            self.timers.push(Reverse((again, Timer::Obligation(id.0))));
        }
        self.await_records(id, &obligation);
        self.obligations.push(obligation);
        if let Some(response) = self.responses.get_mut(at.response) {
            response.obligations.push(id.0);
        }
        self.record(Record::Obligation {
            obligation: id,
            state: ObligationState::Created,
        });
        self.effects.push_back(Effect::Tell(id));
    }

    /// Enters an obligation wherever an update may move it.
    fn await_records(&mut self, id: ObligationId, obligation: &Obligation) {
        let mut slots: Vec<SlotIx> = obligation.refresh.iter().map(|(slot, _)| *slot).collect();
        if let Some(program) = self.ready_condition(obligation) {
            slots.extend(
                program
                    .slots()
                    .iter()
                    .filter_map(|slot| obligation.slots.get(usize::from(*slot))),
            );
            if program.reads_clock() {
                self.clock_obligations.insert(id.0);
            }
        }
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            if let Some(slot) = self.state.get_mut(slot) {
                slot.awaited_by.push(id.0);
            }
        }
    }

    /// The records of the named sources: a keyed one means those in the component's footprint.
    fn slots_of_sources(&mut self, at: ComponentRef, sources: &[u16]) -> SlotList {
        let mut slots = SlotList::new();
        for source in sources {
            let Some(component) = self.component(at) else {
                continue;
            };
            let installed = self.installed(component.catalog);
            let keyed = installed
                .catalog
                .sources
                .get(usize::from(*source))
                .is_some_and(|source| source.keyed);
            let Some(number) = installed.sources.get(usize::from(*source)).copied() else {
                continue;
            };
            if !keyed {
                let slot = self.state.slot(number, None);
                slots.push(slot);
                continue;
            }
            let footprint = self
                .instance(at)
                .map_or(0, |instance| usize::from(instance.type_.footprint));
            let own: SlotList = self.component(at).map_or_else(SlotList::new, |component| {
                component.slots.iter().take(footprint).copied().collect()
            });
            slots.extend(own.into_iter().filter(|slot| {
                self.state
                    .get(*slot)
                    .is_some_and(|slot| slot.source == number)
            }));
        }
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// P20: the blocked component and those whose fall leads back to it, in response order.
    fn scope(&self, at: ComponentRef) -> Vec<u32> {
        let Some(response) = self.responses.get(at.response) else {
            return vec![at.position];
        };
        let mut scope = std::collections::BTreeSet::from([at.position]);
        let mut work = vec![at.position];
        while let Some(parent) = work.pop() {
            let Some(parent_id) = response.get(parent).map(crate::component::Component::id) else {
                continue;
            };
            for edge in response.graph.dependents(parent) {
                let Some(child) = response.get(edge.child) else {
                    continue;
                };
                let fell_with_parent = matches!(child.phase, Phase::Withheld | Phase::Invalidated)
                    && !child.terminal
                    && child.reasons.iter().any(|reason| {
                        reason.code == ReasonCode::PrerequisiteExcluded
                            && reason.subject.as_deref() == Some(parent_id)
                    });
                if fell_with_parent && scope.insert(edge.child) {
                    work.push(edge.child);
                }
            }
        }
        scope.into_iter().collect()
    }
}
