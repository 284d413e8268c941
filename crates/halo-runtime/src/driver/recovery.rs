//! P21 in the runtime: obligations are told to their routes' handlers, and `resubmit` answers by itself.

use super::{Driver, emissions::pause, guarded::within};
use crate::{decision, fault, machine::Cause, ports::plugs::Handler};
use halo_core::{ComponentRef, Input, ObligationId};

/// Who the runtime is in its own records.
const RUNTIME: Cause<'static> = Cause { by: "", key: None };

impl Driver {
    /// Tells the handler of an obligation's route. Without one, assignees read it: it counts as told.
    pub(super) fn tell(&mut self, id: ObligationId, tries: u32) {
        let Some(view) = self
            .engine()
            .obligation(id)
            .filter(|view| view.state.is_open())
        else {
            return;
        };
        if self.halted.is_some() {
            return;
        }
        let route = view.route.name.clone();
        let text = decision::obligation(self.engine(), id)
            .and_then(|entry| serde_json::to_string(&entry).ok());
        let handler = self.plugs.routes.get(&route).map(|plug| &plug.handler);
        let (Some(Handler::Port(port, limit)), Some(text)) = (handler, text) else {
            // Known to the engine, so it is not refused.
            let _ = self.turn(RUNTIME, Input::Told { obligation: id });
            return;
        };
        let (port, limit, host) = (port.clone(), *limit, self.host.clone());
        self.host.spawn(async move {
            fault::point("tell.before");
            let call = async { port.tell(&text).await };
            let told = within(limit, call)
                .await
                .unwrap_or_else(|| Err(format!("no answer within {limit:?}")));
            fault::point("tell.returned");
            if let Err(reason) = &told {
                host.remark(&format!("route `{route}`: {reason}"));
                tokio::time::sleep(pause(tries)).await;
            }
            host.send(move |driver| match told {
                Ok(()) if driver.halted.is_none() => {
                    let _ = driver.turn(RUNTIME, Input::Told { obligation: id });
                }
                Ok(()) => {}
                Err(_) => driver.tell(id, tries.saturating_add(1)),
            });
        });
    }

    /// Candidates may come for an obligation. Where its route says `resubmit`, the same payloads do, once more.
    pub(super) fn resubmit(&mut self, id: ObligationId) {
        let Some(view) = self.engine().obligation(id) else {
            return;
        };
        let handler = self.plugs.routes.get(&view.route.name);
        if !handler.is_some_and(|plug| matches!(plug.handler, Handler::Resubmit)) {
            return;
        }
        let Some(response) = self.engine().response_name(view.at.response) else {
            return;
        };
        let scope = view.scope.iter();
        let scope: Vec<ComponentRef> = scope
            .filter_map(|id| self.engine().find(&response, id))
            .collect();
        let candidates: Vec<String> = scope
            .iter()
            .filter_map(|at| self.engine().as_candidate(*at))
            .collect();
        let candidates = format!("[{}]", candidates.join(","));
        let footprints: Vec<String> = scope
            .iter()
            .flat_map(|at| self.engine().footprint(*at))
            .collect();
        self.after(move |driver, durable| {
            if durable.is_ok() {
                driver.ask_then(footprints, move |driver, _| {
                    driver.offer(id, &candidates);
                });
            }
        });
    }

    fn offer(&mut self, obligation: ObligationId, candidates: &str) {
        if self.halted.is_none() {
            fault::point("offer.before");
            // A refusal is recorded like any other.
            let _ = self.turn(
                RUNTIME,
                Input::Candidates {
                    obligation,
                    candidates: candidates.into(),
                },
            );
        }
    }
}
