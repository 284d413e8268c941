//! The predicate language: CEL, compiled once into a bounded program that lists what it reads (P5, P6).
//!
//! Parsing is the `cel` crate's. Evaluation is ours: one meaning for a number however it is spelled, `has` that errs
//! on an absent operand, static reads, and a step budget that no catalog can lift.
//!
//! From text to result: `scan` bounds the text, `parse` makes a syntax tree, `lower` checks it (names, static reads,
//! kinds) and makes the `program` tree, `eval` runs that over borrowed payloads and records.

mod compile;
mod eval;
mod extent;
mod functions;
mod hints;
mod kinds;
mod lower;
mod parse;
mod path_text;
mod program;
mod reads;
mod scan;
mod value;

pub use compile::{
    CompileError, Environment, Expect, MAX_DEPTH, MAX_NODES, MAX_SOURCE_BYTES, Program, SourceDecl,
    Span,
};
pub use eval::{Component, EvalError, Inputs, MAX_STEPS, MAX_STRING_BYTES, Record, Records};
pub use path_text::parse_path;
pub use reads::{Index, PathSegment, ReadPath, RecordRef, RecordTable};
pub use value::Val;
