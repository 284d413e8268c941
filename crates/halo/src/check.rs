//! `halo check`: are these catalogs, policies and rules valid, and what do they say?

mod policy;

use crate::{
    excerpt,
    source::{Fault, Inputs, Text},
    terminal::{Paint, Screen, Verdict, plain},
};
use halo_agentspec::policy::{PolicyReport, RulesReport};
use halo_catalog::{Catalog, CatalogReport, Diagnostic, Severity};
use serde::Serialize;
use std::{
    fmt,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// What `halo check` is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Catalogs, AgentSpec policies, or files of AgentSpec rules; `-` reads standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The catalog that policies are for: its sources and types are what they may name.
    #[arg(long, value_name = "CATALOG")]
    catalog: Option<PathBuf>,
}

/// The document for `--json`. What can't be read is listed as a catalog.
#[derive(Default, Serialize)]
struct Document {
    catalogs: Vec<Checked>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<Checked>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<Checked>,
}

/// One file.
#[derive(Serialize)]
struct Checked {
    #[serde(skip)]
    kind: Kind,
    file: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    diagnostics: Vec<Diagnostic>,
    report: Option<Report>,
}

/// What a file is.
#[derive(Clone, Copy)]
enum Kind {
    Catalog,
    Policy,
    Rules,
}

/// What a valid file says.
#[derive(Serialize)]
#[serde(untagged)]
enum Report {
    Catalog(CatalogReport),
    Policy(PolicyReport),
    Rules(RulesReport),
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalog(report) => report.fmt(f),
            Self::Policy(report) => report.fmt(f),
            Self::Rules(report) => report.fmt(f),
        }
    }
}

/// Checks every file, whatever is wrong with another.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    let mut inputs = Inputs::default();
    let mut verdict = Verdict::Fine;
    let mut document = Document::default();
    let surroundings = match &args.catalog {
        Some(path) => match inputs.catalog(path) {
            Ok(catalog) => Some(catalog),
            Err(fault) => {
                fault.report(screen)?;
                return Ok(Verdict::Unusable);
            }
        },
        None => None,
    };
    for path in &args.files {
        let checked = match inputs.text(path) {
            Err(fault) => {
                verdict = verdict.max(Verdict::Unusable);
                fault.show(screen);
                unreadable(fault)
            }
            Ok(input) => check(path, input, surroundings.as_deref(), screen),
        };
        if !checked.ok {
            verdict = verdict.max(Verdict::No);
        }
        match (screen.json(), checked.kind) {
            (true, Kind::Catalog) => document.catalogs.push(checked),
            (true, Kind::Policy) => document.policies.push(checked),
            (true, Kind::Rules) => document.rules.push(checked),
            (false, _) => print(screen, &checked)?,
        }
    }
    if screen.json() {
        screen.document(&document, false)?;
    }
    Ok(verdict)
}

/// Checks one file as what it is, and shows what was found.
fn check(path: &Path, input: Text, catalog: Option<&Catalog>, screen: &mut Screen) -> Checked {
    let kind = policy::kind(&input);
    let (report, diagnostics) = match kind {
        Kind::Catalog => {
            let decoded = halo_catalog::decode::catalog(&input.name, &input.text);
            excerpt::show(screen, &decoded.diagnostics, &input.text);
            let report = decoded.catalog.as_deref().map(halo_catalog::report);
            (report.map(Report::Catalog), decoded.diagnostics)
        }
        Kind::Policy => policy::check(path, &input, catalog, screen),
        Kind::Rules => {
            let inspected = halo_agentspec::policy::inspect(&input.name, &input.text);
            excerpt::show(screen, &inspected.diagnostics, &input.text);
            (inspected.report.map(Report::Rules), inspected.diagnostics)
        }
    };
    Checked {
        kind,
        file: input.name,
        ok: report.is_some(),
        error: None,
        diagnostics,
        report,
    }
}

fn unreadable(fault: Fault) -> Checked {
    Checked {
        kind: Kind::Catalog,
        file: fault.file,
        ok: false,
        error: Some(fault.error),
        diagnostics: fault.diagnostics,
        report: None,
    }
}

fn print(screen: &mut Screen, checked: &Checked) -> io::Result<()> {
    if checked.error.is_some() {
        return Ok(());
    }
    let count = |severity| {
        let of = |finding: &&Diagnostic| finding.severity == severity;
        checked.diagnostics.iter().filter(of).count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let warned = match warnings {
        0 => String::new(),
        count => format!(", {}", counted(count, "warning")),
    };
    let verdict = match checked.ok {
        true => format!("{} valid{warned}", screen.paint(Paint::Green, "✓")),
        false => {
            let errors = counted(errors, "error");
            format!(
                "{} not valid: {errors}{warned}",
                screen.paint(Paint::Red, "✗")
            )
        }
    };
    let file = screen.paint(Paint::Bold, &checked.file);
    writeln!(screen, "{file}: {verdict}")?;
    if let Some(report) = &checked.report {
        for line in report.to_string().lines() {
            writeln!(screen, "{}", plain(line))?;
        }
    }
    writeln!(screen)
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
