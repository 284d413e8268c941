//! What a run gives, as JSON (formats.md §5).

use halo_core::{ObligationEntry, ResponseEntry};
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
