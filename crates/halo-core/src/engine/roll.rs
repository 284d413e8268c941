//! P23: the next window of a rolling action.

use super::{Engine, Handled};
use crate::{
    component::Component,
    input::RawText,
    phase::{ComponentRef, Phase},
    reason::{Refusal, RefusalCode},
    response::ResponseName,
    state::{Keys, NO_SLOT},
    support::Instance,
};
use halo_canon::{Builder, Document, Instant};
use halo_catalog::{Freshness, Temporal};
use std::sync::Arc;

impl Engine {
    /// Rolls an action that was dispatched or observed; judged in this order: `not_rolling`, `not_refreshed`,
    /// `bad_candidate`.
    pub(super) fn roll(
        &mut self,
        response: &ResponseName,
        component: &str,
        payload: Option<&RawText>,
    ) -> Result<Handled, Refusal> {
        let at = self.find_or_refuse(response, component)?;
        let depth = self.catalog().limits.depth.saturating_sub(3);
        let given = payload.map(|text| Document::parse(&text.0, depth));
        let readable = given.as_ref().and_then(|given| given.as_ref().ok());
        self.check_rolling(at, readable)?;
        let bad = |message: String| Refusal::new(RefusalCode::BadCandidate, message);
        let given = given.transpose().map_err(|error| bad(error.to_string()))?;
        let document = self.next_window(at, given.as_ref()).map_err(bad)?;
        let group = self
            .read_candidates(at.response, Arc::new(document))
            .and_then(|candidates| self.replace(at.response, candidates))
            .map_err(bad)?;
        self.admit_replaced(at.response, &group);
        Ok(Handled::Done)
    }

    fn check_rolling(&self, at: ComponentRef, given: Option<&Document>) -> Result<(), Refusal> {
        let rolling = self.instance(at).filter(|instance| {
            matches!(instance.type_.temporal, Temporal::Rolling { .. })
                && matches!(
                    instance.component.phase,
                    Phase::Dispatched | Phase::Observed
                )
        });
        let Some(instance) = rolling else {
            let id = self.component(at).map_or("", Component::id);
            let message = format!("`{id}` is no rolling action that was dispatched or observed");
            return Err(Refusal::new(RefusalCode::NotRolling, message));
        };
        let seen = instance.component.seen.as_deref().unwrap_or(&[]);
        let stale = instance
            .type_
            .fresh
            .iter()
            .zip(seen)
            .find(|(limit, seen)| !self.is_news(&instance, limit, **seen, given));
        match stale {
            None => Ok(()),
            Some((limit, _)) => {
                let message = format!(
                    "`{}` was not observed since the last window's admission",
                    limit.text
                );
                Err(Refusal::new(RefusalCode::NotRefreshed, message))
            }
        }
    }

    /// P7: whether the record that the next window would read was observed later than the last admission saw. A record
    /// that the last window did not read must be later than that admission itself: what was old then is no news.
    fn is_news(
        &self,
        instance: &Instance<'_>,
        limit: &Freshness,
        seen: Instant,
        given: Option<&Document>,
    ) -> bool {
        let component = instance.component;
        let slot = usize::from(limit.slot);
        let last = component.slots.get(slot).copied().unwrap_or(NO_SLOT);
        let next = match (given, instance.type_.records.get(slot)) {
            (Some(given), Some(record)) => {
                let digest = self
                    .digest_with(component, given)
                    .map(|digest| digest.to_string());
                let keys = Keys {
                    payload: given.root(),
                    id: component.id(),
                    response: instance.response,
                    digest: digest.as_deref().unwrap_or(""),
                };
                self.find_slot(component.catalog, record, &keys)
            }
            _ => last,
        };
        let since = if next == last {
            seen
        } else {
            component.admitted_at.max(seen)
        };
        self.state
            .record(next)
            .is_some_and(|record| record.observed_at > since)
    }

    /// The component again, as a list of one candidate, with another payload where one is given. Its sequence is the
    /// ledger's to give.
    fn next_window(&self, at: ComponentRef, given: Option<&Document>) -> Result<Document, String> {
        let component = self.component(at).ok_or("no such component")?;
        let mut builder = Builder::new();
        let member = |builder: &mut Builder, name: &str, node: Option<halo_canon::Node>| {
            if let Some(node) = node {
                builder.key(name);
                builder.value(component.document.at(node));
            }
        };
        builder.begin_array();
        builder.begin_object();
        member(&mut builder, "id", component.id);
        member(&mut builder, "type", component.type_name);
        member(&mut builder, "requires", component.requires);
        member(&mut builder, "certificate", component.certificate_node);
        match given {
            None => member(&mut builder, "payload", component.payload),
            Some(given) => {
                builder.key("payload");
                builder.value(given.root());
            }
        }
        builder.end_object().map_err(|fault| fault.to_string())?;
        builder.end_array();
        builder.finish().map_err(|fault| fault.to_string())
    }
}
