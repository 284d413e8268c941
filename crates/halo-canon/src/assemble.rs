//! Puts cells into an arena, children before parents, members in canonical order.

use std::cmp::Ordering;

use crate::Document;
use crate::arena::Cell;

/// What parser and builder share: the cells of open containers wait in `waiting`, and move to `cells` together when
/// their container closes, which makes siblings neighbours.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    pub(crate) text: String,
    cells: Vec<Cell>,
    waiting: Vec<Cell>,
    open: Vec<Open>,
    deepest: usize,
}

/// A container that is not closed yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) object: bool,
    /// Its first child in `waiting`.
    first: u32,
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
        // JSON of short keys and values has one cell for some ten bytes; the rest is left to growth.
        let cells = text.len() / 10 + 4;
        Self {
            text: text.to_owned(),
            cells: Vec::with_capacity(cells),
            waiting: Vec::with_capacity(64),
            open: Vec::with_capacity(16),
            deepest: 0,
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
    pub(crate) fn open(&mut self, object: bool) {
        let first = self.waiting.len() as u32;
        self.open.push(Open { object, first });
        self.deepest = self.deepest.max(self.open.len());
    }

    #[inline]
    pub(crate) fn close_array(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let (start, count) = self.flush(open.first as usize);
        self.waiting.push(Cell::Array { start, len: count });
    }

    #[inline]
    pub(crate) fn close_object(&mut self) -> Result<(), RepeatedKey> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let first = open.first as usize;
        let (members, _) = self.waiting[first..].as_chunks_mut::<2>();
        let text = self.text.as_bytes();
        if !ascending(text, members) {
            sort(text, members)?;
        }
        let (start, count) = self.flush(first);
        let len = count / 2;
        self.waiting.push(Cell::Object { start, len });
        Ok(())
    }

    /// Moves the cells from `first` on to their final place.
    #[inline]
    fn flush(&mut self, first: usize) -> (u32, u32) {
        let start = self.cells.len() as u32;
        let count = (self.waiting.len() - first) as u32;
        self.cells.extend_from_slice(&self.waiting[first..]);
        self.waiting.truncate(first);
        (start, count)
    }

    /// The document whose root is the only waiting cell.
    pub(crate) fn finish(mut self) -> Document {
        self.cells.append(&mut self.waiting);
        Document {
            text: self.text,
            cells: self.cells,
            depth: u32::try_from(self.deepest).unwrap_or(u32::MAX),
        }
    }
}

type Member = [Cell; 2];

#[inline]
fn key<'a>(text: &'a [u8], member: &Member) -> &'a [u8] {
    match member[0] {
        Cell::String { offset, len, .. } => &text[offset as usize..offset as usize + len as usize],
        _ => &[],
    }
}

#[inline]
fn ascending(text: &[u8], members: &[Member]) -> bool {
    members
        .windows(2)
        .all(|two| canonical_order(key(text, &two[0]), key(text, &two[1])) == Ordering::Less)
}

#[inline(never)]
fn sort(text: &[u8], members: &mut [Member]) -> Result<(), RepeatedKey> {
    members.sort_unstable_by(|a, b| canonical_order(key(text, a), key(text, b)));
    let same = members
        .windows(2)
        .find(|two| key(text, &two[0]) == key(text, &two[1]));
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

/// Compares UTF-8 texts by their UTF-16 code units, the member order of RFC 8785.
#[inline]
pub(crate) fn canonical_order(a: &[u8], b: &[u8]) -> Ordering {
    for (x, y) in a.iter().zip(b) {
        if x != y {
            return rank(*x).cmp(&rank(*y));
        }
    }
    a.len().cmp(&b.len())
}

/// UTF-8 and UTF-16 disagree in one case only: U+E000–U+FFFF (lead bytes EE and EF) stand after everything beyond
/// U+FFFF (lead bytes F0–F4), whose surrogates are smaller. Texts that differ do so first at a lead byte or behind
/// equal ones, and no other byte is as large as EE.
#[inline]
fn rank(byte: u8) -> u8 {
    if byte == 0xEE || byte == 0xEF {
        byte | 0x10
    } else {
        byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_members_are_ordered_by_utf16_code_units() {
        let texts = [
            "",
            "\0",
            "a",
            "aa",
            "b",
            "\u{7f}",
            "\u{80}",
            "\u{7ff}",
            "\u{800}",
            "\u{d7ff}",
            "\u{e000}",
            "\u{f000}",
            "\u{ffff}",
            "\u{10000}",
            "\u{10ffff}",
            "\u{ffff}a",
            "\u{10000}a",
            "x\u{ffff}",
            "x\u{10000}",
        ];
        for a in texts {
            for b in texts {
                let expected = a.encode_utf16().cmp(b.encode_utf16());
                assert_eq!(
                    canonical_order(a.as_bytes(), b.as_bytes()),
                    expected,
                    "{a:?} {b:?}"
                );
            }
        }
    }
}
