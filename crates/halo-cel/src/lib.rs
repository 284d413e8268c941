//! The predicate language: CEL, compiled once into a bounded program that lists what it reads (P5, P6).
//!
//! Parsing is the `cel` crate's. Evaluation is ours: one meaning for a number however it is spelled, `has` that errs
//! on an absent operand, static reads, and a step budget that no catalog can lift.

mod compile;
mod eval;
mod reads;
mod value;

pub use compile::{
    CompileError, Environment, Expect, MAX_NODES, MAX_SOURCE_BYTES, Program, SourceDecl, Span,
};
pub use eval::{Component, EvalError, Inputs, Record, Records};
pub use reads::{Index, PathSegment, ReadPath, RecordRef, RecordTable};
pub use value::Val;
