//! `halo replay`: runs scenarios and prints their timelines.

mod files;
mod progress;

use crate::{
    check::counted,
    facts,
    source::{self, Fault, Inputs},
    terminal::{Paint, Screen, Verdict, plain},
    timeline,
};
use halo_catalog::Catalog;
use halo_scenario::{CatalogSource, Run, Scenario, Step, Variant};
use progress::Progress;
use serde::Serialize;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

/// What `halo replay` is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scenario files, or directories to look for `*.scenario.yaml`, `.yml` and `.json` in; `-` reads standard input.
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<PathBuf>,
}

/// A scenario that cannot be run, in place of its result.
#[derive(Serialize)]
struct NoResult<'a> {
    scenario: Option<()>,
    #[serde(flatten)]
    fault: &'a Fault,
}

/// How many came out how.
#[derive(Default)]
struct Tally {
    held: usize,
    failed: Vec<String>,
    unusable: usize,
}

/// Runs every scenario, whatever came of another.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    let mut inputs = Inputs::default();
    let mut tally = Tally::default();
    let (files, faults) = files::named(&args.scenarios);
    // A directory gives lines even when it holds one scenario: whoever reads them need not count first.
    let one_line = args.scenarios.len() > 1 || args.scenarios.iter().any(|path| path.is_dir());
    let mut progress = Progress::new(files.len());
    for fault in &faults {
        unusable(screen, fault, one_line, &mut tally)?;
    }
    for path in &files {
        let done = load(path, &mut inputs).map(|(scenario, catalog)| {
            let run = halo_scenario::run(&scenario, catalog.clone());
            (scenario, catalog, run)
        });
        progress.clear();
        match done {
            Err(fault) => unusable(screen, &fault, one_line, &mut tally)?,
            Ok((scenario, catalog, run)) => {
                match run.result.ok {
                    true => tally.held += 1,
                    false => tally.failed.push(plain(&path.display().to_string())),
                }
                match screen.json() {
                    true => screen.document(&run.result, one_line)?,
                    false => {
                        head(screen, path, &scenario)?;
                        print(screen, &scenario, &catalog, &run)?;
                    }
                }
            }
        }
        progress.step(screen)?;
    }
    if !screen.json() && files.len() > 1 {
        summary(screen, &tally)?;
    }
    Ok(tally.verdict())
}

impl Tally {
    fn verdict(&self) -> Verdict {
        if self.unusable > 0 {
            Verdict::Unusable
        } else if self.failed.is_empty() {
            Verdict::Fine
        } else {
            Verdict::No
        }
    }
}

fn unusable(
    screen: &mut Screen,
    fault: &Fault,
    one_line: bool,
    tally: &mut Tally,
) -> io::Result<()> {
    tally.unusable += 1;
    fault.show(screen);
    if screen.json() {
        let scenario = None;
        screen.document(&NoResult { scenario, fault }, one_line)?;
    }
    Ok(())
}

/// A scenario with the catalog that it names.
fn load(path: &Path, inputs: &mut Inputs) -> Result<(Scenario, Arc<Catalog>), Fault> {
    let input = inputs.text(path)?;
    let scenario = match halo_scenario::decode(&input.name, &input.text) {
        Ok(scenario) => scenario,
        Err(findings) => {
            return Err(Fault::findings(
                input,
                "the scenario is not valid",
                findings,
            ));
        }
    };
    let catalog = match &scenario.catalog {
        CatalogSource::File(name) => {
            // What comes from standard input has no place: its catalog is relative to the working directory.
            let folder = path.parent().filter(|_| path.as_os_str() != "-");
            let file = source::file_text(&folder.unwrap_or(Path::new("")).join(name))?;
            source::usable(halo_catalog::decode::catalog(&file.name, &file.text), file)?
        }
        CatalogSource::Inline(decoded) => match &decoded.catalog {
            Some(catalog) => catalog.clone(),
            None => {
                let findings = decoded.diagnostics.clone();
                return Err(Fault::findings(input, "the catalog is not valid", findings));
            }
        },
    };
    Ok((scenario, catalog))
}

fn head(screen: &mut Screen, path: &Path, scenario: &Scenario) -> io::Result<()> {
    let file = plain(&path.display().to_string());
    let title = match scenario.name.is_empty() {
        true => file.clone(),
        false => plain(&scenario.name),
    };
    let title = screen.paint(Paint::Bold, &title);
    let about = format!("{file}, starts {}", scenario.start);
    let about = screen.paint(Paint::Dim, &about);
    writeln!(screen, "{title}  {about}")?;
    if scenario.variant != Variant::HaloFull {
        let warning = format!(
            "     variant {}: a mechanism is taken out, see docs/VARIANTS.md",
            scenario.variant.name()
        );
        let warning = screen.paint(Paint::Yellow, &warning);
        writeln!(screen, "{warning}")?;
    }
    Ok(())
}

fn print(screen: &mut Screen, scenario: &Scenario, catalog: &Catalog, run: &Run) -> io::Result<()> {
    for entry in &run.timeline {
        let step = entry
            .step
            .checked_sub(1)
            .and_then(|index| scenario.steps.get(index));
        timeline::head(screen, entry, scenario.start)?;
        if let Some(at) = step {
            facts::show(screen, &at.step)?;
        }
        timeline::lines(screen, entry, &run.result, catalog)?;
        if entry.lines.is_empty() {
            let nothing = match step.map(|at| &at.step) {
                Some(Step::Expect(_)) => screen.paint(Paint::Green, "✓ as expected"),
                _ => screen.paint(Paint::Dim, "· nothing changes"),
            };
            writeln!(screen, "       {nothing}")?;
        }
    }
    timeline::ending(screen, &run.result)?;
    let verdict = match run.result.failures.len() {
        0 => screen.paint(Paint::Green, "✓ holds"),
        count => {
            let wrong = format!("✗ {} wrong", counted(count, "expectation"));
            screen.paint(Paint::Red, &wrong)
        }
    };
    writeln!(screen, "     {verdict}\n")
}

fn summary(screen: &mut Screen, tally: &Tally) -> io::Result<()> {
    let total = tally.held + tally.failed.len() + tally.unusable;
    for file in &tally.failed {
        let sign = screen.paint(Paint::Red, "✗");
        writeln!(screen, "{sign} {file}")?;
    }
    let mut text = format!("{}: {} as expected", counted(total, "scenario"), tally.held);
    if !tally.failed.is_empty() {
        text.push_str(&format!(", {} not", tally.failed.len()));
    }
    if tally.unusable > 0 {
        text.push_str(&format!(", {} could not be run", tally.unusable));
    }
    let text = screen.paint(Paint::Bold, &text);
    writeln!(screen, "{text}")
}
