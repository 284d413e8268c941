//! Evaluation.

use crate::{Program, Val};
use halo_canon::{Duration, Instant, Value};

/// A record as predicates see it.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// `epoch`
    pub epoch: u64,
    /// `observed_at`
    pub observed_at: Instant,
    /// `age` (P7).
    pub age: Duration,
    /// `provenance`
    pub provenance: &'a str,
    /// `value`
    pub value: Value<'a>,
}

/// The variable `component`.
#[derive(Debug, Clone, Copy)]
pub struct Component<'a> {
    /// `id`
    pub id: &'a str,
    /// `type`
    pub kind: &'a str,
    /// `digest`, in text form
    pub digest: &'a str,
    /// `response`
    pub response: &'a str,
}

/// Where a program finds the records of its slots.
pub trait Records<'a> {
    /// The record in `slot`; nothing where it is absent, missing (P8), or its key is absent.
    fn record(&self, slot: u16) -> Option<Record<'a>>;
}

/// All that an evaluation sees.
pub struct Inputs<'a, 'r> {
    /// `payload`
    pub payload: Value<'a>,
    /// `component`
    pub component: Component<'a>,
    /// `certificate`: its claims; nothing is the empty map.
    pub claims: Option<Value<'a>>,
    /// `now`
    pub now: Instant,
    /// `state`
    pub records: &'r dyn Records<'a>,
}

/// Why an evaluation gave no result. Never a pass (P5).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EvalError(pub String);

impl Program {
    /// Evaluates to any value.
    pub fn eval<'a>(&'a self, inputs: &Inputs<'a, '_>) -> Result<Val<'a>, EvalError> {
        let _ = inputs;
        todo!()
    }
    /// Evaluates to a boolean; anything else is an error.
    pub fn eval_bool<'a>(&'a self, inputs: &Inputs<'a, '_>) -> Result<bool, EvalError> {
        let _ = inputs;
        todo!()
    }
    /// Evaluates to a string; anything else is an error.
    pub fn eval_string<'a>(&'a self, inputs: &Inputs<'a, '_>) -> Result<String, EvalError> {
        let _ = inputs;
        todo!()
    }
    /// Evaluates to an instant, from a timestamp or its RFC 3339 text; anything else is an error.
    pub fn eval_instant<'a>(&'a self, inputs: &Inputs<'a, '_>) -> Result<Instant, EvalError> {
        let _ = inputs;
        todo!()
    }
}
