//! What is wrong with one file, gathered.

use crate::{Diagnostic, Severity, yaml::Mark};

/// Collects what is wrong with one file.
#[derive(Debug)]
pub struct Findings<'t> {
    file: &'t str,
    text: &'t str,
    list: Vec<Diagnostic>,
}

/// Longest excerpt in a diagnostic, in characters.
const MAX_EXCERPT: usize = 120;

impl<'t> Findings<'t> {
    /// For a file as the caller names it, and its text.
    pub fn new(file: &'t str, text: &'t str) -> Self {
        Self {
            file,
            text,
            list: Vec::new(),
        }
    }
    /// The text of the file.
    pub fn source(&self) -> &'t str {
        self.text
    }
    /// Adds an error.
    pub fn error(&mut self, mark: Mark, message: impl Into<String>) {
        self.push(Severity::Error, mark, message.into(), None);
    }
    /// Adds an error with a way out.
    pub fn error_hint(&mut self, mark: Mark, message: impl Into<String>, hint: impl Into<String>) {
        self.push(Severity::Error, mark, message.into(), Some(hint.into()));
    }
    /// Adds a warning.
    pub fn warning(&mut self, mark: Mark, message: impl Into<String>, hint: impl Into<String>) {
        self.push(Severity::Warning, mark, message.into(), Some(hint.into()));
    }
    /// Adds a finding.
    pub fn push(&mut self, severity: Severity, mark: Mark, message: String, hint: Option<String>) {
        let text = self.excerpt(mark);
        self.list.push(Diagnostic {
            severity,
            file: self.file.to_owned(),
            line: mark.line,
            column: mark.column,
            text,
            message,
            hint,
        });
    }
    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }
    /// All findings in order of their place, each once.
    pub fn sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| (d.line, d.column));
        self.list.dedup();
        self.list
    }
    /// The offending text: a scalar as written, else what is left of the line; never more than one line.
    fn excerpt(&self, mark: Mark) -> String {
        let rest = self.text.get(mark.offset..).unwrap_or_default();
        let whole = match mark.len {
            0 => collection(rest),
            len => rest.get(..len).unwrap_or(rest),
        };
        let line = whole.lines().next().unwrap_or_default().trim_end();
        match line.char_indices().nth(MAX_EXCERPT) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line.to_owned(),
        }
    }
}

/// A `{…}` or `[…]` up to its end, where it ends in this line; else the text as it is.
fn collection(text: &str) -> &str {
    let mut open = 0_usize;
    let mut quote = None;
    for (at, char) in text.char_indices() {
        match (quote, char) {
            (_, '\n' | '\r') => break,
            (Some(closing), _) if char == closing => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(char),
            (None, '{' | '[') => open += 1,
            (None, '}' | ']') if open == 1 => return text.get(..=at).unwrap_or(text),
            (None, '}' | ']') => open = open.saturating_sub(1),
            // Not a collection in brackets.
            _ if open == 0 => break,
            _ => {}
        }
    }
    text
}
