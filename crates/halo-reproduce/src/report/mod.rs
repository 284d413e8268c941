//! The report: rows beside the paper's, as JSON, CSV and one self-contained page.

mod html;
mod svg;

use crate::{
    Asked, Expected, ExpectedPanel, Fault, Manifest,
    figure::{Row, Same},
    panels::{Measured, PanelSpec},
};
use halo_canon::Digest;
use serde::Serialize;
use std::{fs, path::Path};

/// A picture of what a panel counted.
#[derive(Debug, Clone)]
pub enum Plot {
    /// Shares, one bar each: what, how many, of how many.
    Bars {
        /// Above it.
        title: String,
        /// From top to bottom.
        bars: Vec<(String, usize, usize)>,
    },
    /// What was measured over what a fit says: one point for each configuration.
    Fit {
        /// Above it.
        title: String,
        /// Fitted and measured.
        points: Vec<(f64, f64)>,
    },
    /// A response graph: prerequisites, whose own support holds, who is retained.
    Graph {
        /// Above it.
        title: String,
        /// Prerequisites of each node.
        parents: Vec<Vec<usize>>,
        /// Local support of each.
        supported: Vec<bool>,
        /// Whether each is retained.
        retained: Vec<bool>,
    },
}

/// What a panel came to.
#[derive(Debug, Clone, Serialize)]
pub struct PanelReport {
    /// Its name.
    pub panel: String,
    /// What it shows.
    pub title: String,
    /// Where its inputs come from.
    pub inputs: String,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Cases that are not in the figures, or differ.
    pub ledger: Vec<String>,
    /// Why it could not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Its pictures.
    #[serde(skip)]
    pub plots: Vec<Plot>,
}

/// All panels that ran.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// With what, and from what.
    pub manifest: Manifest,
    /// The panels.
    pub panels: Vec<PanelReport>,
}

impl Report {
    pub(crate) fn new(asked: &Asked, expected: &Expected) -> Self {
        Self {
            manifest: Manifest::new(asked, expected),
            panels: Vec::new(),
        }
    }

    /// Puts what was counted beside what was expected. What was expected and not counted differs.
    pub(crate) fn add(
        &mut self,
        panel: &PanelSpec,
        expected: Option<&ExpectedPanel>,
        outcome: Result<(), Fault>,
        measured: Measured,
    ) {
        let skipped = outcome.err().map(|fault| fault.0);
        let manifest = &self.manifest;
        let command = manifest.command(panel.name);
        let mut left = measured.figures;
        let mut rows = Vec::new();
        for wanted in expected.map_or(&[][..], |panel| &panel.rows) {
            let ours = left.remove(&wanted.row);
            // A row that a smaller run does not count is not expected of it.
            if skipped.is_some() || (ours.is_none() && manifest.quick && wanted.quick.is_none()) {
                continue;
            }
            rows.push(Row {
                panel: panel.name.to_owned(),
                row: wanted.row.clone(),
                paper: wanted.paper.clone(),
                same: wanted.judge(ours, manifest.quick),
                ours,
                expected: wanted.expected(manifest.quick).map(str::to_owned),
                command: command.clone(),
                note: wanted.note.clone(),
            });
        }
        rows.extend(left.into_iter().map(|(row, figure)| Row {
            panel: panel.name.to_owned(),
            row,
            paper: None,
            ours: Some(figure),
            expected: None,
            same: Same::Own,
            command: command.clone(),
            note: String::new(),
        }));
        self.panels.push(PanelReport {
            panel: panel.name.to_owned(),
            title: expected.map_or_else(String::new, |panel| panel.title.clone()),
            inputs: expected.map_or_else(String::new, |panel| panel.inputs.clone()),
            rows,
            ledger: measured.ledger,
            skipped,
            plots: measured.plots,
        });
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.panels.iter().flat_map(|panel| &panel.rows)
    }

    /// How many rows came to this.
    pub fn count(&self, same: Same) -> usize {
        self.rows().filter(|row| row.same == same).count()
    }

    /// Panels that could not run, with the reason.
    pub fn skipped(&self) -> impl Iterator<Item = (&str, &str)> {
        let skipped = |panel: &'_ PanelReport| panel.skipped.is_some();
        self.panels
            .iter()
            .filter(move |panel| skipped(panel))
            .map(|panel| (&*panel.panel, panel.skipped.as_deref().unwrap_or("")))
    }

    /// The last line: what is the same, what differs, what was skipped.
    pub fn summary(&self) -> String {
        let skipped: Vec<String> = self
            .skipped()
            .map(|(panel, why)| format!("{panel} ({why})"))
            .collect();
        let skipped = if skipped.is_empty() {
            "none".to_owned()
        } else {
            skipped.join(", ")
        };
        let foretold = match self.count(Same::Foretold) {
            0 => String::new(),
            some => format!(" and {some} more as said beforehand"),
        };
        format!(
            "{} rows: {} as the paper has them, {} differing{foretold}, {} of our own; skipped: {skipped}",
            self.rows().count(),
            self.count(Same::Same),
            self.count(Same::Differs),
            self.count(Same::Own)
        )
    }

    fn csv(&self) -> String {
        let mut text = String::from("panel,row,paper,ours,same,expected,command,note\n");
        for row in self.rows() {
            let same = match row.same {
                Same::Same => "same",
                Same::Own => "own",
                Same::Foretold => "foretold",
                Same::Differs => "differs",
            };
            let ours = row.ours.map(|ours| ours.to_string());
            let cells = [
                row.panel.as_str(),
                &row.row,
                row.paper.as_deref().unwrap_or(""),
                ours.as_deref().unwrap_or(""),
                same,
                row.expected.as_deref().unwrap_or(""),
                &row.command,
                &row.note,
            ];
            let cells: Vec<String> = cells.into_iter().map(quoted).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }
}

/// A CSV cell (RFC 4180).
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// Writes `report.json`, `rows.csv`, `report.html` and `manifest.json`, which has the SHA-256 of the others.
///
/// Errors: the folder cannot be written.
pub fn write(report: &mut Report, folder: &Path) -> Result<(), Fault> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        Fault::new(format!("{}: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let json = serde_json::to_string_pretty(&report.panels)
        .map_err(|error| Fault::new(error.to_string()))?;
    let outputs = [
        ("report.json", json),
        ("rows.csv", report.csv()),
        ("report.html", html::page(report)),
    ];
    for (name, text) in outputs {
        let path = folder.join(name);
        report
            .manifest
            .outputs
            .insert(name.to_owned(), Digest::of(text.as_bytes()).to_string());
        fs::write(&path, text).map_err(|error| failed(&path, &error))?;
    }
    let manifest = serde_json::to_string_pretty(&report.manifest)
        .map_err(|error| Fault::new(error.to_string()))?;
    let path = folder.join("manifest.json");
    fs::write(&path, manifest).map_err(|error| failed(&path, &error))
}
