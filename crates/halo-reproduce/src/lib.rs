//! The paper's evaluation, run through this project's engines and printed beside the paper's figures.
//!
//! A panel counts; it does not judge. What is expected stands in `expected/rows.json`, whose digest is recorded beside it
//! and checked at every run (`expected.rs`). A row that differs is printed as differing.
//!
//! To add a panel: a file in `panels/`, a line in [`registry`], its rows in `expected/rows.json` (and the file's digest).

mod cohort;
mod expected;
mod figure;
mod manifest;
mod panels;
mod prng;
mod report;
mod trial;

pub use expected::{Expected, ExpectedPanel, ExpectedRow};
pub use figure::{Figure, Row, Same};
pub use manifest::Manifest;
pub use panels::{PanelSpec, registry};
pub use report::{Plot, Report, write};

use panels::Run;
use std::collections::BTreeMap;

/// What went wrong apart from figures: a panel that cannot run says why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

impl Fault {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// What is asked of a run.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Panels by name; none: all.
    pub panels: Vec<String>,
    /// Smaller sizes, for tests.
    pub quick: bool,
    /// Where generated inputs start.
    pub seed: u64,
}

/// Runs the panels. `tell` hears the panel at hand and how much of all is done, from 0 to 1.
///
/// Errors: an unknown panel, or expected rows that are not those whose digest is recorded.
pub fn run(asked: &Asked, tell: &mut dyn FnMut(&str, f64)) -> Result<Report, Fault> {
    let expected = Expected::recorded()?;
    let chosen = chosen(&asked.panels)?;
    let weight = |panel: &PanelSpec| f64::from(panel.weight);
    let total: f64 = chosen.iter().map(|panel| weight(panel)).sum();
    let mut done = 0.0;
    let mut report = Report::new(asked, &expected);
    for panel in chosen {
        tell(panel.name, done / total);
        let share = weight(panel) / total;
        let mut told = |part: f64| tell(panel.name, done / total + share * part);
        let mut run = Run::new(asked, &mut told);
        let outcome = (panel.run)(&mut run);
        let measured = run.finish();
        report.add(panel, expected.panel(panel.name), outcome, measured);
        done += weight(panel);
    }
    tell("", 1.0);
    Ok(report)
}

fn chosen(names: &[String]) -> Result<Vec<&'static PanelSpec>, Fault> {
    if names.is_empty() {
        return Ok(registry().iter().collect());
    }
    let by_name: BTreeMap<&str, &PanelSpec> =
        registry().iter().map(|panel| (panel.name, panel)).collect();
    let find = |name: &String| {
        by_name.get(name.as_str()).copied().ok_or_else(|| {
            let known: Vec<&str> = registry().iter().map(|panel| panel.name).collect();
            Fault::new(format!(
                "there is no panel `{name}`; known are {}",
                known.join(", ")
            ))
        })
    };
    names.iter().map(find).collect()
}
