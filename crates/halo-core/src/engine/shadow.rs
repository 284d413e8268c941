//! Shadow mode (formats.md §8): for the actions of some adapters the verdicts on support, prerequisites and witness are
//! recorded and not enforced. Everything else holds as always: P1–P3, identity, tokens, sequences, `once`, approvals,
//! unsettled records, doubt, and the order of prerequisites that can still be met.

use super::Engine;
use crate::{
    effect::Record,
    gate,
    phase::ComponentRef,
    reason::{Reason, ReasonCode},
    support,
};

impl Engine {
    /// Puts exactly these adapters, by name, in shadow mode. For a driver that starts, before its
    /// [`Input::Restart`](crate::Input::Restart), which judges everything live anew.
    pub fn set_shadow(&mut self, adapters: &[String]) {
        self.shadowed = adapters
            .iter()
            .map(|name| self.ledger.adapter(name))
            .collect();
        for at in self.all_components() {
            self.note_shadow(at);
        }
    }

    /// The adapters in shadow mode.
    pub(super) fn shadow(&self) -> Vec<String> {
        let names = self.shadowed.iter();
        names
            .map(|adapter| self.ledger.adapter_name(*adapter).to_owned())
            .collect()
    }

    /// Whether an instance is in shadow mode follows its adapter.
    pub(super) fn note_shadow(&mut self, at: ComponentRef) {
        let adapter = self.instance(at).and_then(|instance| instance.adapter);
        let shadow = adapter.is_some_and(|adapter| self.shadowed.contains(&adapter));
        if let Some(component) = self.component_mut(at) {
            component.shadow = shadow;
        }
    }

    /// Records what enforcement would have withheld, where it would.
    pub(super) fn record_shadow(&mut self, at: ComponentRef) {
        let Some(component) = self.component(at).filter(|component| component.shadow) else {
            return;
        };
        let generation = component.generation;
        let reasons = self.lifted_reasons(at);
        if !reasons.is_empty() {
            self.record(Record::WouldWithhold {
                component: at,
                generation,
                reasons,
            });
        }
    }

    fn lifted_reasons(&self, at: ComponentRef) -> Vec<Reason> {
        let (Some(instance), Some(response)) = (self.instance(at), self.responses.get(at.response))
        else {
            return Vec::new();
        };
        let world = self.world();
        let failures = support::all_failures(&instance, &world);
        let mut reasons: Vec<Reason> = failures
            .into_iter()
            .map(|failure| failure.reason)
            .filter(is_lifted)
            .collect();
        let excluded = response.graph.prerequisites(at.position).iter();
        let mut excluded: Vec<&str> = excluded
            .filter(|edge| !response.parent_holds(edge))
            .filter_map(|edge| Some(response.get(edge.parent)?.id()))
            .collect();
        excluded.sort_unstable();
        excluded.dedup();
        reasons.extend(
            excluded
                .into_iter()
                .map(|id| Reason::about(ReasonCode::PrerequisiteExcluded, id)),
        );
        // Before its admission is complete an instance has no bound values to compare.
        if instance.component.bound.len() == instance.type_.bind.len() {
            let changed = gate::differing_bounds(&instance, &world);
            reasons.extend(gate::changed_reasons(&instance, &world, &changed));
        }
        reasons
    }
}

/// Whether shadow mode lifts a failed check.
pub(crate) fn is_lifted(reason: &Reason) -> bool {
    match reason.code {
        ReasonCode::StateMissing
        | ReasonCode::Stale
        | ReasonCode::CertificateExpired
        | ReasonCode::Horizon
        | ReasonCode::Expired
        | ReasonCode::Predicate => true,
        // Without a key nobody can tell whether it is used; without an index nobody can tell what is written.
        ReasonCode::PredicateError => !matches!(reason.subject.as_deref(), Some("once" | "writes")),
        _ => false,
    }
}
