//! P10: a state, clock or phase event reconsiders only what it touches, and what depends on that.

use super::{Engine, Handled, Timer, fall::Fall};
use crate::{
    component::UnderWay,
    effect::Record,
    gate::NotReady,
    phase::{ComponentRef, Phase},
    reason::{Refusal, RefusalCode},
    state::{SlotIx, SourceRule, Unsettled},
    support::{self, Failure, Instance},
};
use halo_canon::{Document, Instant};
use std::{cmp::Reverse, sync::Arc};

/// Deepest nesting of a state record's text.
const RECORD_DEPTH: u32 = 128;

impl Engine {
    /// P26: `now` never runs backwards; what passes on the way happens before the input that brought the time.
    pub(super) fn pass_time(&mut self, now: Instant) {
        if now > self.now {
            self.now = now;
            self.reconsider_time();
        }
    }

    /// What depends on time, once.
    pub(super) fn reconsider_time(&mut self) {
        let mut touched: Vec<ComponentRef> = self.clock_readers.iter().copied().collect();
        let mut obligations: Vec<u32> = Vec::new();
        while let Some(Reverse((due, timer))) = self.timers.peek().copied() {
            if due > self.now {
                break;
            }
            self.timers.pop();
            match timer {
                Timer::Component(at) => {
                    if let Some(component) = self.component_mut(at)
                        && component.timer == Some(due)
                    {
                        component.timer = None;
                        touched.push(at);
                    }
                }
                Timer::Obligation(id) => obligations.push(id),
            }
        }
        self.obligations_due(obligations);
        self.reconsider(touched);
        let waiting: Vec<u32> = self.clock_obligations.iter().copied().collect();
        self.progress_obligations(waiting);
    }

