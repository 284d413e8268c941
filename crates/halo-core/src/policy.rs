//! A policy from outside the catalog that has a say at admission: rules that somebody brings along.
//!
//! It can only deny. What it keeps must still pass every check of the catalog, and everything after admission (binding,
//! gate, recovery) is as always.

use crate::view::RecordView;
use halo_canon::{Instant, Value};
use std::fmt::Debug;

/// What a policy says of one component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyVerdict {
    /// It has nothing against it.
    Keep,
    /// The component is not supported: `predicate`, subject the rule; without a route, so terminal.
    Deny {
        /// The rule's name.
        rule: Box<str>,
        /// In words.
        text: Box<str>,
    },
}

/// A component that stands for admission.
#[derive(Debug, Clone, Copy)]
pub struct PolicyQuestion<'a> {
    /// The response's id.
    pub response: &'a str,
    /// The component's id.
    pub component: &'a str,
    /// Its type.
    pub type_name: &'a str,
    /// Its payload.
    pub payload: Value<'a>,
    /// Whether it is an action.
    pub is_action: bool,
}

/// What a policy may read beside the components.
pub trait PolicyState {
    /// The record in force at an address (`source`, `source/key`).
    fn record(&self, address: &str) -> Option<RecordView<'_>>;
    /// The time.
    fn now(&self) -> Instant;
}

/// Rules about components at their admission. A pure function of what it is given: decisions are computed again from
/// the journal (I8).
pub trait AdmissionPolicy: Debug + Send + Sync {
    /// One verdict for each of the well-formed components that are admitted together, in their order. One that is left
    /// out is denied.
    fn judge(
        &self,
        components: &[PolicyQuestion<'_>],
        state: &dyn PolicyState,
    ) -> Vec<PolicyVerdict>;
}
