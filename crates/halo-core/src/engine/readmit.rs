//! P22: fresh admission of candidates.

use super::{Engine, Handled};
use crate::{
    component::{Component, PastAction, PastToken, TokenState},
    envelope::{Components, Declared, Reference},
    graph::GraphEdge,
    input::RawText,
    obligation::{ObligationId, ObligationState},
    phase::{ComponentRef, Phase},
    reason::{Refusal, RefusalCode},
    wellformed::{Bearer, Judged, Rules, Subject},
};
use halo_canon::{Document, Value};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// Candidates that were read, by the position that each would take.
pub(super) struct Candidates {
    document: Arc<Document>,
    components: Components,
    /// Position in the response of each candidate.
    positions: Vec<u32>,
}

impl Engine {
    /// Candidates for an obligation: its state is judged first, then their scope, then everything else (P20–P22).
    pub(super) fn candidates(
        &mut self,
        id: ObligationId,
        text: &RawText,
    ) -> Result<Handled, Refusal> {
        let obligation = self.open_obligation(id)?;
        if obligation.state != ObligationState::ReadyForReadmission {
            let message = format!(
                "the obligation {} is {}; it waits for its records or its assignee",
                id.0,
                obligation.state.name()
            );
            return Err(Refusal::new(RefusalCode::ObligationNotReady, message));
        }
        let at = obligation.component;
        // A response's components stand one level below its envelope.
        let depth = self.catalog().limits.depth.saturating_sub(1);
        let document = Document::parse(&text.0, depth).map_err(|error| {
            Refusal::new(
                RefusalCode::BadJson,
                format!("the candidates are not strict JSON: {error}"),
            )
        })?;
        self.check_scope(id, &document)?;
        let accepted = self
            .read_candidates(at.response, Arc::new(document))
            .and_then(|candidates| {
                self.check_replacements(id, &candidates)?;
                self.replace(at.response, candidates)
            });
        match accepted {
            Ok(group) => {
                self.discharge(id, at.response, &group);
                self.admit_replaced(at.response, &group);
                Ok(Handled::Done)
            }
            Err(message) => {
                self.count_bad_candidate(id);
                Err(Refusal::new(RefusalCode::BadCandidate, message))
            }
        }
    }

    fn check_scope(&self, id: ObligationId, document: &Document) -> Result<(), Refusal> {
        let obligation = self.obligation_or_refuse(id)?;
        let Some(response) = self.responses.get(obligation.component.response) else {
            return Ok(());
        };
        let ids = document
            .root()
            .as_array()
            .into_iter()
            .flat_map(|list| list.iter());
        for candidate in ids.filter_map(|candidate| candidate.get("id")?.as_str()) {
            let position = response.position(&self.hasher, candidate);
            if !position.is_some_and(|position| obligation.scope.contains(&position)) {
                let message = format!(
                    "`{}` is not in the obligation's scope",
                    crate::envelope::shorten(candidate)
                );
                return Err(Refusal::new(RefusalCode::OutOfScope, message));
            }
        }
        Ok(())
    }

    /// Errors: in words, for `bad_candidate`.
    pub(super) fn read_candidates(
        &self,
        response: u32,
        document: Arc<Document>,
    ) -> Result<Candidates, String> {
        let list = document
            .root()
            .as_array()
            .ok_or("candidates are a list of components")?;
        let limits = self.catalog().limits;
        if list.len() > limits.components {
            return Err(format!(
                "{} candidates, but the catalog's limit is {}",
                list.len(),
                limits.components
            ));
        }
        let mut components = Components::default();
        let mut positions = Vec::new();
        let mut buffer = Vec::new();
        for candidate in list.iter() {
            components.read(candidate);
            components
                .digest_last(&document, &mut buffer, limits.payload_bytes)
                .map_err(|refusal| refusal.message)?;
            let id = candidate
                .get("id")
                .and_then(|id| id.as_str())
                .ok_or("a candidate without an id")?;
            let position = self
                .responses
                .get(response)
                .and_then(|response| response.position(&self.hasher, id))
                .ok_or("no such component")?;
            if positions.contains(&position) {
                return Err(format!("two candidates for `{id}`"));
            }
            positions.push(position);
        }
        Ok(Candidates {
            document,
            components,
            positions,
        })
    }

