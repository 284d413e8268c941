//! Making a part of a document a document of its own.

use std::ops::Range;

use crate::Document;
use crate::arena::{Cell, NO_SPAN};

/// Copies `root` and all below it out of `document`.
///
/// Between a container's opening and its close nothing reaches the arena but what is below it, so all of that is one
/// block, which ends with the container's children.
pub(crate) fn extract(document: &Document, root: Cell) -> Document {
    let block = block(document, root);
    let below = &document.cells[block.clone()];
    let mut plain = Span::default();
    let mut other = Span::default();
    for cell in below.iter().chain([&root]) {
        match *cell {
            // With its quotes.
            Cell::String {
                plain: true,
                offset,
                len,
                ..
            } => plain.cover(offset - 1, offset + len + 1),
            Cell::String { offset, len, .. } => other.cover(offset, offset + len),
            _ => {}
        }
    }
    let mut text = String::with_capacity(plain.len() + other.len());
    text.push_str(&document.text[plain.range()]);
    text.push_str(&document.text[other.range()]);
    let moved = |cell: &Cell| match *cell {
        Cell::String {
            plain: true,
            offset,
            len,
            prefix,
        } => {
            let offset = offset - plain.begin;
            Cell::String {
                plain: true,
                offset,
                len,
                prefix,
            }
        }
        Cell::String {
            offset,
            len,
            prefix,
            ..
        } => {
            let offset = offset - other.begin + plain.len() as u32;
            Cell::String {
                plain: false,
                offset,
                len,
                prefix,
            }
        }
        Cell::Array { start, len, .. } if len > 0 => Cell::Array {
            start: start - block.start as u32,
            len,
            span: NO_SPAN,
        },
        Cell::Object { start, len, .. } if len > 0 => Cell::Object {
            start: start - block.start as u32,
            len,
            span: NO_SPAN,
        },
        Cell::Array { .. } => Cell::Array {
            start: 0,
            len: 0,
            span: NO_SPAN,
        },
        Cell::Object { .. } => Cell::Object {
            start: 0,
            len: 0,
            span: NO_SPAN,
        },
        scalar => scalar,
    };
    let cells = below.iter().chain([&root]).map(moved).collect();
    let mut part = Document {
        text,
        cells,
        spans: Vec::new(),
        depth: 0,
    };
    part.depth = part.root().depth();
    part
}

/// Where everything below `root` stands.
fn block(document: &Document, root: Cell) -> Range<usize> {
    let Some(children) = root.children() else {
        return 0..0;
    };
    // Backwards, parents come before their children: once as many cells were seen as are known to be there, it is all.
    let mut begin = children.end as usize;
    let mut unseen = children.len();
    while unseen > 0 {
        begin -= 1;
        let below = document.cells[begin]
            .children()
            .map_or(0, |range| range.len());
        unseen = unseen - 1 + below;
    }
    begin..children.end as usize
}

/// The smallest part of a text that covers some strings.
#[derive(Default)]
struct Span {
    begin: u32,
    end: u32,
}

impl Span {
    fn cover(&mut self, begin: u32, end: u32) {
        if self.end == 0 {
            self.begin = begin;
        }
        self.begin = self.begin.min(begin);
        self.end = self.end.max(end);
    }

    fn range(&self) -> Range<usize> {
        self.begin as usize..self.end as usize
    }

    fn len(&self) -> usize {
        (self.end - self.begin) as usize
    }
}
