//! Puts cells into an arena, children before parents, members in canonical order.

use std::cmp::Ordering;

use crate::Document;
use crate::arena::{Cell, NO_SPAN};
use crate::order::canonical_order;

/// What parser and builder share: the cells of open containers wait in `waiting`, and move to `cells` together when
/// their container closes, which makes siblings neighbours.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    pub(crate) text: String,
    cells: Vec<Cell>,
    waiting: Vec<Cell>,
    open: Vec<Open>,
    deepest: usize,
    spans: Vec<[u32; 2]>,
    /// How often the source differed from canonical form so far: white space, an escape, a number or an order that
    /// RFC 8785 writes otherwise. A container during which it did not grow is canonical as it stands.
    pub(crate) blemishes: u32,
}

/// A container that is not closed yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) object: bool,
    /// Its first child in `waiting`.
    first: u32,
    /// Where it begins in the source; [`NO_SPAN`] where there is no source.
    begin: u32,
    /// The count of blemishes then.
    blemishes: u32,
}

/// Two members of one object have this key, at these offsets of the assembler's text.
#[derive(Debug)]
pub(crate) struct RepeatedKey {
    pub(crate) key: String,
    pub(crate) offsets: [u32; 2],
}

impl Assembler {
    /// For a source of `text`; later strings are appended to it.
    pub(crate) fn for_text(text: &str) -> Self {
        // JSON of short keys and values has one cell for some eight bytes; the rest is left to growth.
        let cells = text.len() / 6 + 4;
        Self {
            text: text.to_owned(),
            cells: Vec::with_capacity(cells),
            waiting: Vec::with_capacity(64),
            open: Vec::with_capacity(16),
            deepest: 0,
            spans: Vec::new(),
            blemishes: 0,
        }
    }

    /// The innermost open container.
    #[inline]
    pub(crate) fn innermost(&self) -> Option<Open> {
        self.open.last().copied()
    }

    /// How many containers are open.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Whether nothing, or not exactly one value, stands outside every container.
    pub(crate) fn is_one_value(&self) -> bool {
        self.open.is_empty() && self.waiting.len() == 1
    }

    /// How many cells the innermost open container, or the outside, holds so far. Keys count.
    pub(crate) fn pending(&self) -> usize {
        let first = self.innermost().map_or(0, |open| open.first as usize);
        self.waiting.len() - first
    }

    /// Whether cells and text can still be addressed with 32 bits.
    pub(crate) fn fits(&self) -> bool {
        let limit = u32::MAX as usize;
        self.text.len() <= limit && self.cells.len() + self.waiting.len() < limit
    }

    #[inline]
    pub(crate) fn push(&mut self, cell: Cell) {
        self.waiting.push(cell);
    }

    #[inline]
    pub(crate) fn open(&mut self, object: bool, begin: u32) {
        let open = Open {
            object,
            first: self.waiting.len() as u32,
            begin,
            blemishes: self.blemishes,
        };
        self.open.push(open);
        self.deepest = self.deepest.max(self.open.len());
    }

    #[inline]
    pub(crate) fn close_array(&mut self, end: usize) {
        let Some(open) = self.open.pop() else { return };
        let (start, len) = self.flush(open.first as usize);
        let span = self.span(open, end);
        self.waiting.push(Cell::Array { start, len, span });
    }

    /// The span of a container that ends before `end`, if its source is canonical.
    #[inline]
    fn span(&mut self, open: Open, end: usize) -> u32 {
        if open.blemishes != self.blemishes || open.begin == NO_SPAN {
            return NO_SPAN;
        }
        self.spans.push([open.begin, end as u32]);
        (self.spans.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn close_object(&mut self, end: usize) -> Result<(), RepeatedKey> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let first = open.first as usize;
        let (members, _) = self.waiting[first..].as_chunks_mut::<2>();
        let text = self.text.as_bytes();
        if !ascending(text, members) {
            sort(text, members)?;
            self.blemishes += 1;
        }
        let (start, count) = self.flush(first);
        let len = count / 2;
        let span = self.span(open, end);
        self.waiting.push(Cell::Object { start, len, span });
        Ok(())
    }

    /// Moves the cells from `first` on to their final place.
    #[inline]
    fn flush(&mut self, first: usize) -> (u32, u32) {
        let start = self.cells.len() as u32;
        let count = (self.waiting.len() - first) as u32;
        match self.waiting[first..].as_chunks::<4>() {
            // Objects of two members are the most frequent container: a copy of known length needs no call.
            ([four], []) => self.cells.extend_from_slice(four),
            _ => self.cells.extend_from_slice(&self.waiting[first..]),
        }
        self.waiting.truncate(first);
        (start, count)
    }

    /// The document whose root is the only waiting cell.
    pub(crate) fn finish(mut self) -> Document {
        self.cells.append(&mut self.waiting);
        Document {
            text: self.text,
            cells: self.cells,
            spans: self.spans,
            depth: u32::try_from(self.deepest).unwrap_or(u32::MAX),
        }
    }
}

type Member = [Cell; 2];

fn key<'a>(text: &'a [u8], member: &Member) -> &'a [u8] {
    match member[0] {
        Cell::String { offset, len, .. } => &text[offset as usize..offset as usize + len as usize],
        _ => &[],
    }
}

#[inline]
fn compare(text: &[u8], a: &Member, b: &Member) -> Ordering {
    match (a[0], b[0]) {
        (Cell::String { prefix: a, .. }, Cell::String { prefix: b, .. }) if a != b => a.cmp(&b),
        _ => canonical_order(key(text, a), key(text, b)),
    }
}

#[inline]
fn ascending(text: &[u8], members: &[Member]) -> bool {
    members
        .windows(2)
        .all(|two| compare(text, &two[0], &two[1]) == Ordering::Less)
}

#[inline(never)]
fn sort(text: &[u8], members: &mut [Member]) -> Result<(), RepeatedKey> {
    members.sort_unstable_by(|a, b| compare(text, a, b));
    let same = members
        .windows(2)
        .find(|two| compare(text, &two[0], &two[1]) == Ordering::Equal);
    match same {
        None => Ok(()),
        Some(two) => Err(RepeatedKey {
            key: String::from_utf8_lossy(key(text, &two[0])).into_owned(),
            offsets: [offset(&two[0]), offset(&two[1])],
        }),
    }
}

fn offset(member: &Member) -> u32 {
    match member[0] {
        Cell::String { offset, .. } => offset,
        _ => 0,
    }
}
