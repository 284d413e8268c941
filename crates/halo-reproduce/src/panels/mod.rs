//! The panels: one file each, one line each in [`registry`].

mod admission;
mod cost;
mod dags;
mod diversity;
mod gate;
mod git;
mod graphs;
mod protocol;
mod race;
mod recovery;
mod replay;
mod schedules;
mod structured;
mod support;
mod template;

pub(crate) use support::{catalog, instant};

use crate::{Asked, Fault, figure::Figure, report::Plot};
use std::collections::BTreeMap;

/// A panel.
#[derive(Debug)]
pub struct PanelSpec {
    /// Its name on the command line.
    pub name: &'static str,
    /// How much of the whole run it takes, about.
    pub weight: u32,
    pub(crate) run: fn(&mut Run<'_>) -> Result<(), Fault>,
}

/// Every panel, in the order of the report.
pub fn registry() -> &'static [PanelSpec] {
    const PANELS: &[PanelSpec] = &[
        panel("structured", 3, structured::run),
        panel("template", 8, template::run),
        panel("diversity", 8, diversity::run),
        panel("gate", 1, gate::run),
        panel("race", 1, race::run),
        panel("admission", 1, admission::run),
        panel("protocol", 1, protocol::run),
        panel("graphs", 1, graphs::run),
        panel("schedules", 20, schedules::run),
        panel("dags", 60, dags::run),
        panel("recovery", 1, recovery::run),
        panel("cost", 10, cost::run),
        panel("git", 60, git::run),
    ];
    PANELS
}

const fn panel(
    name: &'static str,
    weight: u32,
    run: fn(&mut Run<'_>) -> Result<(), Fault>,
) -> PanelSpec {
    PanelSpec { name, weight, run }
}

/// What a panel is given, and where it puts what it counts.
pub(crate) struct Run<'a> {
    pub(crate) quick: bool,
    pub(crate) seed: u64,
    figures: BTreeMap<String, Figure>,
    plots: Vec<Plot>,
    ledger: Vec<String>,
    tell: &'a mut dyn FnMut(f64),
}

/// What a panel counted.
pub(crate) struct Measured {
    pub(crate) figures: BTreeMap<String, Figure>,
    pub(crate) plots: Vec<Plot>,
    pub(crate) ledger: Vec<String>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(asked: &Asked, tell: &'a mut dyn FnMut(f64)) -> Self {
        Self {
            quick: asked.quick,
            seed: asked.seed,
            figures: BTreeMap::new(),
            plots: Vec::new(),
            ledger: Vec::new(),
            tell,
        }
    }

    /// So far this much of the panel is done, from 0 to 1.
    pub(crate) fn progress(&mut self, done: usize, of: usize) {
        (self.tell)(done as f64 / of.max(1) as f64);
    }

    /// What was counted for a row.
    pub(crate) fn count(&mut self, row: impl Into<String>, figure: Figure) {
        self.figures.insert(row.into(), figure);
    }

    pub(crate) fn of(&mut self, row: impl Into<String>, part: usize, whole: usize) {
        self.count(row, Figure::Of(part as u64, whole as u64));
    }

    pub(crate) fn plot(&mut self, plot: Plot) {
        self.plots.push(plot);
    }

    /// A case that is not in the figures, or differs from what it should be: whoever reads the report finds it.
    pub(crate) fn note(&mut self, line: impl Into<String>) {
        self.ledger.push(line.into());
    }

    pub(crate) fn finish(self) -> Measured {
        Measured {
            figures: self.figures,
            plots: self.plots,
            ledger: self.ledger,
        }
    }
}