    /// P20, P22: who may be replaced by what.
    fn check_replacements(&self, id: ObligationId, candidates: &Candidates) -> Result<(), String> {
        let obligation = self
            .obligation_or_refuse(id)
            .map_err(|refusal| refusal.message)?;
        let blocked = obligation.component;
        if !candidates.positions.contains(&blocked.position) {
            return Err("there is no candidate for the blocked component".into());
        }
        let catalog = self.catalog();
        let types = self
            .route(blocked, obligation.route)
            .and_then(|route| route.types.as_deref())
            .unwrap_or(&[]);
        let listed: Vec<&str> = {
            let installed = self.installed(obligation.catalog);
            types
                .iter()
                .filter_map(|ix| installed.catalog.types.get(usize::from(*ix)))
                .map(|t| t.name.as_str())
                .collect()
        };
        for (index, position) in candidates.positions.iter().enumerate() {
            let at = ComponentRef {
                response: blocked.response,
                position: *position,
            };
            let Some(replaced) = self.component(at) else {
                return Err("no such component".into());
            };
            let name = replaced.id();
            if !replaced.phase.has_ended() || replaced.terminal {
                return Err(format!(
                    "`{name}` can't be replaced: it is {}",
                    describe(replaced)
                ));
            }
            let declared = candidates.components.declared.get(index);
            let type_name = declared
                .and_then(|d| candidates.document.at(d.type_name?).as_str())
                .unwrap_or("");
            if type_name != replaced.type_name() && !listed.contains(&type_name) {
                return Err(format!(
                    "`{name}` may not become a `{}`",
                    crate::envelope::shorten(type_name)
                ));
            }
            if at != blocked && !keeps_prerequisites(replaced, candidates, index) {
                return Err(format!(
                    "the candidate for `{name}` drops a prerequisite of the one that it replaces"
                ));
            }
        }
        let _ = catalog;
        Ok(())
    }

    /// P2 for the candidates against the response as it is; then they take their places. Errors, with nothing
    /// changed: in words.
    pub(super) fn replace(
        &mut self,
        response: u32,
        mut candidates: Candidates,
    ) -> Result<Vec<u32>, String> {
        let judged = self.judge_candidates(response, &mut candidates);
        if let Some((judged, position)) = judged
            .iter()
            .zip(&candidates.positions)
            .find(|(j, _)| !j.faults.is_empty())
        {
            let at = ComponentRef {
                response,
                position: *position,
            };
            let codes: Vec<&str> = judged
                .faults
                .iter()
                .map(|reason| reason.code.name())
                .collect();
            let id = self.component(at).map_or("", Component::id);
            return Err(format!(
                "the candidate for `{id}` is malformed: {}",
                codes.join(", ")
            ));
        }
        let versions = self.next_versions(response, &candidates);
        let edges: Vec<(u32, Vec<GraphEdge>)> = judged
            .iter()
            .zip(&candidates.positions)
            .map(|(judged, position)| {
                let mut edges = judged.edges.clone();
                for edge in &mut edges {
                    let parent = ComponentRef {
                        response,
                        position: edge.parent,
                    };
                    let known = self.component(parent).map_or(0, |parent| parent.version);
                    edge.version = versions.get(&edge.parent).copied().unwrap_or(known);
                }
                (*position, edges)
            })
            .collect();
        let Some(stored) = self.responses.get_mut(response) else {
            return Err("no such response".into());
        };
        stored
            .graph
            .replace(edges)
            .map_err(|_| "the candidates would close a cycle".to_owned())?;
        let catalog = self.current_catalog();
        let Candidates {
            document,
            components,
            positions,
        } = candidates;
        for ((declared, judged), position) in components.declared.iter().zip(judged).zip(&positions)
        {
            let at = ComponentRef {
                response,
                position: *position,
            };
            let version = versions.get(position).copied().unwrap_or(0);
            self.take_place(at, &document, declared, judged, catalog, version);
        }
        let mut group = positions;
        group.sort_unstable();
        Ok(group)
    }

