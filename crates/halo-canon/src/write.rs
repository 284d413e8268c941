//! The canonical writer (RFC 8785).

use std::ops::Range;

use crate::arena::{Cell, Document};
use crate::number::write_number;
use crate::text::{is_special, run_end};

/// A container that is being written.
struct Open {
    children: Range<u32>,
    object: bool,
}

/// Appends the canonical form of `cell` and all below it.
pub(crate) fn write_value(document: &Document, cell: Cell, out: &mut Vec<u8>) {
    let mut open: Vec<Open> = Vec::new();
    enter(document, cell, out, &mut open);
    while let Some(innermost) = open.last_mut() {
        let Some(index) = innermost.children.next() else {
            out.push(if innermost.object { b'}' } else { b']' });
            open.pop();
            continue;
        };
        let last = out.last().copied();
        if innermost.object {
            separate(last, b'{', out);
            write_scalar(document, document.cell(index), out);
            out.push(b':');
            let value = innermost.children.next().unwrap_or_default();
            enter(document, document.cell(value), out, &mut open);
        } else {
            separate(last, b'[', out);
            enter(document, document.cell(index), out, &mut open);
        }
    }
}

/// A comma, but for the first child.
fn separate(last: Option<u8>, opening: u8, out: &mut Vec<u8>) {
    if last != Some(opening) {
        out.push(b',');
    }
}

fn enter(document: &Document, cell: Cell, out: &mut Vec<u8>, open: &mut Vec<Open>) {
    match cell {
        Cell::Array { start, len } => {
            out.push(b'[');
            open.push(Open {
                children: start..start + len,
                object: false,
            });
        }
        Cell::Object { start, len } => {
            out.push(b'{');
            open.push(Open {
                children: start..start + 2 * len,
                object: true,
            });
        }
        scalar => write_scalar(document, scalar, out),
    }
}

#[inline]
fn write_scalar(document: &Document, cell: Cell, out: &mut Vec<u8>) {
    match cell {
        Cell::String {
            plain: true,
            offset,
            len,
        } => {
            // The quotes stand around it in the text.
            let begin = offset as usize - 1;
            let end = offset as usize + len as usize + 1;
            out.extend_from_slice(&document.text.as_bytes()[begin..end]);
        }
        Cell::String { offset, len, .. } => write_string(out, document.slice(offset, len)),
        Cell::Number(value) => write_number(out, value),
        Cell::Bool(true) => out.extend_from_slice(b"true"),
        Cell::Bool(false) => out.extend_from_slice(b"false"),
        _ => out.extend_from_slice(b"null"),
    }
}

/// Appends `text` as a JSON string in canonical form, quotes included.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut run = 0;
    out.push(b'"');
    loop {
        let end = run_end(bytes, run);
        out.extend_from_slice(&bytes[run..end]);
        let Some(byte) = bytes.get(end) else { break };
        write_escape(out, *byte);
        run = end + 1;
    }
    out.push(b'"');
}

/// Whether `text` in quotes is its canonical form.
pub(crate) fn needs_no_escape(text: &str) -> bool {
    run_end(text.as_bytes(), 0) == text.len()
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    debug_assert!(is_special(byte));
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        _ => {
            let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 0xF)];
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}
