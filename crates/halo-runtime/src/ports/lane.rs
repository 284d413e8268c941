//! Lanes: actions of different lanes of one adapter do not wait for each other (formats.md §8).

use halo_canon::{Instant, Value};
use halo_cel::{
    CompileError, Component, Environment, EvalError, Expect, Inputs, Program, Record, RecordTable,
    Records,
};
use std::fmt;

/// Which lane an action is in: CEL over `payload` and `component` that gives text.
#[derive(Clone)]
pub struct Lane(Program);

impl Lane {
    /// Compiles it. Errors: all that are found.
    pub fn compile(source: &str) -> Result<Self, Vec<CompileError>> {
        const NO_STATE: Environment<'static> = Environment {
            sources: &[],
            state: false,
        };
        // A lane must not change under an action that waits in it, so it cannot read state.
        Program::compile(
            source,
            NO_STATE,
            Expect::String,
            &mut RecordTable::default(),
        )
        .map(Self)
    }
    /// The lane of one action. Errors: it can't be told, so the action has no lane to leave by.
    pub fn lane_of(
        &self,
        payload: Value<'_>,
        component: Component<'_>,
    ) -> Result<String, EvalError> {
        evaluate(&self.0, payload, component)
    }
    /// The source text.
    pub fn source(&self) -> &str {
        self.0.source()
    }
}

impl PartialEq for Lane {
    fn eq(&self, other: &Self) -> bool {
        self.source() == other.source()
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lane({:?})", self.source())
    }
}

/// Evaluates a program without state to text.
pub(crate) fn evaluate<'a>(
    program: &'a Program,
    payload: Value<'a>,
    component: Component<'a>,
) -> Result<String, EvalError> {
    let inputs = Inputs {
        payload,
        component,
        claims: None,
        now: Instant::from_nanos(0),
        records: &NoRecords,
    };
    program.eval_string(&inputs)
}

struct NoRecords;

impl<'a> Records<'a> for NoRecords {
    fn record(&self, _slot: u16) -> Option<Record<'a>> {
        None
    }
}
