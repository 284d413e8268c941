//! The canonical writer (RFC 8785).

use std::slice;

use crate::arena::{Cell, Document};
use crate::number::write_number;
use crate::text::{is_special, run_end};

/// A container that is being written.
struct Open<'a> {
    rest: slice::Iter<'a, Cell>,
    object: bool,
}

/// Appends the canonical form of `cell` and all below it.
pub(crate) fn write_value(document: &Document, cell: &Cell, out: &mut Vec<u8>) {
    let text = document.text.as_bytes();
    if let Cell::String { .. } = cell {
        return write_string_cell(text, cell, out);
    }
    let mut outer = Vec::new();
    let Some(mut innermost) = begin(document, cell, out) else {
        return write_whole(document, cell, out);
    };
    loop {
        while let Some(mut cell) = innermost.rest.next() {
            if innermost.object {
                write_string_cell(text, cell, out);
                out.push(b':');
                cell = innermost.rest.next().unwrap_or(&Cell::Null);
            }
            match cell {
                Cell::String { .. } => write_string_cell(text, cell, out),
                _ => match begin(document, cell, out) {
                    Some(inner) => {
                        outer.push(std::mem::replace(&mut innermost, inner));
                        continue;
                    }
                    None => write_whole(document, cell, out),
                },
            }
            out.push(b',');
        }
        end(innermost.object, out);
        match outer.pop() {
            Some(container) => innermost = container,
            None => return,
        }
        out.push(b',');
    }
}

/// Writes the bracket that opens `cell`, if it is a container that must be written piece by piece.
#[inline]
fn begin<'a>(document: &'a Document, cell: &Cell, out: &mut Vec<u8>) -> Option<Open<'a>> {
    let (object, span) = match cell {
        Cell::Array { span, .. } => (false, *span),
        Cell::Object { span, .. } => (true, *span),
        _ => return None,
    };
    if document.spans.get(span as usize).is_some() {
        return None;
    }
    out.push(if object { b'{' } else { b'[' });
    let rest = document.children(*cell).iter();
    Some(Open { rest, object })
}

/// Writes the bracket that closes a container, over the comma behind its last child if it has any.
#[inline]
fn end(object: bool, out: &mut Vec<u8>) {
    let bracket = if object { b'}' } else { b']' };
    match out.last_mut() {
        Some(comma @ b',') => *comma = bracket,
        _ => out.push(bracket),
    }
}

/// Writes a scalar, or a container whose source is canonical as it stands.
#[inline(never)]
fn write_whole(document: &Document, cell: &Cell, out: &mut Vec<u8>) {
    let text = document.text.as_bytes();
    match *cell {
        Cell::Array { span, .. } | Cell::Object { span, .. } => {
            if let Some([begin, end]) = document.spans.get(span as usize) {
                out.extend_from_slice(&text[*begin as usize..*end as usize]);
            }
        }
        Cell::String { .. } => write_string_cell(text, cell, out),
        Cell::Number(value) => write_number(out, value),
        Cell::Bool(true) => out.extend_from_slice(b"true"),
        Cell::Bool(false) => out.extend_from_slice(b"false"),
        _ => out.extend_from_slice(b"null"),
    }
}

#[inline(always)]
fn write_string_cell(text: &[u8], cell: &Cell, out: &mut Vec<u8>) {
    let Cell::String {
        plain, offset, len, ..
    } = *cell
    else {
        return;
    };
    let (offset, len) = (offset as usize, len as usize);
    if plain {
        // The quotes stand around it in the text.
        copy(text, offset - 1, len + 2, out);
    } else {
        write_escaped(&text[offset..offset + len], out);
    }
}

/// Appends `len` bytes of `text`. Most strings are short, and a copy of known length is a few instructions where a
/// call to `memcpy` is many.
#[inline(always)]
fn copy(text: &[u8], begin: usize, len: usize, out: &mut Vec<u8>) {
    let rest = &text[begin..];
    match rest.first_chunk::<16>() {
        Some(chunk) if len <= chunk.len() => {
            out.extend_from_slice(chunk);
            out.truncate(out.len() - (chunk.len() - len));
        }
        _ => out.extend_from_slice(&rest[..len]),
    }
}

#[inline(never)]
fn write_escaped(text: &[u8], out: &mut Vec<u8>) {
    let mut run = 0;
    out.push(b'"');
    loop {
        let end = run_end(text, run);
        out.extend_from_slice(&text[run..end]);
        let Some(byte) = text.get(end) else { break };
        write_escape(out, *byte);
        run = end + 1;
    }
    out.push(b'"');
}

/// Appends `text` as a JSON string in canonical form, quotes included.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    write_escaped(text.as_bytes(), out);
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
