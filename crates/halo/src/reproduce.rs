//! `halo reproduce`: the paper's evaluation, beside the paper's figures.

use crate::terminal::{Paint, Screen, Verdict};
use halo_reproduce::{Asked, Report, Row, Same};
use std::{
    io::{self, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

/// What `halo reproduce` is asked.
#[derive(Debug, clap::Args)]
#[command(after_help = panels())]
pub(crate) struct Args {
    /// Panels by name; all where none is named.
    #[arg(value_name = "PANEL")]
    panels: Vec<String>,
    /// Smaller sizes: rates are compared then, not counts.
    #[arg(long)]
    quick: bool,
    /// Where to write the report (JSON, CSV, one HTML page, manifest); nothing is written where nothing is said.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where generated inputs start.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Nobody needs to be told of less.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is told again.
const OFTEN: Duration = Duration::from_secs(5);

fn panels() -> String {
    let names: Vec<&str> = halo_reproduce::registry()
        .iter()
        .map(|panel| panel.name)
        .collect();
    format!("Panels: {}.", names.join(", "))
}

/// Runs the panels. A row that differs makes the answer no.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    let asked = Asked {
        panels: args.panels.clone(),
        quick: args.quick,
        seed: args.seed,
    };
    let done = halo_reproduce::run(&asked, &mut progress(screen));
    let mut report = match done {
        Ok(report) => report,
        Err(fault) => {
            screen.complain(&fault.to_string());
            return Ok(Verdict::Unusable);
        }
    };
    if let Some(folder) = &args.out
        && let Err(fault) = halo_reproduce::write(&mut report, folder)
    {
        screen.complain(&fault.to_string());
        return Ok(Verdict::Unusable);
    }
    if screen.json() {
        screen.document(&report, false)?;
    } else {
        print(&report, screen)?;
    }
    let fine = report.count(Same::Differs) == 0 && report.skipped().next().is_none();
    Ok(if fine { Verdict::Fine } else { Verdict::No })
}

/// Says which panel runs, and about how long the rest takes, to whoever waits.
fn progress(screen: &mut Screen) -> impl FnMut(&str, f64) {
    let begin = Instant::now();
    let mut told: Option<Instant> = None;
    move |panel, done| {
        let spent = begin.elapsed();
        let due = told.is_none_or(|told| told.elapsed() >= OFTEN);
        if panel.is_empty() || spent < PATIENCE || !due || done <= 0.0 {
            return;
        }
        told = Some(Instant::now());
        let left = spent.as_secs_f64() / done * (1.0 - done);
        screen.error_line(&format!(
            "{panel}: {:.0} % of all, about {left:.0} s left",
            done * 100.0
        ));
    }
}

fn print(report: &Report, screen: &mut Screen) -> io::Result<()> {
    let manifest = &report.manifest;
    let about = format!(
        "commit {}, {} build, {}, seed {}{}\nexpected rows {}, fixed before the run",
        manifest.commit,
        manifest.build,
        manifest.machine,
        manifest.seed,
        if manifest.quick { ", quick" } else { "" },
        manifest.expected
    );
    let about = screen.paint(Paint::Dim, &about);
    writeln!(screen, "{about}")?;
    for panel in &report.panels {
        let name = screen.paint(Paint::Bold, &panel.panel);
        writeln!(screen, "\n{name}  {}", panel.title)?;
        let inputs = screen.paint(Paint::Dim, &format!("inputs: {}", panel.inputs));
        writeln!(screen, "{inputs}")?;
        if let Some(why) = &panel.skipped {
            let why = screen.paint(Paint::Yellow, &format!("skipped: {why}"));
            writeln!(screen, "{why}")?;
        }
        let width = panel.rows.iter().map(|row| row.row.chars().count());
        let width = width.max().unwrap_or(0);
        for row in &panel.rows {
            print_row(row, width, screen)?;
        }
        if !panel.ledger.is_empty() && panel.rows.iter().any(|row| row.same == Same::Differs) {
            for line in panel.ledger.iter().take(10) {
                writeln!(screen, "    {}", crate::terminal::plain(line))?;
            }
        }
    }
    let summary = screen.paint(Paint::Bold, &report.summary());
    writeln!(screen, "\n{summary}")
}

fn print_row(row: &Row, width: usize, screen: &mut Screen) -> io::Result<()> {
    let same = match row.same {
        Same::Same => screen.paint(Paint::Green, "same"),
        Same::Own => screen.paint(Paint::Dim, "own"),
        Same::Foretold => screen.paint(
            Paint::Yellow,
            &format!("differs, as said beforehand: {}", row.note),
        ),
        Same::Differs => screen.paint(Paint::Red, "differs"),
    };
    let paper = row.paper.as_deref().unwrap_or("–");
    let ours = row
        .ours
        .map_or_else(|| "not counted".to_owned(), |ours| ours.to_string());
    writeln!(
        screen,
        "  {:width$}  {paper:>11}  {ours:>11}  {same}",
        row.row
    )
}
