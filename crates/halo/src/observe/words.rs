//! The report for people.

use super::{Authorized, Compared, Report};
use crate::terminal::{Paint, Screen, plain};
use halo_runtime::dispatched::Fate;
use halo_vehicle::{
    compare::Answer,
    observe::{End, Observation, Others, Seen},
};
use std::io::{self, Write};

/// Most lines of a list: a run may have thousands, and `--json` has them all.
const SHOWN: usize = 100;

/// Prints it.
pub(super) fn print(report: &Report<'_>, screen: &mut Screen) -> io::Result<()> {
    head(report, screen)?;
    match report.run {
        None => {
            title(
                "setpoints that the vehicle had in OFFBOARD",
                Paint::Bold,
                screen,
            )?;
            list(&report.observation.seen, screen, |seen, screen| {
                writeln!(screen, "  {}", seen_words(seen))
            })?;
            others(&report.observation.others, screen)?;
            undecided(
                &report.observation.undecided,
                &report.observation.undecided_others,
                screen,
            )
        }
        Some(compared) => {
            compare(report.observation, compared, screen)?;
            answer(compared, screen)
        }
    }
}

fn head(report: &Report<'_>, screen: &mut Screen) -> io::Result<()> {
    let log = report.observation;
    writeln!(
        screen,
        "{}: ULog {}, {} setpoint samples, {} statuses",
        plain(&report.file.display().to_string()),
        log.version,
        log.setpoints,
        log.statuses
    )?;
    for interval in &log.offboard {
        let to = match interval.to_us {
            Some(to) => format!("to {}", seconds(to)),
            None => "to the end of the log".into(),
        };
        writeln!(
            screen,
            "  in OFFBOARD from {} {to}",
            seconds(interval.from_us)
        )?;
    }
    if log.offboard.is_empty() {
        writeln!(screen, "  never in OFFBOARD")?;
    }
    if log.dropouts.count > 0 {
        warn(
            &format!(
                "the logger could not write {} times, for {} ms in all: what came then is not in the log",
                log.dropouts.count, log.dropouts.millis
            ),
            screen,
        )?;
    }
    if log.cut_parts > 0 {
        warn(
            "a part of the log ends inside of a message, and data was appended behind it",
            screen,
        )?;
    }
    if let End::Cut { at, what } = &log.end {
        warn(
            &format!("the log is cut at byte {at}: {what}; all before it was read"),
            screen,
        )?;
    }
    for gap in &report.gaps {
        warn(gap, screen)?;
    }
    Ok(())
}

fn compare(log: &Observation, compared: &Compared, screen: &mut Screen) -> io::Result<()> {
    let found = &compared.comparison;
    title("accepted and authorized", Paint::Green, screen)?;
    list(&found.matched, screen, |matched, screen| {
        writeln!(screen, "  {}", seen_words(&matched.seen))?;
        list(&matched.by, screen, |by, screen| {
            writeln!(screen, "    {}", by_words(by))
        })
    })?;
    if !found.unmatched.is_empty() || log.others.samples > 0 {
        title("accepted, and NOBODY authorized it", Paint::Red, screen)?;
        list(&found.unmatched, screen, |seen, screen| {
            writeln!(screen, "  {}", seen_words(seen))
        })?;
        others(&log.others, screen)?;
    }
    undecided(&found.undecided, &log.undecided_others, screen)?;
    if !found.unseen.is_empty() {
        title(
            "authorized, and not seen at the vehicle",
            Paint::Yellow,
            screen,
        )?;
        list(&found.unseen, screen, |by, screen| {
            writeln!(screen, "  {}", by.fingerprint)?;
            writeln!(screen, "    {}", by_words(by))
        })?;
    }
    if !compared.unreadable.is_empty() {
        title(
            "authorized, and no setpoint that can be sent",
            Paint::Yellow,
            screen,
        )?;
        list(&compared.unreadable, screen, |one, screen| {
            let of = format!("{}/{}: {}", one.by.response.id, one.by.component, one.why);
            writeln!(screen, "  {}", plain(&of))
        })?;
    }
    if compared.erased > 0 {
        let erased = compared.erased;
        warn(
            &format!(
                "{erased} records of the journal were erased or rest on erased ones: what they authorized is not known"
            ),
            screen,
        )?;
    }
    Ok(())
}

fn answer(compared: &Compared, screen: &mut Screen) -> io::Result<()> {
    let (paint, words) = match compared.answer {
        Answer::Authorized => (Paint::Green, "all that the vehicle accepted was authorized"),
        Answer::Unauthorized => (Paint::Red, "the vehicle accepted what NOBODY authorized"),
        Answer::CannotTell => (
            Paint::Yellow,
            "the log does not show enough to say that all was authorized",
        ),
    };
    let words = screen.paint(paint, words);
    writeln!(
        screen,
        "{words}; {} records of the journal read",
        compared.records
    )
}

fn undecided(seen: &[Seen], rest: &Others, screen: &mut Screen) -> io::Result<()> {
    if seen.is_empty() && rest.samples == 0 {
        return Ok(());
    }
    title(
        "the log does not tell whether these fell in OFFBOARD",
        Paint::Yellow,
        screen,
    )?;
    list(seen, screen, |seen, screen| {
        writeln!(screen, "  {}", seen_words(seen))
    })?;
    others(rest, screen)
}

fn others(others: &Others, screen: &mut Screen) -> io::Result<()> {
    if others.samples == 0 {
        return Ok(());
    }
    let (from, to) = (seconds(others.first_us), seconds(others.last_us));
    let samples = others.samples;
    writeln!(
        screen,
        "  {samples} samples from {from} to {to} that control more than position and yaw"
    )
}

fn title(text: &str, paint: Paint, screen: &mut Screen) -> io::Result<()> {
    let text = screen.paint(paint, text);
    writeln!(screen, "{text}")
}

fn warn(text: &str, screen: &mut Screen) -> io::Result<()> {
    let text = screen.paint(Paint::Yellow, &plain(text));
    writeln!(screen, "  {text}")
}

/// The first of a list, and how many more there are.
fn list<T>(
    all: &[T],
    screen: &mut Screen,
    mut line: impl FnMut(&T, &mut Screen) -> io::Result<()>,
) -> io::Result<()> {
    for one in all.iter().take(SHOWN) {
        line(one, screen)?;
    }
    match all.len() {
        0 => writeln!(screen, "  none"),
        many if many > SHOWN => writeln!(screen, "  and {} more; --json has all", many - SHOWN),
        _ => Ok(()),
    }
}

fn seen_words(seen: &Seen) -> String {
    let stretches = match seen.stretches {
        1 => String::new(),
        many => format!(", in {many} stretches"),
    };
    format!(
        "{}  from {} to {}, {} samples{stretches}",
        seen.fingerprint,
        seconds(seen.first_us),
        seconds(seen.last_us),
        seen.samples
    )
}

fn by_words(authorized: &Authorized) -> String {
    let by = &authorized.by;
    let outcome = match by.outcome {
        Fate::Accepted => "accepted",
        Fate::Refused => "its adapter says that it refused",
        Fate::NotKnown => "nobody knows what its adapter did",
    };
    let binding = by
        .binding
        .map_or_else(|| "no binding".into(), |binding| binding.to_string());
    plain(&format!(
        "{}/{}, generation {}, to {} in record {} at {}: {outcome}; {binding}",
        by.response.id, by.component, by.generation, by.adapter, by.record, by.at
    ))
}

/// Microseconds since boot in seconds.
fn seconds(micros: u64) -> String {
    format!("{}.{:03} s", micros / 1_000_000, micros / 1_000 % 1_000)
}
