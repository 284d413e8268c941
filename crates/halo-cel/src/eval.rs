//! Evaluation.

mod calls;
mod equality;
mod loops;
mod operators;
mod paths;
mod time;

use crate::program::{Node, Op};
use crate::{Expect, Program, Val};
use halo_canon::{Duration, Instant, Value};
use std::borrow::Cow;

/// Most steps of one evaluation: nodes evaluated, elements visited, and 64 bytes of text copied, compared or searched.
pub const MAX_STEPS: u32 = 10_000;
/// Longest string that an evaluation makes, in bytes.
pub const MAX_STRING_BYTES: usize = 64 * 1024;

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
        Machine::new(self, inputs).value(&self.root)
    }
    /// Evaluates to a boolean; anything else is an error.
    pub fn eval_bool<'a>(&'a self, inputs: &Inputs<'a, '_>) -> Result<bool, EvalError> {
        Machine::new(self, inputs).truth(&self.root)
    }
    /// Evaluates to a string; anything else is an error.
    pub fn eval_string<'a>(&'a self, inputs: &Inputs<'a, '_>) -> Result<String, EvalError> {
        match self.eval(inputs)? {
            Val::String(text) => Ok(text.into_owned()),
            other => Err(self.wrong_kind(&other, Expect::String)),
        }
    }
    /// Evaluates to an instant, from a timestamp or its RFC 3339 text; anything else is an error.
    pub fn eval_instant<'a>(&'a self, inputs: &Inputs<'a, '_>) -> Result<Instant, EvalError> {
        match self.eval(inputs)? {
            Val::Timestamp(instant) => Ok(instant),
            Val::String(text) => {
                Instant::parse(&text).map_err(|error| self.no_instant(&self.root, &error))
            }
            other => Err(self.wrong_kind(&other, Expect::Instant)),
        }
    }

    fn wrong_kind(&self, found: &Val<'_>, expect: Expect) -> EvalError {
        self.not_a(&self.root, found, expect.kinds())
    }

    /// `node` gave something else than `wanted`.
    fn not_a(&self, node: &Node, found: &Val<'_>, wanted: impl std::fmt::Display) -> EvalError {
        let text = self.text(node.span);
        EvalError(format!("`{text}` is {}, not {wanted}", found.kind().noun()))
    }

    fn no_instant(&self, node: &Node, error: &halo_canon::ParseTimeError) -> EvalError {
        let text = self.text(node.span);
        let error = error.to_string();
        EvalError(format!(
            "`{text}` is no instant: {}",
            crate::hints::clip(&error)
        ))
    }
}

/// One evaluation.
struct Machine<'a, 'i, 'r> {
    program: &'a Program,
    inputs: &'i Inputs<'a, 'r>,
    /// What is left of [`MAX_STEPS`].
    steps: u32,
    /// The variable of the loop that runs; loops do not nest.
    local: Option<Val<'a>>,
}

type Outcome<'a> = Result<Val<'a>, EvalError>;

impl<'a, 'i, 'r> Machine<'a, 'i, 'r> {
    fn new(program: &'a Program, inputs: &'i Inputs<'a, 'r>) -> Self {
        Self {
            program,
            inputs,
            steps: MAX_STEPS,
            local: None,
        }
    }

    /// Takes `count` steps. Once they are used up every further step fails too, so no `||` can absorb it.
    #[inline]
    fn step(&mut self, count: usize) -> Result<(), EvalError> {
        match u32::try_from(count)
            .ok()
            .and_then(|count| self.steps.checked_sub(count))
        {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => {
                self.steps = 0;
                Err(out_of_steps())
            }
        }
    }

    /// Takes the steps for `bytes` of text.
    fn text_steps(&mut self, bytes: usize) -> Result<(), EvalError> {
        match bytes / 64 {
            0 => Ok(()),
            steps => self.step(steps),
        }
    }

