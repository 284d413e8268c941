//! Expressions: their faults placed inside the YAML scalar.

use super::Decoder;
use halo_catalog::yaml::{Mark, Yaml};
use halo_cel::{CompileError, Span};

/// What to do about a fault that speaks for itself.
const DEFAULT_HINT: &str =
    "`lane` is CEL over `payload` and `component` that gives text, as `payload.to` does";

impl Decoder<'_> {
    /// Compiles the text of `node`; every fault is a finding with its place.
    pub(super) fn expression<T>(
        &mut self,
        node: &Yaml,
        what: &str,
        compile: impl Fn(&str) -> Result<T, Vec<CompileError>>,
    ) -> Option<T> {
        let text = self.findings.text(node, what)?;
        match compile(text) {
            Ok(compiled) => Some(compiled),
            Err(errors) => {
                for error in errors {
                    let mark = place(self.findings.source(), node.mark, text, error.span);
                    let hint = error.hint.unwrap_or_else(|| DEFAULT_HINT.to_owned());
                    self.findings.error_hint(mark, error.message, hint);
                }
                None
            }
        }
    }
}

/// The place of `span` of a scalar's value, where the scalar is written as it is meant, in one line; else the scalar.
fn place(source: &str, mark: Mark, value: &str, span: Span) -> Mark {
    let raw = source
        .get(mark.offset..mark.offset + mark.len)
        .unwrap_or_default();
    let quotes = usize::from(raw.starts_with(['"', '\'']));
    let body = raw.get(quotes..raw.len().saturating_sub(quotes));
    let before = value.get(..span.start);
    let (Some(body), Some(before), true) = (body, before, span.end > span.start) else {
        return mark;
    };
    if body != value {
        return mark;
    }
    let columns = quotes + before.chars().count();
    Mark {
        line: mark.line,
        column: mark.column + u32::try_from(columns).unwrap_or_default(),
        offset: mark.offset + quotes + span.start,
        len: span.end - span.start,
    }
}
