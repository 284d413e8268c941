//! What a program reads: records, and paths within them.

use crate::SourceDecl;
use std::fmt::{self, Write};

/// An index in a path or on `state` (formats.md §1): everything it may be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Index {
    /// `[payload.a.b]`
    Payload(Vec<String>),
    /// `[component.id]`
    ComponentId,
    /// `[component.response]`
    ComponentResponse,
    /// `[component.digest]`
    ComponentDigest,
    /// A string literal.
    Literal(String),
    /// A number literal; an index of an array only.
    Number(u32),
}

/// One record of the state, as a type names it: a source, with an index where the source is keyed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordRef {
    /// Position of the source among the catalog's sources.
    pub source: u16,
    /// The key, of a keyed source.
    pub index: Option<Index>,
}

/// The distinct records that one type reads; a program refers to them by position.
#[derive(Debug, Clone, Default)]
pub struct RecordTable {
    records: Vec<RecordRef>,
}

impl RecordTable {
    /// The slot of `record`, a new one if it was not there yet.
    pub fn intern(&mut self, record: RecordRef) -> u16 {
        if let Some(slot) = self.records.iter().position(|known| *known == record) {
            return slot as u16;
        }
        self.records.push(record);
        (self.records.len() - 1) as u16
    }
    /// All records, by slot.
    pub fn records(&self) -> &[RecordRef] {
        &self.records
    }
    /// Forgets the records after the first `len`: those of a program that did not compile.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.records.truncate(len);
    }
}

/// A step below a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathSegment {
    /// `.name`
    Field(String),
    /// `[index]`
    Index(Index),
    /// Everything below: the step is computed.
    Any,
}

/// A state path that a program reads, for people: `state.legs[payload.leg].value.open`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReadPath {
    /// Slot in the [`RecordTable`].
    pub slot: u16,
    /// The steps below the record, the first being `epoch`, `value`, ….
    pub segments: Vec<PathSegment>,
}

/// As a catalog spells it, without the brackets: `payload.a.b`, `component.id`, `"L3"`, `0`.
impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Payload(fields) => {
                f.write_str("payload")?;
                fields.iter().try_for_each(|field| write_field(f, field))
            }
            Self::ComponentId => f.write_str("component.id"),
            Self::ComponentResponse => f.write_str("component.response"),
            Self::ComponentDigest => f.write_str("component.digest"),
            Self::Literal(text) => write_quoted(f, text),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// The step as it follows what stands before it: `.name`, `["a b"]`, `[payload.leg]`, `[*]`.
impl fmt::Display for PathSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write_field(f, name),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Any => f.write_str("[*]"),
        }
    }
}

impl RecordRef {
    /// As a catalog's paths spell it: `legs[payload.leg]`. `sources` are the catalog's.
    pub fn describe(&self, sources: &[SourceDecl]) -> String {
        let mut text = match sources.get(usize::from(self.source)) {
            Some(source) => source.name.clone(),
            None => format!("source {}", self.source),
        };
        if let Some(index) = &self.index {
            let _ = write!(text, "[{index}]");
        }
        text
    }
}

impl ReadPath {
    /// As a predicate spells it: `state.legs[payload.leg].value.open`. `sources` are the catalog's, `table` the one that
    /// the program was compiled with.
    pub fn describe(&self, sources: &[SourceDecl], table: &RecordTable) -> String {
        let mut text = match table.records().get(usize::from(self.slot)) {
            Some(record) => format!("state.{}", record.describe(sources)),
            None => format!("record {}", self.slot),
        };
        for segment in &self.segments {
            let _ = write!(text, "{segment}");
        }
        text
    }
}

/// `.name`, or `["…"]` where the name could not stand after a dot.
fn write_field(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if plain && !name.is_empty() {
        return write!(f, ".{name}");
    }
    f.write_char('[')?;
    write_quoted(f, name)?;
    f.write_char(']')
}

fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for char in text.chars() {
        if matches!(char, '"' | '\\') {
            f.write_char('\\')?;
        }
        f.write_char(char)?;
    }
    f.write_char('"')
}
