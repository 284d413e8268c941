//! P15 in the runtime: arm, then look, then call.

use super::{
    Driver,
    guarded::within,
    lanes::{AnswerTo, GateAnswer},
};
use crate::{fault, machine::Cause};
use halo_canon::Instant;
use halo_core::{Answer, ComponentRef, DispatchPermit, Handled, Input, Outcome};

impl Driver {
    /// Asks for an action by name. `authorized` means armed: its token is spent, and durably so once the turn is.
    pub(super) fn arm(&mut self, at: ComponentRef) -> (Answer, u32) {
        let view = self.engine().view(at);
        let Some((component, generation)) = view.map(|view| (view.id.to_owned(), view.generation))
        else {
            return (Answer::NoSuchInstance, 0);
        };
        let Some(response) = self.engine().response_name(at.response) else {
            return (Answer::NoSuchInstance, 0);
        };
        let input = Input::Dispatch {
            response,
            component,
            payload: None,
            token: None,
            sequence: None,
        };
        match self.turn(Cause::default(), input) {
            Ok(Handled::Answered(answer)) => (answer, generation),
            _ => (Answer::NoSuchInstance, generation),
        }
    }

    /// The last look, and the call at once where it lets the action through. No disk write lies in between.
    pub(super) fn look(
        &mut self,
        at: ComponentRef,
        generation: u32,
        silent: Vec<String>,
        answer: Option<AnswerTo>,
    ) {
        let look = Input::LastLook {
            component: at,
            silent,
        };
        fault::point("look.before");
        let mut stepped = self.input(Cause::default(), look, None);
        fault::point("look.after");
        let called = !stepped.calls.is_empty();
        for permit in std::mem::take(&mut stepped.calls) {
            self.call(permit);
        }
        let said = match stepped.handled {
            Some(Ok(Handled::Answered(said))) => said,
            _ => Answer::NoSuchInstance,
        };
        self.carry_out(stepped);
        fault::point("look.answered");
        if called {
            // Its token is durably spent and the call is out: nothing more can be waited for.
            if let Some(answer) = answer {
                answer.now(GateAnswer::Protocol(said));
            }
        } else {
            self.under_way = self.under_way.saturating_sub(1);
            self.answer(answer, GateAnswer::Protocol(said));
            self.leave_lane(at, generation, false);
        }
    }

    fn call(&mut self, permit: DispatchPermit) {
        let (at, generation) = (permit.component(), permit.generation());
        let adapter = permit.adapter().to_owned();
        let called = self.clock.now();
        let Some(plug) = self.plugs.adapters.get(&adapter) else {
            // Known not to have acted: there is nothing to call.
            return self.outcome(at, generation, Outcome::Refused, called, &adapter);
        };
        let (port, limit) = (plug.adapter.clone(), plug.timeout);
        let host = self.host.clone();
        self.host.spawn(async move {
            fault::point("call.before");
            let call = async { port.call(permit).await };
            let outcome = within(limit, call).await.unwrap_or(Outcome::Lost);
            fault::point("call.returned");
            host.send(move |driver| driver.outcome(at, generation, outcome, called, &adapter));
        });
    }

    fn outcome(
        &mut self,
        at: ComponentRef,
        generation: u32,
        outcome: Outcome,
        called: Instant,
        adapter: &str,
    ) {
        self.under_way = self.under_way.saturating_sub(1);
        let counted = (adapter.to_owned(), outcome_name(outcome));
        *self.counters.calls.entry(counted).or_default() += 1;
        if self.halted.is_some() {
            // The record of it can't be written: after the rebuild it is in doubt, which it is.
            return;
        }
        let input = Input::Outcome {
            component: at,
            generation,
            outcome,
        };
        fault::point("outcome.before");
        let stepped = self.input(Cause::default(), input, Some(called));
        self.carry_out(stepped);
        fault::point("outcome.after");
        self.leave_lane(at, generation, outcome == Outcome::Lost);
        if matches!(outcome, Outcome::Lost | Outcome::Accepted) {
            self.look_for(at);
        }
    }
}

/// The name in metrics.
pub(super) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted => "accepted",
        Outcome::Refused => "refused",
        Outcome::Lost => "in_doubt",
        Outcome::Again => "again",
    }
}
