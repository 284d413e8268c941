//! A run's timeline, printed for people: what came in, what was decided and why, what left, how it may come back.

use crate::{
    facts,
    terminal::{Paint, Screen, plain},
};
use halo_canon::Instant;
use halo_catalog::Catalog;
use halo_core::ComponentEntry;
use halo_scenario::{Entry, ScenarioResult, Tone};
use std::io::{self, Write};

/// The sign of a line, and how it stands out.
fn sign(tone: Tone) -> (&'static str, Paint) {
    match tone {
        Tone::Good => ("✓", Paint::Green),
        Tone::Bad => ("✗", Paint::Red),
        Tone::Wait => ("…", Paint::Yellow),
        Tone::Out => ("→", Paint::Blue),
        Tone::Note => ("·", Paint::Dim),
    }
}

/// Prints the head of a step: its number, how long after the start, and what it is.
pub(crate) fn head(screen: &mut Screen, entry: &Entry, start: Instant) -> io::Result<()> {
    let number = match entry.step {
        0 => "    ".to_owned(),
        step => format!("{step:>3}."),
    };
    let title = screen.paint(Paint::Bold, &plain(&entry.title));
    let since = entry.now.since(start);
    let when = screen.paint(Paint::Dim, &format!("+{since}"));
    writeln!(screen, "{number} {title}  {when}")
}

/// Prints what came of a step, and the predicates that decided it.
pub(crate) fn lines(
    screen: &mut Screen,
    entry: &Entry,
    result: &ScenarioResult,
    catalog: &Catalog,
) -> io::Result<()> {
    for line in &entry.lines {
        let (sign, paint) = sign(line.tone);
        let sign = screen.paint(paint, sign);
        writeln!(screen, "       {sign} {}", plain(&line.text))?;
        for predicate in facts::predicates(line, result, catalog) {
            let predicate = screen.paint(Paint::Dim, &plain(&predicate));
            writeln!(screen, "         {predicate}")?;
        }
    }
    Ok(())
}

/// Prints where everything stands when the run is over.
pub(crate) fn ending(screen: &mut Screen, result: &ScenarioResult) -> io::Result<()> {
    for response in &result.responses {
        let head = format!("     in the end, response {}:", plain(&response.response));
        let head = screen.paint(Paint::Dim, &head);
        writeln!(screen, "{head}")?;
        let width = |text: fn(&ComponentEntry) -> &str| {
            let lengths = response.components.iter().map(|c| text(c).chars().count());
            lengths.max().unwrap_or(0).min(24)
        };
        let (ids, types) = (width(|c| &c.id), width(|c| &c.type_name));
        for component in &response.components {
            let (sign, paint) = phase_sign(component.phase);
            let again = match component.generation {
                0 | 1 => String::new(),
                generation => format!(", generation {generation}"),
            };
            let end = if component.terminal { ", for good" } else { "" };
            let sign = screen.paint(paint, sign);
            let (id, type_name) = (plain(&component.id), plain(&component.type_name));
            let phase = component.phase;
            writeln!(
                screen,
                "       {sign} {id:ids$}  {type_name:types$}  {phase}{again}{end}"
            )?;
        }
    }
    Ok(())
}

/// The sign of a phase, and how it stands out.
pub(crate) fn phase_sign(phase: &str) -> (&'static str, Paint) {
    let tone = match phase {
        "emitted" | "dispatched" | "observed" => Tone::Out,
        "retained" => Tone::Good,
        "pending" | "proposed" | "in_doubt" => Tone::Wait,
        _ => Tone::Bad,
    };
    sign(tone)
}
