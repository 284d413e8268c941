//! `halo bench`: what the core costs on this machine.

use crate::terminal::{Paint, Screen, Verdict};
use halo_bench::{BenchError, CorePanel, Figure, LedgerPanel, ServePanel};
use serde::Serialize;
use std::{
    io::{self, Write},
    path::Path,
    time::Instant,
};

/// What `halo bench` is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which panel.
    #[arg(value_enum, default_value = "core")]
    panel: Panel,
    /// On whose disk the journal is measured; the system's folder for temporary files where nothing is said.
    #[arg(long, value_name = "FOLDER")]
    directory: Option<std::path::PathBuf>,
}

/// The panels.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Panel {
    /// Admission, the gate, predicates and one event, in CPU time.
    Core,
    /// Durable dispatches beside a bare store, and start-up after a long history.
    Ledger,
    /// Submissions over HTTP beside a bare server.
    Serve,
}

/// Runs a panel. The figures are facts: whether they reach their goals does not change the exit code.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    match args.panel {
        Panel::Core => core(screen),
        Panel::Ledger => on_disk(
            args,
            screen,
            |on, told| halo_bench::ledger(on, told),
            print_ledger,
        ),
        Panel::Serve => on_disk(
            args,
            screen,
            |on, told| halo_bench::serve(on, told),
            print_serve,
        ),
    }
}

/// Says what is measured, and about how long the rest takes.
fn progress(screen: &mut Screen) -> impl FnMut(&str, f64) {
    let begin = Instant::now();
    move |what, done| {
        let left = match begin.elapsed().as_secs_f64() {
            elapsed if done > 0.0 => format!(", about {:.0} s left", elapsed / done * (1.0 - done)),
            _ => String::new(),
        };
        screen.error_line(&format!("measuring {what}{left}"));
    }
}

/// Runs a panel that needs a disk, and shows it.
fn on_disk<P: Serialize>(
    args: &Args,
    screen: &mut Screen,
    run: impl FnOnce(&Path, &mut dyn FnMut(&str, f64)) -> Result<P, BenchError>,
    print: impl FnOnce(&P, &mut Screen) -> io::Result<()>,
) -> io::Result<Verdict> {
    let directory = args.directory.clone().unwrap_or_else(std::env::temp_dir);
    let measured = run(&directory, &mut progress(screen));
    let panel = match measured {
        Ok(panel) => panel,
        Err(error) => {
            screen.complain(&format!(
                "on the disk of `{}`: {error}",
                directory.display()
            ));
            return Ok(Verdict::Unusable);
        }
    };
    if screen.json() {
        screen.document(&panel, false)?;
    } else {
        print(&panel, screen)?;
    }
    Ok(Verdict::Fine)
}

fn print_serve(panel: &ServePanel, screen: &mut Screen) -> io::Result<()> {
    let heading = screen.paint(Paint::Bold, panel.clock);
    writeln!(screen, "{heading}")?;
    for figure in &panel.figures {
        print_figure(figure, screen)?;
    }
    writeln!(
        screen,
        "submission over bare server: {:.2} (goal: at most 1.5)",
        panel.submit_over_bare
    )
}

fn print_ledger(panel: &LedgerPanel, screen: &mut Screen) -> io::Result<()> {
    let heading = screen.paint(Paint::Bold, panel.clock);
    writeln!(screen, "{heading}")?;
    for figure in &panel.figures {
        print_figure(figure, screen)?;
    }
    writeln!(
        screen,
        "dispatch over bare store: {:.2} at 64 in flight (goal: at least 0.6), {:.2} one at a time (goal: at most 1.3)",
        panel.dispatch_over_store_64, panel.dispatch_over_store_one
    )
}

fn core(screen: &mut Screen) -> io::Result<Verdict> {
    let panel = halo_bench::core(progress(screen));
    let Some(panel) = panel else {
        screen.complain("the panel's own catalogs do not load; this is a defect");
        return Ok(Verdict::Unusable);
    };
    if screen.json() {
        screen.document(&panel, false)?;
    } else {
        print(&panel, screen)?;
    }
    Ok(Verdict::Fine)
}

fn print(panel: &CorePanel, screen: &mut Screen) -> io::Result<()> {
    let heading = format!("{} build, {}, {}", panel.build, panel.clock, panel.machine);
    let heading = screen.paint(Paint::Bold, &heading);
    writeln!(screen, "{heading}")?;
    for figure in &panel.figures {
        print_figure(figure, screen)?;
    }
    writeln!(
        screen,
        "admission: {:.2} units from bytes, {:.2} from parsed values",
        panel.admission_bytes_units, panel.admission_scope_units
    )
}

fn print_figure(figure: &Figure, screen: &mut Screen) -> io::Result<()> {
    let Figure {
        name,
        median,
        unit,
        at_most,
        samples,
    } = figure;
    let goal = match at_most {
        None => String::new(),
        Some(goal) if median <= goal => {
            screen.paint(Paint::Green, &format!("within the goal of {goal:.3}"))
        }
        Some(goal) => screen.paint(Paint::Yellow, &format!("over the goal of {goal:.3}")),
    };
    writeln!(
        screen,
        "{name:30} {median:10.4} {unit:6} median of {:4}  {goal}",
        samples.len()
    )
}