    fn judge_candidates(&self, response: u32, candidates: &mut Candidates) -> Vec<Judged> {
        let Some(stored) = self.responses.get(response) else {
            return Vec::new();
        };
        let document = candidates.document.clone();
        let installed = self.installed(self.current_catalog());
        let catalog = &installed.catalog;
        let mut rules = Rules {
            catalog,
            adapters: &installed.adapters,
            ledger: &self.ledger,
            response: &stored.id,
            truncated: false,
            references: self.mechanisms.references,
            claimed: HashSet::new(),
        };
        let type_of = |declared: &Declared| {
            catalog
                .type_index
                .get(document.at(declared.type_name?).as_str()?)
                .copied()
        };
        let new_types: BTreeMap<u32, Option<u16>> = candidates
            .positions
            .iter()
            .zip(&candidates.components.declared)
            .map(|(position, declared)| (*position, type_of(declared)))
            .collect();
        let bearer = |id: Value<'_>, _: u32| {
            let position = stored.position(&self.hasher, id.as_str()?)?;
            let known = || {
                catalog
                    .type_index
                    .get(stored.get(position)?.type_name())
                    .copied()
            };
            Some(Bearer {
                position,
                type_: new_types.get(&position).copied().unwrap_or_else(known),
            })
        };
        let positions = candidates.positions.clone();
        let mut judged = Vec::new();
        for (index, position) in positions.into_iter().enumerate() {
            rules
                .claimed
                .extend(self.claims_before(response, position, &candidates.positions));
            let references: Vec<Reference> = candidates.components.references_of(index).to_vec();
            let Some(declared) = candidates.components.declared.get_mut(index) else {
                continue;
            };
            let mut edges = Vec::new();
            let subject = Subject {
                references: &references,
                document: &document,
                position,
                type_: new_types.get(&position).copied().flatten(),
            };
            let mut verdict = rules.judge(declared, &subject, &bearer, &mut edges);
            verdict.edges = edges;
            judged.push(verdict);
        }
        judged
    }

    /// Numbers claimed by earlier components of the response that are not replaced, malformed or not (P2).
    fn claims_before(&self, response: u32, position: u32, replaced: &[u32]) -> Vec<(u32, u64)> {
        let claim = |position: u32| {
            let instance = self.instance(ComponentRef { response, position })?;
            Some((instance.adapter?, instance.component.given_sequence?))
        };
        (0..position)
            .filter(|position| !replaced.contains(position))
            .filter_map(claim)
            .collect()
    }

    /// The version of each replaced component: another digest is another parent (P9).
    fn next_versions(&self, response: u32, candidates: &Candidates) -> BTreeMap<u32, u32> {
        let version = |(position, declared): (&u32, &Declared)| {
            let at = ComponentRef {
                response,
                position: *position,
            };
            let known = self
                .component(at)
                .map_or_else(Vec::new, Component::versions);
            let version = known.iter().position(|digest| *digest == declared.digest);
            (*position, version.unwrap_or(known.len()) as u32)
        };
        candidates
            .positions
            .iter()
            .zip(&candidates.components.declared)
            .map(version)
            .collect()
    }

    /// The candidate becomes the next generation; what the past one leaves behind is kept (P17, P22).
    fn take_place(
        &mut self,
        at: ComponentRef,
        document: &Arc<Document>,
        declared: &Declared,
        mut judged: Judged,
        catalog: u32,
        version: u32,
    ) {
        let past_action = self.past_action(at);
        self.unwatch_keys(at);
        let Some(component) = self.component_mut(at) else {
            return;
        };
        let mut next = Component::proposed(document, declared, &judged, catalog);
        next.certificate = judged.certificate.take();
        next.version = version;
        next.digests = component.versions();
        if next.digests.len() as u32 <= version {
            next.digests.push(next.digest);
        }
        next.generation = component.generation + 1;
        // What left and did not fail is replaced by its next window only (P23).
        next.first_window = if component.phase.has_left() {
            component.first_window
        } else {
            next.generation
        };
        next.timer = component.timer;
        next.last_attempt = component.last_attempt;
        next.newest_obligation = component.newest_obligation;
        next.past = std::mem::take(&mut component.past);
        next.past_actions = std::mem::take(&mut component.past_actions);
        next.past_actions.extend(past_action);
        component.revoke_token();
        if let Some(held) = component.token.take() {
            next.past.push(PastToken {
                generation: component.generation,
                held,
            });
        }
        let watched = component.is_watched();
        component.monitored = false;
        if watched {
            self.unsubscribe(at);
        }
        if let Some(component) = self.component_mut(at) {
            *component = next;
        }
        self.emissions.remove(at);
        self.actions.remove(at);
    }

    pub(super) fn past_action(&self, at: ComponentRef) -> Option<PastAction> {
        let instance = self.instance(at)?;
        let component = instance.component;
        let spent = component
            .token
            .as_ref()
            .is_some_and(|held| held.state == TokenState::Spent);
        let left = component.phase.has_left() || component.phase == Phase::Failed;
        if !(spent && left) {
            return None;
        }
        Some(PastAction {
            generation: component.generation,
            failed: component.phase == Phase::Failed,
            once_key: component.once_key.clone(),
            once_for: instance.type_.once.as_ref().and_then(|once| once.for_),
            adapter: instance.adapter?,
            writes: self
                .slots_of(at, instance.type_.writes.iter().map(|written| written.slot))
                .into(),
        })
    }

    /// Acceptance discharges the obligation, and those of the other components replaced (P22).
    fn discharge(&mut self, id: ObligationId, response: u32, group: &[u32]) {
        let mut ids = vec![id];
        for position in group {
            let at = ComponentRef {
                response,
                position: *position,
            };
            ids.extend(
                self.component(at)
                    .and_then(|component| component.newest_obligation),
            );
        }
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            if self
                .obligations
                .get(id.0)
                .is_some_and(|obligation| obligation.state.is_open())
            {
                self.set_obligation(id, ObligationState::Discharged);
            }
        }
    }

    /// Admits what took its place, and lets go of what waited for a parent that is not there any more.
    pub(super) fn admit_replaced(&mut self, response: u32, group: &[u32]) {
        self.admit(response, group);
        let replaced: Vec<ComponentRef> = group
            .iter()
            .map(|position| ComponentRef {
                response,
                position: *position,
            })
            .collect();
        self.fall(Vec::new(), replaced.clone());
        for at in replaced {
            self.refresh_dependents(at);
        }
    }

    fn count_bad_candidate(&mut self, id: ObligationId) {
        let Some(obligation) = self.obligations.get_mut(id.0) else {
            return;
        };
        obligation.attempt += 1;
        let (at, attempt, route) = (obligation.component, obligation.attempt, obligation.route);
        if let Some(component) = self.component_mut(at) {
            component.last_attempt = attempt;
        }
        if self
            .route(at, route)
            .is_none_or(|route| attempt > route.attempts)
        {
            self.set_obligation(id, ObligationState::Failed);
        }
    }
}

fn describe(component: &Component) -> String {
    let name = component.phase.name();
    if component.terminal {
        format!("{name}, for good")
    } else {
        name.to_owned()
    }
}

/// P20: a candidate for a dependent keeps at least the prerequisites that the replaced instance declared.
fn keeps_prerequisites(replaced: &Component, candidates: &Candidates, index: usize) -> bool {
    let kept = candidates.components.references_of(index);
    replaced.references().iter().all(|reference| {
        let id = replaced.document.at(reference.id);
        kept.iter()
            .any(|kept| kept.phase == reference.phase && candidates.document.at(kept.id) == id)
    })
}
