//! The compiled form: a tree in which every name is resolved.

use crate::Span;
use crate::functions::Function;
use crate::kinds::{Arith, Order};
use regex::Regex;

/// An operation, with its place in the source for messages.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) op: Op,
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Null,
    Bool(bool),
    Number(f64),
    String(Box<str>),
    Path(Box<Path>),
    /// `has(object.field)`
    Has {
        object: Box<Node>,
        field: Box<str>,
    },
    /// `has(state.X.value)`: true, or an error where the record is absent.
    HasRecord {
        slot: u16,
        /// The record's own text.
        record: Span,
    },
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    If(Box<[Node; 3]>),
    Arith(Arith, Box<[Node; 2]>),
    /// `==`, or `!=` where negated.
    Equal {
        negated: bool,
        sides: Box<[Node; 2]>,
    },
    Order(Order, Box<[Node; 2]>),
    In(Box<[Node; 2]>),
    Call(Function, Box<[Node]>),
    Matches(Box<Node>, Box<Pattern>),
    List(Box<[Node]>),
    Map(Box<[(Node, Node)]>),
    Loop(Box<Loop>),
}

/// A compiled pattern, and the steps that searching 64 bytes takes.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(crate) regex: Regex,
    pub(crate) cost: usize,
}

/// A root and the steps from it. What an error calls it is its own text: from `start` to the `end` of a step.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) root: Root,
    pub(crate) start: usize,
    /// Where the text of the root ends.
    pub(crate) end: usize,
    pub(crate) steps: Box<[Step]>,
}

#[derive(Debug, Clone)]
pub(crate) enum Root {
    Payload,
    Certificate,
    Component(ComponentField),
    Now,
    /// A field of a record; the text of the record ends at `record_end`.
    Record {
        slot: u16,
        field: RecordField,
        record_end: usize,
    },
    /// The variable of the loop around.
    Local,
    Computed(Box<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComponentField {
    Id,
    Type,
    Digest,
    Response,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordField {
    Epoch,
    ObservedAt,
    Age,
    Provenance,
    Value,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Where the text of the path up to here ends.
    pub(crate) end: usize,
    pub(crate) kind: StepKind,
}

#[derive(Debug, Clone)]
pub(crate) enum StepKind {
    /// `.name` or `["name"]`
    Field(Box<str>),
    Index(Node),
}

/// A macro over a list, or over the keys of a map.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    pub(crate) kind: LoopKind,
    pub(crate) range: Node,
    /// Of `map(x, guard, body)`.
    pub(crate) guard: Option<Node>,
    pub(crate) body: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
}
