//! What a program reads: records, and paths within them.

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