    /// P8: applies updates in order, then reconsiders everything that they touch once.
    pub(super) fn update(&mut self, records: &[(String, crate::RawText)]) -> Handled {
        let mut refused = Vec::new();
        let mut touched: Vec<SlotIx> = Vec::new();
        for (index, (address, text)) in records.iter().enumerate() {
            match self.update_one(address, &text.0) {
                Ok(slot) => touched.push(slot),
                Err((refusal, slot)) => {
                    self.record(Record::Refused(refusal.clone()));
                    refused.push((index, refusal));
                    touched.extend(slot);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let mut readers = Vec::new();
        let mut obligations = Vec::new();
        for slot in touched.iter().filter_map(|slot| self.state.get(*slot)) {
            readers.extend_from_slice(slot.readers());
            obligations.extend_from_slice(&slot.awaited_by);
        }
        if !self.mechanisms.footprints {
            readers = self.all_components();
        }
        self.reconsider(readers);
        self.progress_obligations(obligations);
        Handled::Updated { refused }
    }

    /// One update. On a refusal that made the record missing, its slot is given too.
    fn update_one(
        &mut self,
        address: &str,
        text: &[u8],
    ) -> Result<SlotIx, (Refusal, Option<SlotIx>)> {
        let (slot, source) = self.address(address).map_err(|refusal| (refusal, None))?;
        let document = Document::parse(text, RECORD_DEPTH).map_err(|error| {
            let message = format!("the record of `{address}` is not strict JSON: {error}");
            (Refusal::new(RefusalCode::BadState, message), None)
        })?;
        let catalog = self.catalog().clone();
        let declared = catalog.sources.get(usize::from(source));
        let rule = SourceRule {
            schema: declared.and_then(|source| source.value.as_ref()),
            tolerance: catalog.clock_tolerance,
            must_state_observed_at: self.must_state_observed_at
                && declared.is_some_and(|source| source.has_freshness_limit),
        };
        let now = self.now;
        self.state
            .update(slot, Arc::new(document), &rule, now)
            .map_err(|mut refusal| {
                refusal.message = format!("`{address}`: {}", refusal.message);
                let slot = (refusal.code == RefusalCode::EpochConflict).then_some(slot);
                (refusal, slot)
            })?;
        self.settle_writers(slot);
        let awaiting = self
            .state
            .get(slot)
            .map(|slot| slot.awaited_by.clone())
            .unwrap_or_default();
        for id in awaiting {
            self.note_update(id, slot);
        }
        let epoch = self.state.record(slot).map_or(0, |record| record.epoch);
        self.record(Record::Updated {
            address: address.into(),
            epoch,
        });
        Ok(slot)
    }

    /// `source`, or `source/key` of a keyed one: the key is everything after the first slash.
    fn address(&mut self, address: &str) -> Result<(SlotIx, u16), Refusal> {
        let unknown = |message: String| Refusal::new(RefusalCode::UnknownSource, message);
        let catalog = self.catalog().clone();
        let (name, key) = match address.split_once('/') {
            Some((name, key)) => (name, Some(key)),
            None => (address, None),
        };
        let Some(source) = catalog.source_index.get(name).copied() else {
            return Err(unknown(format!(
                "the catalog has no source `{}`",
                crate::envelope::shorten(name)
            )));
        };
        let keyed = catalog
            .sources
            .get(usize::from(source))
            .is_some_and(|source| source.keyed);
        match (keyed, key) {
            (true, None) => {
                return Err(unknown(format!(
                    "`{name}` is keyed: name a record as `{name}/KEY`"
                )));
            }
            (false, Some(_)) => {
                return Err(unknown(format!(
                    "`{name}` is not keyed: name it without a slash"
                )));
            }
            _ => {}
        }
        let installed = self.installed(self.current_catalog());
        let number = installed
            .sources
            .get(usize::from(source))
            .copied()
            .unwrap_or(0);
        Ok((self.state.slot(number, key), source))
    }

    /// P29: an update observed after an action's outcome was recorded tells of its effect.
    fn settle_writers(&mut self, slot: SlotIx) {
        let Some(observed_at) = self.state.record(slot).map(|record| record.observed_at) else {
            return;
        };
        if let Some(slot) = self.state.get_mut(slot) {
            slot.unsettled
                .retain(|writer| writer.since.is_none_or(|since| observed_at <= since));
        }
    }

    /// Reevaluates these instances, closes over their dependents, and brings readiness up to date.
    pub(super) fn reconsider(&mut self, mut touched: Vec<ComponentRef>) {
        touched.sort_unstable();
        touched.dedup();
        let mut falls = Vec::new();
        let mut lapsed = Vec::new();
        for at in &touched {
            let Some(component) = self.component(*at) else {
                continue;
            };
            if component.under_way != UnderWay::Idle {
                if self.lapses_under_way(*at) {
                    lapsed.push(*at);
                }
            } else if component.phase.is_live() {
                falls.extend(self.reevaluate_live(*at));
            } else if component.monitored && !self.still_counts(*at) {
                self.stop_monitoring(*at);
                lapsed.push(*at);
            }
        }
        if !falls.is_empty() || !lapsed.is_empty() {
            self.fall(falls, lapsed);
        }
        for at in touched {
            self.refresh_readiness(at);
        }
    }

    /// The failures of an instance that was admitted before.
    pub(super) fn current_failures(&self, instance: &Instance<'_>, waiting: bool) -> Vec<Failure> {
        if !self.mechanisms.reconsideration {
            return Vec::new();
        }
        support::failures(instance, &self.world(), waiting)
    }

    fn reevaluate_live(&mut self, at: ComponentRef) -> Option<Fall> {
        let instance = self.instance(at)?;
        let world = self.world();
        let failures = self.current_failures(&instance, true);
        if failures.is_empty() {
            let deadline = support::deadline(&instance, &world, true);
            self.set_timer(at, deadline);
            return None;
        }
        Some(self.fall_of_failures(at, failures))
    }

    /// Its token is spent and its call may be out: the last look or the outcome decides about it, not an event in
    /// between. For those that wait for it, what it is now counts. Whether it is lost to them by this.
    fn lapses_under_way(&mut self, at: ComponentRef) -> bool {
        let (member, deadline) = self.membership(at);
        self.set_timer(at, deadline);
        if member {
            if let Some(component) = self.component_mut(at) {
                component.lapsed = false;
            }
            return false;
        }
        self.lapse(at)
    }

    /// Whether an instance that left still counts for somebody who waits, and holds. Where nobody waits it simply
    /// stops being watched.
    fn still_counts(&mut self, at: ComponentRef) -> bool {
        let Some(instance) = self.instance(at) else {
            return false;
        };
        let world = self.world();
        if !self.current_failures(&instance, false).is_empty() {
            return false;
        }
        let deadline = support::deadline(&instance, &world, false);
        self.set_timer(at, deadline);
        self.has_watched_dependent(at)
    }

    /// Whether a watched dependent counts on the current support of `at`.
    pub(super) fn has_watched_dependent(&self, at: ComponentRef) -> bool {
        let Some(response) = self.responses.get(at.response) else {
            return false;
        };
        response.graph.dependents(at.position).any(|edge| {
            !edge.until_left
                && response
                    .get(edge.child)
                    .is_some_and(crate::component::Component::is_watched)
        })
    }

    /// P11: whether an instance in `A*` may leave.
    pub(super) fn readiness(&self, at: ComponentRef) -> Result<(), NotReady> {
        let Some(instance) = self.instance(at) else {
            return Err(NotReady::Prerequisite);
        };
        let Some(response) = self.responses.get(at.response) else {
            return Err(NotReady::Prerequisite);
        };
        let reached = !self.mechanisms.readiness
            || response
                .graph
                .prerequisites(at.position)
                .iter()
                .all(|edge| {
                    response.get(edge.parent).is_some_and(|parent| {
                        parent.phase.reaches(edge.phase)
                        // In shadow mode what can't be met any more is not waited for.
                        || (instance.component.shadow && parent.phase.has_ended())
                    })
                });
        if !reached {
            return Err(NotReady::Prerequisite);
        }
        let approved = instance
            .component
            .approvals
            .as_ref()
            .is_some_and(|approvals| approvals.complete);
        if instance.type_.approval.is_some() && !approved {
            return Err(NotReady::Approval);
        }
        if instance.adapter.is_some() {
            let footprint = instance
                .component
                .slots
                .iter()
                .take(usize::from(instance.type_.footprint));
            let first_window = instance.component.first_window;
            // Its own write does not hold an instance back, nor does an earlier window's the next one.
            let own = |writer: &Unsettled| writer.writer == at && writer.generation >= first_window;
            let unsettled = |slot: &SlotIx| {
                self.state
                    .get(*slot)
                    .is_some_and(|slot| slot.unsettled.iter().any(|writer| !own(writer)))
            };
            if footprint.into_iter().any(unsettled) {
                return Err(NotReady::Unsettled);
            }
        }
        Ok(())
    }

    /// `pending ⇄ retained`
    pub(super) fn refresh_readiness(&mut self, at: ComponentRef) {
        let Some(component) = self.component(at) else {
            return;
        };
        let before = component.phase;
        if !before.is_live() || component.under_way != UnderWay::Idle {
            return;
        }
        let after = if self.readiness(at).is_ok() {
            Phase::Retained
        } else {
            Phase::Pending
        };
        if after != before {
            self.set_phase(at, after);
            self.record_phase(at, before);
        }
    }

    /// After a change of phase of `at`: those that wait for it.
    pub(super) fn refresh_dependents(&mut self, at: ComponentRef) {
        let Some(response) = self.responses.get(at.response) else {
            return;
        };
        let waiting: Vec<u32> = response
            .graph
            .dependents(at.position)
            .map(|edge| edge.child)
            .collect();
        for position in waiting {
            self.refresh_readiness(ComponentRef {
                response: at.response,
                position,
            });
        }
    }

    /// After a change of what is unsettled in `slots`: the actions that read them.
    pub(super) fn refresh_readers(&mut self, slots: &[SlotIx]) {
        let mut readers = Vec::new();
        for slot in slots.iter().filter_map(|slot| self.state.get(*slot)) {
            readers.extend_from_slice(slot.readers());
        }
        readers.sort_unstable();
        readers.dedup();
        for reader in readers {
            self.refresh_readiness(reader);
        }
    }
}