    /// Evaluates to any value.
    fn value(&mut self, node: &'a Node) -> Outcome<'a> {
        match &node.op {
            Op::Path(path) => self.path(path),
            Op::Null => self.step(1).map(|()| Val::Null),
            Op::Number(number) => self.step(1).map(|()| Val::Number(*number)),
            Op::String(text) => self.step(1).map(|()| Val::String(Cow::Borrowed(text))),
            Op::Negate(operand) => self.negate(node, operand),
            Op::If(parts) => {
                self.step(1)?;
                let [condition, then, otherwise] = &**parts;
                let branch = if self.truth(condition)? {
                    then
                } else {
                    otherwise
                };
                self.value(branch)
            }
            Op::Arith(op, sides) => self.arith(node, *op, sides),
            Op::Call(function, args) => self.call(*function, args),
            Op::List(elements) => self.list(elements),
            Op::Map(entries) => self.map(node, entries),
            Op::Loop(body) => self.run_loop(body),
            Op::Bool(_)
            | Op::Has { .. }
            | Op::HasRecord { .. }
            | Op::Not(_)
            | Op::And(_)
            | Op::Or(_)
            | Op::Equal { .. }
            | Op::Order(..)
            | Op::In(_)
            | Op::Matches(..) => self.truth(node).map(Val::Bool),
        }
    }

    /// Evaluates to a boolean; anything else is an error.
    fn truth(&mut self, node: &'a Node) -> Result<bool, EvalError> {
        match &node.op {
            Op::Bool(value) => self.step(1).map(|()| *value),
            Op::Not(operand) => {
                self.step(1)?;
                self.truth(operand).map(|value| !value)
            }
            // An error on one side gives way to what the other side alone decides.
            Op::And(sides) => self.logic(sides, false),
            Op::Or(sides) => self.logic(sides, true),
            Op::Order(op, sides) => self.order(node, *op, sides),
            Op::Equal { negated, sides } => {
                self.step(1)?;
                let left = self.value(&sides[0])?;
                let right = self.value(&sides[1])?;
                Ok(self.equal(&left, &right, 0)? != *negated)
            }
            Op::In(sides) => self.membership(sides),
            Op::Has { object, field } => self.has(object, field),
            Op::HasRecord { slot, record } => self.has_record(*slot, *record),
            Op::Matches(text, pattern) => self.matches(text, pattern),
            Op::Null
            | Op::Number(_)
            | Op::String(_)
            | Op::Path(_)
            | Op::Negate(_)
            | Op::If(_)
            | Op::Arith(..)
            | Op::Call(..)
            | Op::List(_)
            | Op::Map(_)
            | Op::Loop(_) => match self.value(node)? {
                Val::Bool(value) => Ok(value),
                other => Err(self.program.not_a(node, &other, "a boolean")),
            },
        }
    }

    /// `&&` and `||` of CEL: `decisive` on either side decides, whatever the other side gives.
    fn logic(&mut self, sides: &'a [Node; 2], decisive: bool) -> Result<bool, EvalError> {
        self.step(1)?;
        match self.truth(&sides[0]) {
            Ok(left) if left == decisive => Ok(decisive),
            Ok(_) => self.truth(&sides[1]),
            Err(error) => match self.truth(&sides[1]) {
                Ok(right) if right == decisive => Ok(decisive),
                _ => Err(error),
            },
        }
    }

    fn list(&mut self, elements: &'a [Node]) -> Outcome<'a> {
        self.step(1)?;
        let values: Result<_, _> = elements.iter().map(|node| self.value(node)).collect();
        Ok(Val::List(values?))
    }

    fn map(&mut self, node: &'a Node, entries: &'a [(Node, Node)]) -> Outcome<'a> {
        self.step(1)?;
        let mut map: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(entries.len());
        for (key_node, value) in entries {
            let key = self.value(key_node)?;
            if !matches!(key, Val::String(_) | Val::Number(_) | Val::Bool(_)) {
                return Err(self.program.not_a(key_node, &key, "a key of a map"));
            }
            for (known, _) in &map {
                if self.equal(known, &key, 0)? {
                    let text = self.program.text(node.span);
                    let message = format!(
                        "`{text}` has the key `{}` twice",
                        self.program.text(key_node.span)
                    );
                    return Err(EvalError(message));
                }
            }
            map.push((key, self.value(value)?));
        }
        Ok(Val::Map(map))
    }
}

#[cold]
fn out_of_steps() -> EvalError {
    EvalError(format!("the evaluation takes more than {MAX_STEPS} steps"))
}
