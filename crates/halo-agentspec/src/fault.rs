//! What is wrong with a text of rules, before it is known in which file the text stands.

use crate::syntax::Span;
use halo_catalog::Severity;

/// Most findings of one text; past them nothing more is read.
pub(crate) const MAX_FAULTS: usize = 200;

/// One finding.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) severity: Severity,
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Fault {
    pub(crate) fn error(span: Span, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            span,
            message: message.into(),
            hint: hint.into(),
        }
    }

    pub(crate) fn warning(span: Span, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(span, message, hint)
        }
    }
}

/// All findings of one text.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    list: Vec<Fault>,
}

impl Faults {
    pub(crate) fn push(&mut self, fault: Fault) {
        match self.list.len() {
            len if len + 1 < MAX_FAULTS => self.list.push(fault),
            len if len < MAX_FAULTS => self.list.push(Fault::error(
                fault.span,
                "there are more findings than are listed",
                "mend the others first",
            )),
            _ => {}
        }
    }
    /// Whether more would not be kept.
    pub(crate) fn full(&self) -> bool {
        self.list.len() >= MAX_FAULTS
    }
    pub(crate) fn has_errors(&self) -> bool {
        self.list
            .iter()
            .any(|fault| fault.severity == Severity::Error)
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.list.iter()
    }
}
