//! Predicates: compiled once, their faults placed inside the YAML scalar.

use super::Decoder;
use crate::yaml::{Mark, Yaml};
use halo_cel::{CompileError, Environment, Expect, Program, RecordTable, Span};

impl Decoder<'_> {
    /// Compiles the text of `node`; every fault is a finding with its place in the file.
    pub(super) fn predicate(
        &mut self,
        node: &Yaml,
        what: &str,
        state: bool,
        expect: Expect,
        records: &mut RecordTable,
    ) -> Option<Program> {
        let text = self.findings.text(node, what)?;
        let environment = Environment {
            sources: &self.declared,
            state,
        };
        match Program::compile(text, environment, expect, records) {
            Ok(program) => Some(program),
            Err(errors) => {
                // What it reads is not known now; nothing that it may read is called unused.
                self.sources.mark_named_in(text);
                for error in errors {
                    self.compile_error(node.mark, text, error);
                }
                None
            }
        }
    }

    /// Reports a fault of a predicate or path that is the scalar at `mark`, `text` being its value.
    pub(super) fn compile_error(&mut self, mark: Mark, text: &str, error: CompileError) {
        let mark = place(self.findings.source(), mark, text, error.span);
        let hint = error.hint.unwrap_or_else(|| DEFAULT_HINT.to_owned());
        self.findings.error_hint(mark, error.message, hint);
    }
}

/// What to do about an expression whose fault speaks for itself.
const DEFAULT_HINT: &str = "expressions are CEL: a check gives a boolean, as `payload.amount <= state.budget.value.left` \
                            does, a `once` key text, `end` and `valid_until` a timestamp";

/// The place of `span` of the value of a scalar, where the scalar is written in one line; else the scalar's start.
pub fn place(source: &str, mark: Mark, value: &str, span: Span) -> Mark {
    let raw = source
        .get(mark.offset..mark.offset + mark.len)
        .unwrap_or_default();
    let Some((start, end)) = locate(raw, value, span) else {
        return mark;
    };
    let before = raw.get(..start).unwrap_or_default().chars().count();
    Mark {
        line: mark.line,
        column: mark.column + u32::try_from(before).unwrap_or_default(),
        offset: mark.offset + start,
        len: end - start,
    }
}

/// The bytes of `raw` (a scalar as written) that `span` of its `value` stands in.
fn locate(raw: &str, value: &str, span: Span) -> Option<(usize, usize)> {
    if raw.contains(['\n', '\r']) {
        return None;
    }
    let inside = |quote: char| raw.strip_prefix(quote)?.strip_suffix(quote);
    let (base, body, escape) = if let Some(body) = inside('"') {
        (1, body, Some('\\'))
    } else if let Some(body) = inside('\'') {
        (1, body, Some('\''))
    } else {
        (0, raw, None)
    };
    let (mut start, mut end) = (None, None);
    let (mut at, mut of_value) = (0, 0);
    // Walks both texts side by side: a character as written, the character that it means.
    while let Some(written) = body.get(at..).filter(|rest| !rest.is_empty()) {
        if start.is_none() && of_value >= span.start {
            start = Some(at);
        }
        if of_value >= span.end.max(span.start + 1) {
            end = Some(at);
            break;
        }
        let meant = value.get(of_value..)?.chars().next()?;
        let first = written.chars().next()?;
        at += match (escape, first) {
            (Some('\\'), '\\') => escape_len(written)?,
            (Some('\''), '\'') => 2,
            _ if first == meant => first.len_utf8(),
            _ => return None,
        };
        of_value += meant.len_utf8();
    }
    let end = end.unwrap_or(body.len());
    let start = start.unwrap_or_else(|| {
        // Something is missing at the end: its last word is what can be shown.
        let text = body.trim_end();
        let space = text.rfind(char::is_whitespace);
        space.map_or(0, |at| {
            at + text
                .get(at..)
                .and_then(|s| s.chars().next())
                .map_or(1, char::len_utf8)
        })
    });
    Some((base + start, base + end.max(start)))
}

/// Bytes of an escape in double quotes.
fn escape_len(written: &str) -> Option<usize> {
    Some(match written.as_bytes().get(1)? {
        b'x' => 4,
        b'u' => 6,
        b'U' => 10,
        byte if byte.is_ascii() => 2,
        _ => return None,
    })
}
