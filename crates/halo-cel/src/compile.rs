//! From text to [`Program`].

use crate::extent::Extents;
use crate::kinds::{Kind, Kinds};
use crate::lower::Lowering;
use crate::program::Node;
use crate::{ReadPath, RecordTable, hints, parse, scan};

/// Longest source text in bytes.
pub const MAX_SOURCE_BYTES: usize = 4096;
/// Most nodes of one expression.
pub const MAX_NODES: usize = 512;
/// Deepest nesting of one expression.
pub const MAX_DEPTH: usize = 96;

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
    pub(crate) root: Node,
}

impl Program {
    /// Compiles `source`. Records that it reads are interned in `records`, none if it does not compile. Errors: all that
    /// are found.
    pub fn compile(
        source: &str,
        environment: Environment<'_>,
        expect: Expect,
        records: &mut RecordTable,
    ) -> Result<Self, Vec<CompileError>> {
        let scan = scan::scan(source)?;
        let (tree, info) = parse::parse(source)?;
        let extents = Extents::measure(source, &scan, &info, &tree).map_err(|error| vec![error])?;
        let records_before = records.records().len();
        let mut lowering = Lowering::new(source, environment, &extents, records);
        let typed = lowering.expression(&tree);
        lowering.require(&typed, expect);
        let (mut errors, reads, reads_clock) = lowering.finish();
        if !errors.is_empty() {
            records.truncate(records_before);
            errors.sort_by_key(|error| (error.span.start, error.span.end));
            errors.dedup();
            return Err(errors);
        }
        let mut slots: Vec<u16> = Vec::new();
        for read in &reads {
            if !slots.contains(&read.slot) {
                slots.push(read.slot);
            }
        }
        Ok(Self {
            source: source.to_string(),
            reads,
            slots,
            reads_clock,
            root: typed.node,
        })
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

    /// The text at `span`, clipped for a message.
    pub(crate) fn text(&self, span: Span) -> std::borrow::Cow<'_, str> {
        hints::clip(self.source.get(span.start..span.end).unwrap_or_default())
    }
}

impl Expect {
    /// The kinds that satisfy it.
    pub(crate) fn kinds(self) -> Kinds {
        match self {
            Self::Bool => Kinds::of(Kind::Bool),
            Self::String => Kinds::of(Kind::String),
            Self::Instant => Kinds::of(Kind::Timestamp).or(Kind::String),
        }
    }
}
