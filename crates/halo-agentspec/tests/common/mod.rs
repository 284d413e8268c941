//! What several tests need.
#![allow(dead_code, reason = "each test uses its part")]

use halo_catalog::{Diagnostic, Severity};
use std::fmt::Write as _;

/// Findings as text.
pub(crate) fn render(diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in diagnostics {
        let severity = match d.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let place = format!("{}:{}:{}", d.file, d.line, d.column);
        writeln!(out, "{place} {severity} at `{}`: {}", d.text, d.message).unwrap();
        if let Some(hint) = &d.hint {
            writeln!(out, "    {hint}").unwrap();
        }
    }
    out
}
