//! What a run gives, as JSON (formats.md §5).

use halo_canon::Digest;
use halo_core::{Engine, Reason};
use serde::Serialize;

/// The result of a scenario.
#[derive(Debug, Clone, Serialize)]
pub struct ScenarioResult {
    /// Its name.
    pub scenario: String,
    /// Whether every `expect` held.
    pub ok: bool,
    /// The virtual time at its end.
    pub now: String,
    /// Every response that was accepted, with the newest instance of each component.
    pub responses: Vec<ResponseEntry>,
    /// What left, in order.
    pub effects: Vec<EffectEntry>,
    /// Obligations in order of creation.
    pub obligations: Vec<ObligationEntry>,
    /// One entry for each `dispatch` step.
    pub answers: Vec<AnswerEntry>,
    /// What was refused.
    pub refused: Vec<RefusedEntry>,
    /// Differences that failed expectations, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// A response.
#[derive(Debug, Clone, Serialize)]
pub struct ResponseEntry {
    /// Its id.
    pub response: String,
    /// Its components, in order.
    pub components: Vec<ComponentEntry>,
}

/// A component with its newest instance.
#[derive(Debug, Clone, Serialize)]
pub struct ComponentEntry {
    /// Its id, as the agent gave it.
    pub id: String,
    /// Its declared type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Generation of the newest instance.
    pub generation: u32,
    /// Where it stands.
    pub phase: &'static str,
    /// `d_e`; null for a bad component.
    pub digest: Option<Digest>,
    /// `b_e`; null until given.
    pub binding: Option<Digest>,
    /// Sequence number; null until given.
    pub sequence: Option<u64>,
    /// Whether it is over for good.
    pub terminal: bool,
    /// Why it ended.
    pub reasons: Vec<Reason>,
}

/// Something that left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EffectEntry {
    /// `emit` or `dispatch`.
    pub kind: &'static str,
    /// The response.
    pub response: String,
    /// The component.
    pub component: String,
    /// The instance's generation.
    pub generation: u32,
    /// The path or adapter.
    pub to: String,
    /// Sequence number, of a dispatch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// What the adapter said, of a dispatch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
}

/// An obligation.
#[derive(Debug, Clone, Serialize)]
pub struct ObligationEntry {
    /// The response.
    pub response: String,
    /// The blocked component.
    pub component: String,
    /// The blocked instance's generation.
    pub generation: u32,
    /// Its route.
    pub route: String,
    /// Where it stands.
    pub state: &'static str,
    /// What may be replaced.
    pub scope: Vec<String>,
    /// The records to refresh.
    pub refresh: Vec<String>,
    /// Its number among the component's attempts.
    pub attempt: u32,
}

/// The gate's answer to a `dispatch` step.
#[derive(Debug, Clone, Serialize)]
pub struct AnswerEntry {
    /// The step, from 1.
    pub step: usize,
    /// What it said.
    pub answer: &'static str,
}

/// Something that was refused.
#[derive(Debug, Clone, Serialize)]
pub struct RefusedEntry {
    /// The step, from 1; 0 is `state`.
    pub step: usize,
    /// The code.
    pub code: &'static str,
    /// In words.
    pub message: String,
}

/// Reads the responses off an engine.
pub fn responses(engine: &Engine) -> Vec<ResponseEntry> {
    let component = |view: halo_core::ComponentView<'_>| ComponentEntry {
        id: view.id.to_owned(),
        type_name: view.type_name.to_owned(),
        generation: view.generation,
        phase: view.phase.name(),
        digest: view.digest,
        binding: view.binding,
        sequence: view.sequence,
        terminal: view.terminal,
        reasons: view.reasons.to_vec(),
    };
    engine
        .responses()
        .map(|response| ResponseEntry {
            response: response.id.to_owned(),
            components: response.components.into_iter().map(component).collect(),
        })
        .collect()
}

/// Reads the obligations off an engine.
pub fn obligations(engine: &Engine) -> Vec<ObligationEntry> {
    engine
        .obligations()
        .map(|view| ObligationEntry {
            response: view.response.to_owned(),
            component: view.component.to_owned(),
            generation: view.generation,
            route: view.route.name.clone(),
            state: view.state.name(),
            scope: view.scope.iter().map(|id| (*id).to_owned()).collect(),
            refresh: view
                .refresh
                .into_iter()
                .map(|(address, _)| address)
                .collect(),
            attempt: view.attempt,
        })
        .collect()
}
