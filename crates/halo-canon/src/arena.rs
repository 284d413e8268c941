//! Where a document's values live.

use std::fmt;
use std::ops::Range;

use crate::parse::{Limits, parse};
use crate::{JsonError, Value, order};

/// One JSON value and everything under it, immutable, in one arena.
///
/// Members stand in canonical order (UTF-16 code units, RFC 8785), numbers are IEEE doubles, so two documents are
/// equal exactly when their canonical bytes are. No operation recurses: a document may be as deep as memory allows.
#[derive(Clone)]
pub struct Document {
    /// The source text, followed by those strings whose source was escaped, unescaped.
    pub(crate) text: String,
    /// Children stand next to each other and before their parent, so the root is the last cell.
    pub(crate) cells: Vec<Cell>,
    /// Begin and end in `text` of each container whose source was canonical as it stood: it is written by one copy.
    pub(crate) spans: Vec<[u32; 2]>,
    pub(crate) depth: u32,
}

/// The place of a value in its [`Document`]; only meaningful together with that document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node(pub(crate) u32);

/// One value in the arena.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    /// Finite and never `-0`.
    Number(f64),
    /// A slice of the document's text. `plain`: it needs no escaping, and quotes stand around it in the text.
    /// `prefix` is what [`order::prefix`](crate::order::prefix) makes of it.
    String {
        plain: bool,
        offset: u32,
        len: u32,
        prefix: u32,
    },
    /// `len` cells from `start`. `span`: which of the document's spans is its canonical form, or [`NO_SPAN`].
    Array {
        start: u32,
        len: u32,
        span: u32,
    },
    /// `len` pairs of key and value from `start`, in canonical order. `span` as of an array.
    Object {
        start: u32,
        len: u32,
        span: u32,
    },
}

/// The source of a container was not canonical already.
pub(crate) const NO_SPAN: u32 = u32::MAX;

impl Cell {
    /// The string of `len` bytes of `text` from `offset` on. Texts have less than 4 GiB, see
    /// [`Fault::TooLong`](crate::Fault::TooLong).
    #[inline(always)]
    pub(crate) fn string(text: &[u8], offset: usize, len: usize, plain: bool) -> Self {
        Self::String {
            plain,
            offset: offset as u32,
            len: len as u32,
            prefix: order::prefix(text, offset, len),
        }
    }

    /// Where a container's children stand, keys included; nothing for a scalar.
    #[inline]
    pub(crate) fn children(self) -> Option<Range<u32>> {
        match self {
            Self::Array { start, len, .. } => Some(start..start + len),
            Self::Object { start, len, .. } => Some(start..start + 2 * len),
            _ => None,
        }
    }
}

// Parsing is bound by memory traffic: a wider cell would be felt.
const _: () = assert!(size_of::<Cell>() == 16);

impl Document {
    /// Parses exactly one RFC 8259 value, as P1 demands. `max_depth` counts objects and arrays; the outermost is 1.
    pub fn parse(text: &[u8], max_depth: u32) -> Result<Self, JsonError> {
        let limits = Limits {
            max_depth,
            large_integers: false,
        };
        parse(text, limits)
    }

    /// Parses what [`Value::write_canonical`] wrote, such as a journal's own records. Never for text from elsewhere.
    ///
    /// [`Document::parse`] refuses some canonical texts: it takes `1e20`, which RFC 8785 writes as
    /// `100000000000000000000`, an integer that P1 refuses. Here such an integer is the double it was written from, and
    /// depth has no limit.
    pub fn parse_canonical(text: &[u8]) -> Result<Self, JsonError> {
        let limits = Limits {
            max_depth: u32::MAX,
            large_integers: true,
        };
        parse(text, limits)
    }

    /// The outermost value.
    #[inline]
    pub fn root(&self) -> Value<'_> {
        self.at(Node((self.cells.len() as u32).saturating_sub(1)))
    }

    /// The value at `node`, which must come from this document. `null` for a node of another document that is out of range.
    #[inline]
    pub fn at(&self, node: Node) -> Value<'_> {
        Value {
            document: self,
            node,
        }
    }

    /// How deep objects and arrays are nested; 0 for a document that is a single scalar.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    #[inline]
    pub(crate) fn cell(&self, index: u32) -> Cell {
        *self.cell_ref(index)
    }

    #[inline]
    pub(crate) fn cell_ref(&self, index: u32) -> &Cell {
        self.cells.get(index as usize).unwrap_or(&Cell::Null)
    }

    /// The cells of a container's children, keys included; none for a scalar.
    #[inline]
    pub(crate) fn children(&self, cell: Cell) -> &[Cell] {
        match cell.children() {
            Some(range) => &self.cells[range.start as usize..range.end as usize],
            None => &[],
        }
    }

    /// The text of a string cell. Every such slice was cut at ASCII quotes or appended whole.
    #[inline]
    pub(crate) fn slice(&self, offset: u32, len: u32) -> &str {
        &self.text[offset as usize..offset as usize + len as usize]
    }

    /// [`Self::slice`] as bytes.
    #[inline]
    pub(crate) fn bytes(&self, offset: u32, len: u32) -> &[u8] {
        &self.text.as_bytes()[offset as usize..offset as usize + len as usize]
    }
}

/// Equality of canonical values.
impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.root() == other.root()
    }
}

/// The canonical text.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.root(), f)
    }
}
