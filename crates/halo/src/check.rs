//! `halo check`: are these catalogs valid, and what do they say?

use crate::{
    excerpt,
    source::{Fault, Inputs},
    terminal::{Paint, Screen, Verdict, plain},
};
use halo_catalog::{CatalogReport, Diagnostic, Severity};
use serde::Serialize;
use std::{
    io::{self, Write},
    path::PathBuf,
};

/// What `halo check` is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Catalog files; `-` reads standard input.
    #[arg(required = true, value_name = "CATALOG")]
    catalogs: Vec<PathBuf>,
}

/// The document for `--json`.
#[derive(Serialize)]
struct Document {
    catalogs: Vec<Checked>,
}

/// One file.
#[derive(Serialize)]
struct Checked {
    file: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    diagnostics: Vec<Diagnostic>,
    report: Option<CatalogReport>,
}

/// Checks every file, whatever is wrong with another.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    let mut inputs = Inputs::default();
    let mut verdict = Verdict::Fine;
    let mut catalogs = Vec::new();
    for path in &args.catalogs {
        let checked = match inputs.decoded(path) {
            Err(fault) => {
                verdict = verdict.max(Verdict::Unusable);
                fault.show(screen);
                unreadable(fault)
            }
            Ok((decoded, input)) => {
                excerpt::show(screen, &decoded.diagnostics, &input.text);
                let report = decoded.catalog.as_deref().map(halo_catalog::report);
                Checked {
                    file: input.name,
                    ok: report.is_some(),
                    error: None,
                    diagnostics: decoded.diagnostics,
                    report,
                }
            }
        };
        if !checked.ok {
            verdict = verdict.max(Verdict::No);
        }
        match screen.json() {
            true => catalogs.push(checked),
            false => print(screen, &checked)?,
        }
    }
    if screen.json() {
        screen.document(&Document { catalogs }, false)?;
    }
    Ok(verdict)
}

fn unreadable(fault: Fault) -> Checked {
    Checked {
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
