//! Every finding with its place, text, message and hint.
//!
//! `diagnostics.txt` holds small bad catalogs, each followed by what must be said about it. `UPDATE=1` rewrites it.
#![allow(clippy::unwrap_used, reason = "tests")]

use halo_catalog::{Diagnostic, Severity, decode};
use std::fmt::Write as _;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/diagnostics.txt");

fn render(diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in diagnostics {
        let severity = match d.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        writeln!(
            out,
            "{}:{} {severity} at `{}`: {}",
            d.line, d.column, d.text, d.message
        )
        .unwrap();
        if let Some(hint) = &d.hint {
            writeln!(out, "    {hint}").unwrap();
        }
    }
    out
}

struct Case<'a> {
    name: &'a str,
    catalog: &'a str,
    expected: &'a str,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    text.split("=== ")
        .skip(1)
        .map(|case| {
            let (name, rest) = case.split_once('\n').unwrap();
            // The last one: a catalog may hold a document marker of its own.
            let at = rest.rfind("---\n").unwrap();
            Case {
                name,
                catalog: &rest[..at],
                expected: &rest[at + 4..],
            }
        })
        .collect()
}

#[test]
fn every_fault_is_reported_with_its_place() {
    let text = std::fs::read_to_string(FILE).unwrap();
    let mut updated = String::new();
    let mut wrong = Vec::new();
    for case in cases(&text) {
        let decoded = decode::catalog("catalog.yaml", case.catalog);
        let found = render(&decoded.diagnostics);
        let errors = decoded
            .diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error);
        assert_eq!(decoded.catalog.is_none(), errors, "{}", case.name);
        assert!(
            decoded.diagnostics.iter().all(|d| d.file == "catalog.yaml"),
            "{}",
            case.name
        );
        if found != case.expected {
            wrong.push(format!(
                "{}: expected\n{}found\n{found}",
                case.name, case.expected
            ));
        }
        write!(updated, "=== {}\n{}---\n{found}", case.name, case.catalog).unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(FILE, updated).unwrap();
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// The excerpt is what stands in the file at the place given.
#[test]
fn excerpts_stand_where_they_say() {
    let text = std::fs::read_to_string(FILE).unwrap();
    for case in cases(&text) {
        for d in decode::catalog("catalog.yaml", case.catalog).diagnostics {
            let line = case
                .catalog
                .lines()
                .nth(d.line as usize - 1)
                .unwrap_or_default();
            let rest: String = line.chars().skip(d.column as usize - 1).collect();
            let excerpt = d.text.trim_end_matches('…');
            assert!(
                rest.starts_with(excerpt),
                "{}: {d:?} is not at `{rest}`",
                case.name
            );
        }
    }
}

#[test]
fn ten_independent_faults_are_ten_findings() {
    let text = std::fs::read_to_string(FILE).unwrap();
    let case = cases(&text)
        .into_iter()
        .find(|case| case.name == "ten faults")
        .unwrap();
    let decoded = decode::catalog("catalog.yaml", case.catalog);
    let errors = decoded
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error);
    assert_eq!(errors.count(), 10);
}
