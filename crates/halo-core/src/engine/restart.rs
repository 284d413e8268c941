//! P18: no token outlives a restart, and no restart turns drift into authority.

use super::{Engine, fall::Fall};
use crate::{
    component::{PastToken, UnderWay},
    phase::{ComponentRef, Phase},
    reason::{Reason, ReasonCode},
};

impl Engine {
    /// `intended`: non-actions that may have been handed over. `again`: paths that take an emission twice. `void`: the
    /// record is incomplete, and no live action may leave.
    pub(super) fn restart(&mut self, intended: &[ComponentRef], again: &[String], void: bool) {
        let everything = self.all_components();
        for at in &everything {
            let was = self
                .component(*at)
                .map_or(UnderWay::Idle, |component| component.under_way);
            let retained = self
                .component(*at)
                .is_some_and(|component| component.phase == Phase::Retained);
            if was == UnderWay::Idle && !(retained && intended.contains(at)) {
                continue;
            }
            let takes_twice = self
                .path_of(*at)
                .is_some_and(|path| again.iter().any(|again| again == path));
            if takes_twice {
                self.hand_over_again(*at);
            } else {
                // Its token was spent, or it was on its way, and nobody knows what came of it (P13, P17).
                self.unsettle_if_armed(*at, was);
                self.left(*at, Phase::InDoubt);
            }
        }
        self.reconsider(everything.clone());
        let live = |at: &&ComponentRef| {
            self.instance(**at).is_some_and(|instance| {
                instance.adapter.is_some() && instance.component.phase.is_live()
            })
        };
        let actions: Vec<ComponentRef> = everything.iter().filter(live).copied().collect();
        let falls = actions
            .iter()
            .filter_map(|at| self.restart_fall(*at, void))
            .collect();
        self.fall(falls, Vec::new());
        for at in actions {
            if self
                .component(at)
                .is_some_and(|component| component.phase.is_live())
            {
                self.renew(at);
            }
        }
    }

    pub(super) fn all_components(&self) -> Vec<ComponentRef> {
        let positions = |(number, response): (u32, &crate::response::Response)| {
            (0..response.components.len() as u32).map(move |position| ComponentRef {
                response: number,
                position,
            })
        };
        self.responses.iter().flat_map(positions).collect()
    }

    /// An attempt that was armed but not yet called may have been called: what it writes is unsettled.
    fn unsettle_if_armed(&mut self, at: ComponentRef, was: UnderWay) {
        if was == UnderWay::Armed {
            self.unsettle(at, None);
        }
    }

    fn restart_fall(&self, at: ComponentRef, void: bool) -> Option<Fall> {
        let component = self.component(at)?;
        if void
            || self
                .installed(component.catalog)
                .catalog
                .restart_invalidates
        {
            return Some(Fall::terminal(
                at,
                Phase::Invalidated,
                Reason::of(ReasonCode::Restart),
            ));
        }
        if !self.mechanisms.gate {
            return None;
        }
        self.witness_fall(at, &self.changed_bounds(at))
    }

    /// The same support, the same bound values: admitted afresh, with a new generation, token and sequence; waiting
    /// time and approvals carried over.
    fn renew(&mut self, at: ComponentRef) {
        let Some(component) = self.component_mut(at) else {
            return;
        };
        component.revoke_token();
        if let Some(held) = component.token.take() {
            component.past.push(PastToken {
                generation: component.generation,
                held,
            });
        }
        component.generation += 1;
        component.given_sequence = None;
        let before = component.phase;
        self.actions.remove(at);
        self.unsubscribe(at);
        self.authorize(at);
        self.set_phase_again(at);
        self.record_phase(at, before);
    }

    /// The same phase under a new generation: only what may leave must know.
    fn set_phase_again(&mut self, at: ComponentRef) {
        if self
            .component(at)
            .is_some_and(|component| component.phase == Phase::Retained)
        {
            self.actions.insert(at);
        }
        self.refresh_readiness(at);
    }
}
