//! `halo observe ulog FILE`: what a vehicle accepted, as its own log says, and who was authorized to send it.

mod words;

use crate::{
    audit,
    terminal::{Screen, Verdict},
};
use halo_runtime::dispatched::{Dispatched, Found, dispatched};
use halo_vehicle::{
    BadSetpoint, Fingerprint, Setpoint,
    compare::{Answer, Comparison, compare},
    observe::{Observation, observe},
};
use serde::Serialize;
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// What `halo observe` is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Read a PX4 log: the setpoints that the vehicle had in OFFBOARD. Exit code 1: nobody authorized one of them.
    Ulog {
        /// The log; `-` reads standard input.
        file: PathBuf,
        /// The data directory of the run that flew it: who was authorized to send what. It may be in use.
        #[arg(long)]
        run: Option<PathBuf>,
        /// Only what this adapter was given: a run may fly several vehicles.
        #[arg(long, requires = "run")]
        adapter: Option<String>,
    },
}

/// A setpoint action that was authorized; `what` says which setpoint, or why it is none that can be sent.
type Authorization = Dispatched<Result<Setpoint, BadSetpoint>>;

/// The report, as `--json` has it.
#[derive(Debug, Serialize)]
struct Report<'a> {
    ok: bool,
    file: &'a Path,
    #[serde(flatten)]
    observation: &'a Observation,
    /// Why the log does not show everything.
    gaps: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a Compared>,
}

/// What the journal says of it.
#[derive(Debug, Serialize)]
struct Compared {
    answer: Answer,
    #[serde(flatten)]
    comparison: Comparison<Authorized>,
    /// Setpoint actions whose payload says nothing that can be sent.
    unreadable: Vec<Unreadable>,
    /// Records read.
    records: u64,
    /// Records that do not tell any more what they authorized.
    erased: u64,
}

/// An authorized setpoint.
#[derive(Debug, Serialize)]
struct Authorized {
    fingerprint: Fingerprint,
    #[serde(flatten)]
    by: Authorization,
}

/// A setpoint action whose setpoint can't be sent.
#[derive(Debug, Serialize)]
struct Unreadable {
    why: String,
    #[serde(flatten)]
    by: Authorization,
}

/// Runs it.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    let What::Ulog { file, run, adapter } = &args.what;
    let observation = match read(file) {
        Ok(observation) => observation,
        Err(error) => {
            screen.complain(&format!("{}: {error}", file.display()));
            return Ok(Verdict::Unusable);
        }
    };
    let compared = match run {
        None => None,
        Some(data) => match authorized(data, adapter.as_deref(), screen) {
            Some(found) => Some(held_against(&observation, found)),
            None => return Ok(Verdict::Unusable),
        },
    };
    let gaps = observation.gaps();
    let answer = match (&compared, gaps.is_empty()) {
        (Some(compared), _) => compared.answer,
        (None, true) => Answer::Authorized,
        (None, false) => Answer::CannotTell,
    };
    let report = Report {
        ok: answer == Answer::Authorized,
        file,
        observation: &observation,
        gaps,
        run: compared.as_ref(),
    };
    if screen.json() {
        screen.document(&report, false)?;
    } else {
        words::print(&report, screen)?;
    }
    Ok(match answer {
        Answer::Authorized => Verdict::Fine,
        Answer::Unauthorized => Verdict::No,
        Answer::CannotTell => Verdict::Unusable,
    })
}

fn read(file: &Path) -> io::Result<Observation> {
    match file == Path::new("-") {
        true => observe(io::stdin().lock()),
        false => observe(File::open(file)?),
    }
}

/// The setpoint actions of a journal; a complaint where it can't be read.
fn authorized(
    data: &PathBuf,
    adapter: Option<&str>,
    screen: &mut Screen,
) -> Option<Found<Result<Setpoint, BadSetpoint>>> {
    let reader = audit::open(data, screen)?;
    let total = reader.tip().map_or(0, |tip| tip.number);
    let take = |payload: halo_canon::Value<'_>| Setpoint::of_payload(payload).transpose();
    match dispatched(reader, take, audit::told(screen, total)) {
        Ok(mut found) => {
            found
                .dispatched
                .retain(|one| adapter.is_none_or(|adapter| one.adapter == adapter));
            Some(found)
        }
        Err(error) => {
            screen.complain(&error.to_string());
            None
        }
    }
}

fn held_against(
    observation: &Observation,
    found: Found<Result<Setpoint, BadSetpoint>>,
) -> Compared {
    let mut authorized = Vec::new();
    let mut unreadable = Vec::new();
    for by in found.dispatched {
        match &by.what {
            Ok(setpoint) => {
                let fingerprint = setpoint.fingerprint();
                authorized.push((fingerprint, Authorized { fingerprint, by }));
            }
            Err(why) => unreadable.push(Unreadable {
                why: why.to_string(),
                by,
            }),
        }
    }
    let comparison = compare(observation, authorized);
    Compared {
        answer: comparison.answer(observation),
        comparison,
        unreadable,
        records: found.records,
        erased: found.not_told,
    }
}
