//! P21: what moves an obligation. Nothing here gives authority.

use super::{Engine, Handled, Timer};
use crate::{
    effect::{Effect, Record},
    obligation::{Obligation, ObligationId, ObligationState},
    reason::{Reason, ReasonCode, Refusal, RefusalCode},
    state::SlotIx,
    support,
};
use halo_cel::Program;
use std::cmp::Reverse;

impl Engine {
    pub(super) fn obligation_or_refuse(&self, id: ObligationId) -> Result<&Obligation, Refusal> {
        let none = || {
            Refusal::new(
                RefusalCode::NoObligation,
                format!("there is no obligation {}", id.0),
            )
        };
        self.obligations.get(id.0).ok_or_else(none)
    }

    pub(super) fn open_obligation(&self, id: ObligationId) -> Result<&Obligation, Refusal> {
        let obligation = self.obligation_or_refuse(id)?;
        if obligation.state.is_open() {
            return Ok(obligation);
        }
        let message = format!("the obligation {} is {}", id.0, obligation.state.name());
        Err(Refusal::new(RefusalCode::ObligationClosed, message))
    }

    pub(super) fn told(&mut self, id: ObligationId) -> Result<Handled, Refusal> {
        if self.obligation_or_refuse(id)?.state == ObligationState::Created {
            self.set_obligation(id, ObligationState::Dispatched);
            self.progress(id);
        }
        Ok(Handled::Done)
    }

    pub(super) fn support_reported(&mut self, id: ObligationId) -> Result<Handled, Refusal> {
        self.open_obligation(id)?;
        if let Some(obligation) = self.obligations.get_mut(id.0) {
            obligation.reported = true;
        }
        self.progress(id);
        Ok(Handled::Done)
    }

    pub(super) fn assignee_refuses(
        &mut self,
        id: ObligationId,
        text: &str,
    ) -> Result<Handled, Refusal> {
        self.open_obligation(id)?;
        let reason = Reason::of(ReasonCode::Refused).with_detail(text);
        self.end_recovery(id, reason);
        Ok(Handled::Done)
    }

    /// Ends an obligation without success; its component is terminal then, with a further reason (P21, P24).
    pub(super) fn end_recovery(&mut self, id: ObligationId, reason: Reason) {
        let Some(obligation) = self.obligations.get(id.0) else {
            return;
        };
        let (at, generation) = (obligation.component, obligation.generation);
        self.set_obligation(id, ObligationState::Failed);
        let Some(component) = self.component_mut(at) else {
            return;
        };
        if component.generation == generation && component.phase.has_ended() {
            component.reasons.push(reason);
            component.terminal = true;
            let phase = component.phase;
            self.record_phase(at, phase);
        }
    }

    pub(super) fn set_obligation(&mut self, id: ObligationId, state: ObligationState) {
        let Some(obligation) = self.obligations.get_mut(id.0) else {
            return;
        };
        debug_assert!(
            obligation.state.may_become(state),
            "{:?} → {state:?}",
            obligation.state
        );
        obligation.state = state;
        self.record(Record::Obligation {
            obligation: id,
            state,
        });
        if !state.is_open() {
            self.clock_obligations.remove(&id.0);
            self.stop_awaiting(id);
        }
    }

    fn stop_awaiting(&mut self, id: ObligationId) {
        let Some(obligation) = self.obligations.get(id.0) else {
            return;
        };
        let slots = obligation
            .refresh
            .iter()
            .map(|(slot, _)| *slot)
            .chain(obligation.slots.iter().copied());
        for slot in slots {
            if let Some(slot) = self.state.get_mut(slot) {
                slot.awaited_by.retain(|waiting| *waiting != id.0);
            }
        }
    }

    /// An update of `slot` was accepted after the obligation's creation.
    pub(super) fn note_update(&mut self, id: u32, slot: SlotIx) {
        if let Some(obligation) = self.obligations.get_mut(id) {
            obligation.note_update(slot);
        }
    }

    pub(super) fn progress_obligations(&mut self, mut ids: Vec<u32>) {
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            self.progress(ObligationId(id));
        }
    }

    /// Moves an obligation on as far as what came allows. One whose handler is not told yet waits for that.
    pub(super) fn progress(&mut self, id: ObligationId) {
        let Some(obligation) = self.obligations.get(id.0) else {
            return;
        };
        if !matches!(
            obligation.state,
            ObligationState::Dispatched | ObligationState::ExternalSupportReceived
        ) {
            return;
        }
        let state = obligation.state;
        let some =
            obligation.reported || obligation.refresh.iter().any(|(_, refreshed)| *refreshed);
        if obligation.is_refreshed() && self.ready_holds(obligation) {
            self.set_obligation(id, ObligationState::ReadyForReadmission);
        } else if some && state == ObligationState::Dispatched {
            self.set_obligation(id, ObligationState::ExternalSupportReceived);
        }
    }

    /// The `ready` condition of an obligation's route for its component, where the route has one.
    pub(super) fn ready_condition(&self, obligation: &Obligation) -> Option<&Program> {
        let type_ix = self.component(obligation.component)?.type_?;
        let installed = self.installed(obligation.catalog);
        let type_ = installed.catalog.types.get(usize::from(type_ix))?;
        type_.ready.get(usize::from(obligation.route))?.as_ref()
    }

    fn ready_holds(&self, obligation: &Obligation) -> bool {
        match (
            self.ready_condition(obligation),
            self.instance(obligation.component),
        ) {
            (None, _) => true,
            (Some(program), Some(instance)) => support::ready(&instance, &self.world(), program),
            (Some(_), None) => false,
        }
    }

    /// Obligations whose time has come: over, or to be told again.
    pub(super) fn obligations_due(&mut self, mut ids: Vec<u32>) {
        ids.sort_unstable();
        ids.dedup();
        for id in ids.into_iter().map(ObligationId) {
            let Some(obligation) = self.obligations.get(id.0) else {
                continue;
            };
            if !obligation.state.is_open() {
                continue;
            }
            if self.now >= obligation.expires {
                self.set_obligation(id, ObligationState::TimedOut);
            } else if obligation.tell_again.is_some_and(|again| self.now >= again) {
                self.tell_again(id);
            }
        }
    }

    /// `retry`: the handler is told again until the obligation is ready or over.
    fn tell_again(&mut self, id: ObligationId) {
        let now = self.now;
        let Some(obligation) = self.obligations.get(id.0) else {
            return;
        };
        let retry = self
            .route(obligation.component, obligation.route)
            .and_then(|route| route.retry);
        let (Some(retry), true) = (
            retry,
            obligation.state != ObligationState::ReadyForReadmission,
        ) else {
            return;
        };
        let again = now.plus(retry);
        if let Some(obligation) = self.obligations.get_mut(id.0) {
            obligation.tell_again = Some(again);
        }
        self.timers.push(Reverse((again, Timer::Obligation(id.0))));
        self.effects.push_back(Effect::Tell(id));
    }
}
