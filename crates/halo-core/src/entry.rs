//! What formats.md §5 says of responses and obligations, ready to be written: in scenario results and over HTTP.

use crate::{
    obligation::ObligationId,
    reason::Reason,
    view::{ComponentView, ObligationView, ResponseView},
};
use halo_canon::Digest;
use serde::Serialize;

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

/// An obligation.
#[derive(Debug, Clone, Serialize)]
pub struct ObligationEntry {
    /// Its number, where it is addressed by it; results of scenarios leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obligation: Option<ObligationId>,
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

impl From<ResponseView<'_>> for ResponseEntry {
    fn from(view: ResponseView<'_>) -> Self {
        Self {
            response: view.id.to_owned(),
            components: view.components.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<ComponentView<'_>> for ComponentEntry {
    fn from(view: ComponentView<'_>) -> Self {
        Self {
            id: view.id.to_owned(),
            type_name: view.type_name.to_owned(),
            generation: view.generation,
            phase: view.phase.name(),
            digest: view.digest,
            binding: view.binding,
            sequence: view.sequence,
            terminal: view.terminal,
            reasons: view.reasons.to_vec(),
        }
    }
}

impl From<ObligationView<'_>> for ObligationEntry {
    fn from(view: ObligationView<'_>) -> Self {
        let refresh = view.refresh.into_iter();
        Self {
            obligation: None,
            response: view.response.to_owned(),
            component: view.component.to_owned(),
            generation: view.generation,
            route: view.route.name.clone(),
            state: view.state.name(),
            scope: view.scope.iter().map(|id| (*id).to_owned()).collect(),
            refresh: refresh.map(|(address, _)| address).collect(),
            attempt: view.attempt,
        }
    }
}
