//! Why a component stands where it stands, what it would need, and what would let it come back.

mod values;

use crate::{admit::reason_text, check::counted};
use halo_canon::{Document, Value};
use halo_catalog::{Milestone, Temporal, Type};
use halo_cel::Program;
use halo_core::{ComponentView, Engine, ObligationView, Phase, Reason, ReasonCode};

/// Explains what an engine decided.
pub(crate) struct Explainer<'a> {
    pub(crate) engine: &'a Engine,
    /// The response as it came: the engine's views do not tell what a component declared.
    pub(crate) document: Option<&'a Document>,
}

impl Explainer<'_> {
    /// What there is to say of a component, line by line.
    pub(crate) fn lines(&self, response: &str, view: &ComponentView<'_>) -> Vec<String> {
        match view.phase {
            Phase::Retained => vec![retained(view)],
            Phase::Pending => self.waits(response, view),
            _ => self.ended(response, view),
        }
    }

    fn type_of(&self, view: &ComponentView<'_>) -> Option<&Type> {
        let catalog = self.engine.catalog();
        let index = catalog.type_index.get(view.type_name)?;
        catalog.types.get(usize::from(*index))
    }

    /// What a pending component waits for.
    fn waits(&self, response: &str, view: &ComponentView<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        for (parent, phase) in self.declared(view) {
            let Some(wanted) = milestone(phase) else {
                continue;
            };
            let parent_view = self
                .engine
                .find(response, parent)
                .and_then(|at| self.engine.view(at));
            let stands = parent_view.map_or(Phase::Proposed, |parent| parent.phase);
            if !stands.reaches(wanted) {
                let stands = stands.name();
                lines.push(format!(
                    "waits until {parent} is {phase}; {parent} is {stands}"
                ));
            }
        }
        if let Some(rule) = self.type_of(view).and_then(|type_| type_.approval) {
            let people = counted(rule.quorum as usize, "person");
            let people = people.replace("persons", "people");
            lines.push(format!(
                "waits until {people} approved it, within {}",
                rule.within
            ));
        }
        lines
    }

    /// The references that a component declared: id and phase.
    fn declared(&self, view: &ComponentView<'_>) -> Vec<(&str, &str)> {
        let component = self
            .document
            .and_then(|document| document.root().get("components"))
            .and_then(|list| list.element(view.at.position as usize));
        let list = component
            .and_then(|component| component.get("requires"))
            .and_then(Value::as_array);
        list.map(|list| list.iter().filter_map(reference).collect())
            .unwrap_or_default()
    }

    fn ended(&self, response: &str, view: &ComponentView<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        for reason in view.reasons {
            lines.push(reason_text(reason));
            lines.extend(self.needs(response, view, reason));
        }
        lines.push(self.return_path(view));
        lines
    }

    /// What would let it come back.
    fn return_path(&self, view: &ComponentView<'_>) -> String {
        let own = self.engine.newest_obligation(view.at);
        if let Some(obligation) = own.and_then(|id| self.engine.obligation(id)) {
            return obligation_text(&obligation);
        }
        if view.terminal {
            return match view
                .reasons
                .iter()
                .all(|reason| reason.code <= ReasonCode::Truncated)
            {
                true => "malformed: it can only come in a new response".into(),
                false => "for good: a check that fails names no recovery route".into(),
            };
        }
        let with = self
            .engine
            .obligations()
            .find(|obligation| obligation.scope.contains(&view.id));
        match with {
            Some(obligation) => format!("may come back together with {}", obligation.component),
            None => {
                "comes back only in a new response: its parents have no recovery that includes it"
                    .into()
            }
        }
    }

    /// What a reason asks for, and what was found.
    fn needs(&self, response: &str, view: &ComponentView<'_>, reason: &Reason) -> Vec<String> {
        let Some(type_) = self.type_of(view) else {
            return Vec::new();
        };
        let subject = reason.subject.as_deref().unwrap_or_default();
        let values = |programs: &[&Program]| self.values(response, view, type_, programs);
        match reason.code {
            ReasonCode::Predicate | ReasonCode::PredicateError => {
                let check = type_.support.iter().find(|check| check.id == subject);
                let Some(check) = check else {
                    return Vec::new();
                };
                let mut lines = vec![format!("  needs {}", check.program.source())];
                lines.extend(values(&[&check.program]));
                lines
            }
            ReasonCode::Horizon => {
                let (Temporal::Interval(horizon)
                | Temporal::Rolling {
                    horizon: Some(horizon),
                    ..
                }) = &type_.temporal
                else {
                    return Vec::new();
                };
                let (end, until) = (horizon.end.source(), horizon.valid_until.source());
                let mut lines = vec![format!("  needs {end} + {} < {until}", horizon.guard)];
                lines.extend(values(&[&horizon.end, &horizon.valid_until]));
                lines
            }
            ReasonCode::StateMissing => {
                vec![format!("  needs a record in which {subject} is there")]
            }
            ReasonCode::PrerequisiteExcluded => vec![format!("  needs {subject} supported")],
            _ => Vec::new(),
        }
    }
}

fn retained(view: &ComponentView<'_>) -> String {
    let to = view.to.unwrap_or_default();
    match (view.is_action, view.sequence) {
        (true, Some(sequence)) => {
            format!(
                "may leave through {to} as number {sequence}, when the gate finds all unchanged"
            )
        }
        (true, None) => format!("may leave through {to}, when the gate finds all unchanged"),
        (false, _) => format!("may leave now, to {to}"),
    }
}

fn obligation_text(obligation: &ObligationView<'_>) -> String {
    let route = obligation.route;
    let refresh: Vec<&str> = obligation
        .refresh
        .iter()
        .map(|(address, _)| address.as_str())
        .collect();
    let asks = match refresh.is_empty() {
        true => "a report of support".to_owned(),
        false => format!("news of {}", refresh.join(", ")),
    };
    format!(
        "may come back through {}: {} is asked for {asks} until {}, then for a fresh candidate; may replace {} (attempt {} of {})",
        route.name,
        route.assignee,
        obligation.expires,
        obligation.scope.join(", "),
        obligation.attempt,
        route.attempts
    )
}

/// A declared reference: id and phase.
fn reference<'a>(value: Value<'a>) -> Option<(&'a str, &'a str)> {
    Some((value.get("id")?.as_str()?, value.get("phase")?.as_str()?))
}

/// The milestone of that name.
fn milestone(name: &str) -> Option<Milestone> {
    let all = [
        Milestone::Retained,
        Milestone::Emitted,
        Milestone::Dispatched,
        Milestone::Observed,
    ];
    all.into_iter().find(|milestone| milestone.name() == name)
}
