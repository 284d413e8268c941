//! P17 in the runtime: adapters that can look are asked what became of their calls.

use super::{Driver, emissions::pause, guarded::within};
use crate::{
    machine::Cause,
    ports::{Attempt, Sighting, plugs::TIMEOUT},
};
use halo_core::{ComponentRef, Input, Phase, Reply, Settlement};

/// How often an accepted action is looked for. One in doubt is looked for until it is found out.
const LOOKS: u32 = 20;

impl Driver {
    /// After a start: everything that was called and whose effect was not seen yet.
    pub(super) fn look_for_all(&mut self) {
        let called =
            |phase, is_action| is_action && matches!(phase, Phase::InDoubt | Phase::Dispatched);
        for at in self.components(called) {
            self.look_for(at);
        }
    }

    /// Looks for the effect of an action that left, where its adapter can, once it is durable that it did.
    pub(super) fn look_for(&mut self, at: ComponentRef) {
        let Some(view) = self.engine().view(at) else {
            return;
        };
        let (generation, adapter) = (view.generation, view.to.map(str::to_owned));
        let plug = adapter.and_then(|name| self.plugs.adapters.get(&name));
        if plug.is_none_or(|plug| plug.adapter.observer().is_none()) {
            return;
        }
        self.after(move |driver, durable| {
            if durable.is_ok() {
                driver.look_again(at, generation, 0);
            }
        });
    }

    fn look_again(&mut self, at: ComponentRef, generation: u32, tries: u32) {
        let Some((attempt, adapter)) = self.attempt(at, generation) else {
            return;
        };
        let Some(plug) = self.plugs.adapters.get(&adapter) else {
            return;
        };
        let (port, host) = (plug.adapter.clone(), self.host.clone());
        self.host.spawn(async move {
            if tries > 0 {
                tokio::time::sleep(pause(tries - 1)).await;
            }
            let Some(observer) = port.observer() else {
                return;
            };
            let look = async { observer.look(&attempt).await };
            let seen = within(TIMEOUT, look)
                .await
                .unwrap_or_else(|| Err(format!("no answer within {TIMEOUT:?}")));
            host.send(move |driver| driver.sighted(at, generation, tries, &adapter, seen));
        });
    }

    /// What an observer is told; nothing where nobody needs to know any more.
    fn attempt(&self, at: ComponentRef, generation: u32) -> Option<(Attempt, String)> {
        if self.halted.is_some() || self.stopping {
            return None;
        }
        let engine = self.engine();
        let view = engine.view(at).filter(|view| {
            let open = matches!(view.phase, Phase::InDoubt | Phase::Dispatched);
            open && view.generation == generation
        })?;
        let attempt = Attempt {
            binding: view.binding?,
            sequence: view.sequence?,
            response: engine.response_id(at.response)?.to_owned(),
            component: view.id.to_owned(),
            generation,
            type_name: view.type_name.to_owned(),
            payload: view.payload?.to_canonical(),
            bound: engine.bound(at),
        };
        Some((attempt, view.to?.to_owned()))
    }

    fn sighted(
        &mut self,
        at: ComponentRef,
        generation: u32,
        tries: u32,
        adapter: &str,
        seen: Result<Sighting, String>,
    ) {
        // Somebody may have settled it meanwhile, or the runtime is ending.
        let Some((attempt, _)) = self.attempt(at, generation) else {
            return;
        };
        let in_doubt = self
            .engine()
            .view(at)
            .is_some_and(|view| view.phase == Phase::InDoubt);
        let Some(response) = self.engine().response_name(at.response) else {
            return;
        };
        let component = attempt.component;
        let input = match seen {
            Ok(Sighting::Done) => Input::Observe {
                response,
                component,
                generation: Some(generation),
                reply: Reply::Success,
            },
            Ok(Sighting::NotDone) if in_doubt => Input::Settle {
                response,
                component,
                settlement: Settlement::DidNotHappen,
            },
            unseen => {
                let why = unseen.map_or_else(|why| why, |_| "its effect is not there".into());
                return self.not_sighted(
                    at,
                    generation,
                    tries,
                    &format!("adapter `{adapter}`: `{component}`: {why}"),
                    in_doubt,
                );
            }
        };
        // What it says is recorded.
        let _ = self.turn(Cause::default(), input);
    }

    fn not_sighted(
        &mut self,
        at: ComponentRef,
        generation: u32,
        tries: u32,
        why: &str,
        in_doubt: bool,
    ) {
        if tries == 0 {
            self.host.remark(&format!("{why}; it is looked for again"));
        }
        if in_doubt || tries < LOOKS {
            self.look_again(at, generation, tries.saturating_add(1));
        } else {
            self.host
                .remark(&format!("{why}; it is not looked for any more"));
        }
    }
}
