//! P17, P24: what is learned after an action left, and what is taken back before.

use super::{Engine, Handled, fall::Fall};
use crate::{
    component::{PastAction, UnderWay},
    effect::Record,
    input::{Reply, Settlement},
    ledger::Hold,
    phase::{ComponentRef, Phase},
    reason::{Reason, ReasonCode, Refusal, RefusalCode},
    response::ResponseName,
    state::Unsettled,
};

impl Engine {
    /// A downstream milestone of an instance; nothing given means the newest.
    pub(super) fn observe(
        &mut self,
        response: &ResponseName,
        component: &str,
        generation: Option<u32>,
        reply: Reply,
    ) -> Result<Handled, Refusal> {
        let at = self.find_or_refuse(response, component)?;
        let newest = self
            .component(at)
            .map_or(0, |component| component.generation);
        if generation.is_some_and(|generation| generation != newest) {
            self.observe_past(at, generation.unwrap_or(newest), reply);
            return Ok(Handled::Done);
        }
        let phase = self.component(at).map(|component| component.phase);
        match (phase, reply) {
            (Some(Phase::Dispatched | Phase::InDoubt), Reply::Success) => self.happened(at),
            (Some(Phase::Dispatched | Phase::InDoubt), Reply::Failure) => {
                self.failed(at, ReasonCode::ObservedFailure)
            }
            (Some(Phase::Failed), Reply::Success) => self.contradiction(at),
            _ => {}
        }
        Ok(Handled::Done)
    }

    fn happened(&mut self, at: ComponentRef) {
        let now = self.now;
        self.resolve_key(at, false);
        self.settle_outcome(at, Some(now));
        self.left(at, Phase::Observed);
    }

    /// An observed success of a failed action: the phase stays, the key is taken again if it is free, and what the
    /// action writes is unsettled from now (P17).
    fn contradiction(&mut self, at: ComponentRef) {
        let Some(generation) = self.component(at).map(|component| component.generation) else {
            return;
        };
        self.record(Record::Contradiction {
            component: at,
            generation,
        });
        if let Some(action) = self.past_action(at) {
            self.take_back(at, &action);
        }
    }

    /// The same for an earlier generation: a later one replaced it, its effect is no less real.
    fn observe_past(&mut self, at: ComponentRef, generation: u32, reply: Reply) {
        let Some(component) = self.component(at).filter(|_| reply == Reply::Success) else {
            return;
        };
        let mut failed = component.past_actions.iter().filter(|past| past.failed);
        let Some(action) = failed.find(|past| past.generation == generation).cloned() else {
            return;
        };
        self.record(Record::Contradiction {
            component: at,
            generation,
        });
        self.take_back(at, &action);
    }

    /// What a failed action holds and unsettles after all.
    fn take_back(&mut self, at: ComponentRef, action: &PastAction) {
        let generation = action.generation;
        if let Some(key) = &action.once_key {
            self.take_key_again(action.adapter, key, (at, generation), action.once_for);
        }
        let since = Some(self.now);
        let entry = Unsettled {
            writer: at,
            generation,
            since,
        };
        self.unsettle_slots(&action.writes, entry);
    }

    fn take_key_again(
        &mut self,
        adapter: u32,
        key: &str,
        holder: (ComponentRef, u32),
        for_: Option<halo_canon::Duration>,
    ) {
        if self.ledger.holder(adapter, key, self.now).is_none() {
            let hold = Hold {
                from: self.now,
                for_,
                unresolved: false,
            };
            self.ledger.hold(adapter, key, holder, hold);
            self.reconsider_key(adapter, key);
        }
    }

    /// An operator found out what became of what is in doubt.
    pub(super) fn settle(
        &mut self,
        response: &ResponseName,
        component: &str,
        settlement: Settlement,
    ) -> Result<Handled, Refusal> {
        let at = self.find_or_refuse(response, component)?;
        let phase = self
            .component(at)
            .map_or(Phase::Proposed, |component| component.phase);
        if phase != Phase::InDoubt {
            let message = format!("`{component}` is {}, not in doubt", phase.name());
            return Err(Refusal::new(RefusalCode::NotInDoubt, message));
        }
        match settlement {
            Settlement::Happened => self.happened(at),
            Settlement::DidNotHappen => self.failed(at, ReasonCode::DidNotHappen),
        }
        Ok(Handled::Done)
    }

    /// P24: a live instance, or one with an open obligation, is taken back.
    pub(super) fn withdraw(
        &mut self,
        response: &ResponseName,
        component: &str,
    ) -> Result<Handled, Refusal> {
        let at = self.find_or_refuse(response, component)?;
        let reason = Reason::of(ReasonCode::Withdrawn);
        let Some(found) = self.component(at) else {
            return Ok(Handled::Done);
        };
        // Until its call is out it has not left: the last look will find it ended (P15).
        if found.phase.is_live() && found.under_way != UnderWay::Calling {
            self.fall(
                vec![Fall::terminal(at, Phase::Withheld, reason)],
                Vec::new(),
            );
            return Ok(Handled::Done);
        }
        let open = found.newest_obligation.filter(|id| {
            self.obligations
                .get(id.0)
                .is_some_and(|obligation| obligation.state.is_open())
        });
        match open {
            Some(id) => {
                self.end_recovery(id, reason);
                Ok(Handled::Done)
            }
            None => {
                let message = format!(
                    "`{component}` is {}: there is nothing to withdraw",
                    found.phase.name()
                );
                Err(Refusal::new(RefusalCode::NotRetained, message))
            }
        }
    }
}
