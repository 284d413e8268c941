//! From a place in rule text to a place in the file that holds it.

use crate::{
    fault::{Fault, Faults},
    policy::Origin,
    syntax::{Rule, Span},
};
use halo_catalog::{
    cursor::Findings,
    decode::place_within,
    yaml::{Mark, Yaml},
};

/// A text of rules, and where its lines stand in the file.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    /// The rules.
    pub(crate) text: &'a str,
    /// Where each line of the text starts in it.
    starts: Vec<usize>,
    scalar: Option<Scalar<'a>>,
}

/// A scalar of a YAML file.
#[derive(Debug)]
struct Scalar<'a> {
    source: &'a str,
    mark: Mark,
    /// Of a block, what each of its lines is in the file. Fewer lines than the text has where the file writes it
    /// otherwise (folded, or with escapes).
    lines: Vec<Line>,
}

/// A line of a block.
#[derive(Debug)]
struct Line {
    number: usize,
    /// Where the text begins, after the indentation.
    offset: usize,
    indent: usize,
}

impl<'a> Held<'a> {
    /// A file of its own.
    pub(crate) fn file(text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(ends).collect(),
            scalar: None,
        }
    }

    /// The scalar `node` of a YAML file; `text` is its value.
    pub(crate) fn scalar(source: &'a str, node: &Yaml, text: &'a str) -> Self {
        Self {
            scalar: Some(Scalar {
                source,
                mark: node.mark,
                lines: block(source, node.mark, text),
            }),
            ..Self::file(text)
        }
    }

    /// The place in the file.
    pub(crate) fn mark(&self, span: Span) -> Mark {
        let number = self.starts.partition_point(|start| *start <= span.start);
        let start = self.starts.get(number.wrapping_sub(1)).copied();
        let before = self.text.get(start.unwrap_or(0)..span.start);
        let before = before.unwrap_or_default();
        let columns = before.chars().count() + 1;
        let len = span.end.saturating_sub(span.start);
        let Some(scalar) = &self.scalar else {
            return Mark {
                line: narrow(number),
                column: narrow(columns),
                offset: span.start,
                len,
            };
        };
        match scalar.lines.get(number.wrapping_sub(1)) {
            Some(line) => Mark {
                line: narrow(line.number),
                column: narrow(line.indent + columns),
                offset: line.offset + before.len(),
                len,
            },
            None => {
                let (start, end) = (span.start, span.end);
                let span = halo_cel::Span { start, end };
                place_within(scalar.source, scalar.mark, self.text, span)
            }
        }
    }

    /// Where a rule stands.
    pub(crate) fn origin(&self, file: &str, rule: &Rule) -> Origin {
        Origin {
            rule: rule.id.text.clone(),
            file: file.to_owned(),
            line: self.mark(rule.id.span).line,
        }
    }

    /// Takes what was found in the text over, with places in the file.
    pub(crate) fn report(&self, findings: &mut Findings<'_>, faults: &Faults) {
        for Fault {
            severity,
            span,
            message,
            hint,
        } in faults.iter()
        {
            let mark = self.mark(*span);
            findings.push(*severity, mark, message.clone(), Some(hint.clone()));
        }
    }
}

/// The lines of a block: each is a line of the file, further to the right. `mark` stands in the first that is not empty.
fn block(source: &str, mark: Mark, text: &str) -> Vec<Line> {
    let empty = text.split('\n').take_while(|line| line.is_empty()).count();
    let first = (mark.line as usize).saturating_sub(1 + empty);
    let mut offset = 0;
    let mut lines = Vec::new();
    let mut of_text = text.split('\n');
    for (number, line) in source.split('\n').enumerate() {
        if number >= first {
            let Some(wanted) = of_text.next() else {
                break;
            };
            let written = line.trim_end_matches('\r');
            let indent = match written.strip_suffix(wanted.trim_end_matches('\r')) {
                Some(indent) if indent.trim_start_matches(' ').is_empty() => indent.len(),
                _ => break,
            };
            lines.push(Line {
                number: number + 1,
                offset: offset + indent,
                indent,
            });
        }
        offset += line.len() + 1;
    }
    lines
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
