//! P13 in the runtime: a last check, then the path.

use super::{Driver, gate::outcome_name, guarded::within};
use crate::{fault, machine::Cause};
use halo_core::{ComponentRef, EmitPermit, Input, Outcome};
use std::time::Duration;

/// The longest wait before an emission, or a telling, that failed is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long to wait before the next try.
pub(super) fn pause(tries: u32) -> Duration {
    Duration::from_millis(250)
        .saturating_mul(1 << tries.min(16))
        .min(LONGEST_PAUSE)
}

impl Driver {
    /// The last check of a non-action, once it is durable that it may be on its way.
    pub(super) fn emit(&mut self, at: ComponentRef, generation: u32) {
        let still = self
            .engine()
            .view(at)
            .is_some_and(|view| view.generation == generation);
        if !still || self.halted.is_some() || self.stopping {
            return;
        }
        fault::point("emit.before");
        // What it says is recorded; a permit comes as an effect.
        let _ = self.turn(Cause::default(), Input::Emit { component: at });
    }

    pub(super) fn hand_over(&mut self, permit: EmitPermit) {
        let (at, generation) = (permit.component(), permit.generation());
        let path = permit.path().to_owned();
        let Some(plug) = self.plugs.paths.get(&path) else {
            return self.handed_over(at, generation, Outcome::Refused, &path);
        };
        let (port, limit, again) = (plug.path.clone(), plug.timeout, plug.again);
        let tries = self.retries.get(&at).copied().unwrap_or(0);
        let host = self.host.clone();
        self.under_way += 1;
        self.host.spawn(async move {
            fault::point("emit.permitted");
            let call = async { port.emit(permit).await };
            let mut outcome = within(limit, call).await.unwrap_or(Outcome::Lost);
            fault::point("emit.returned");
            if again && outcome != Outcome::Accepted {
                tokio::time::sleep(pause(tries)).await;
                outcome = Outcome::Again;
            }
            host.send(move |driver| {
                driver.under_way = driver.under_way.saturating_sub(1);
                driver.handed_over(at, generation, outcome, &path);
            });
        });
    }

    fn handed_over(&mut self, at: ComponentRef, generation: u32, outcome: Outcome, path: &str) {
        let counted = (path.to_owned(), outcome_name(outcome));
        *self.counters.emissions.entry(counted).or_default() += 1;
        if self.halted.is_some() {
            return;
        }
        let input = Input::Outcome {
            component: at,
            generation,
            outcome,
        };
        let stepped = self.input(Cause::default(), input, None);
        self.carry_out(stepped);
        fault::point("emit.after");
        if outcome == Outcome::Again {
            *self.retries.entry(at).or_default() += 1;
            self.may_leave(at);
        } else {
            self.retries.remove(&at);
        }
    }
}
