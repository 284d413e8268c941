//! From byte offsets to lines and columns and back, in one pass over the text.

use super::Mark;

/// A cursor that only ever moves over the text once as long as it is asked in order.
pub(super) struct Places<'t> {
    text: &'t str,
    /// Where it is.
    offset: usize,
    line: u32,
    column: u32,
}

impl<'t> Places<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            offset: 0,
            line: 1,
            column: 1,
        }
    }
    /// The place of a byte offset.
    pub(super) fn at_offset(&mut self, offset: usize) -> Mark {
        if offset < self.offset {
            *self = Self::new(self.text);
        }
        while self.offset < offset && self.step() {}
        self.mark()
    }
    /// The place of a line and column, both from 1; the end of the line where it is shorter.
    pub(super) fn at(&mut self, line: u32, column: u32) -> Mark {
        if (line, column) < (self.line, self.column) {
            *self = Self::new(self.text);
        }
        while self.line < line && self.step() {}
        while self.line == line && self.column < column {
            let before = (self.offset, self.line, self.column);
            if !self.step() {
                break;
            }
            if self.line != line {
                (self.offset, self.line, self.column) = before;
                break;
            }
        }
        self.mark()
    }
    fn mark(&self) -> Mark {
        Mark {
            line: self.line,
            column: self.column,
            offset: self.offset,
            len: 0,
        }
    }
    /// Moves on by one character. False at the end.
    fn step(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let Some(&byte) = bytes.get(self.offset) else {
            return false;
        };
        let lone_return = byte == b'\r' && bytes.get(self.offset + 1) != Some(&b'\n');
        if byte == b'\n' || lone_return {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        self.offset += match byte {
            0..=0x7f => 1,
            0x80..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        true
    }
}
