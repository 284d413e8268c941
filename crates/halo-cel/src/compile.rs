//! From text to [`Program`].

use crate::{ReadPath, RecordTable};

/// Longest source text in bytes.
pub const MAX_SOURCE_BYTES: usize = 4096;
/// Most nodes of one expression.
pub const MAX_NODES: usize = 512;

/// A source that predicates may name.
#[derive(Debug, Clone)]
pub struct SourceDecl {
    /// Its name.
    pub name: String,
    /// Whether it holds a record for each key.
    pub keyed: bool,
}

/// What an expression may name.
#[derive(Debug, Clone, Copy)]
pub struct Environment<'a> {
    /// The catalog's sources, in catalog order; their position is their number.
    pub sources: &'a [SourceDecl],
    /// Whether `state`, `now` and `certificate` are in scope; without, only `payload` and `component` (P27).
    pub state: bool,
}

/// What an expression must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// A boolean: one that can statically be nothing but something else is an error at load.
    Bool,
    /// A string.
    String,
    /// A timestamp, or its RFC 3339 text.
    Instant,
}

/// A place in the source text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Why an expression is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CompileError {
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A compiled expression: immutable, bounded in size and in evaluation steps.
#[derive(Debug, Clone)]
pub struct Program {
    source: String,
    reads: Vec<ReadPath>,
    slots: Vec<u16>,
    reads_clock: bool,
}

impl Program {
    /// Compiles `source`. Records that it reads are interned in `records`. Errors: all that are found.
    pub fn compile(
        source: &str,
        environment: Environment<'_>,
        expect: Expect,
        records: &mut RecordTable,
    ) -> Result<Self, Vec<CompileError>> {
        let _ = (source, environment, expect, records);
        todo!()
    }
    /// The source text.
    pub fn source(&self) -> &str {
        &self.source
    }
    /// The state paths that it reads, each once, in order of appearance.
    pub fn reads(&self) -> &[ReadPath] {
        &self.reads
    }
    /// The record slots that it reads, each once.
    pub fn slots(&self) -> &[u16] {
        &self.slots
    }
    /// Whether it reads `now` or a record's `age`, so that its result may change as time passes.
    pub fn reads_clock(&self) -> bool {
        self.reads_clock
    }
}
