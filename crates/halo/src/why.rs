//! `halo explain RESPONSE COMPONENT`: which check, which field, its value then and now, and what would let it back.

use crate::{
    audit,
    terminal::{Paint, Screen, Verdict, plain},
};
use halo_core::{ComponentRef, Reason, Seed};
use halo_runtime::{
    explain::{Explanation, Question},
    machine::Machine,
    replay::replay,
};
use std::{
    io::{self, Write},
    path::PathBuf,
};

/// What `halo explain` is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The response's id.
    response: String,
    /// The component's id.
    component: String,
    /// The data directory; it may be in use.
    #[arg(long, default_value = "halo-data")]
    data: PathBuf,
    /// Whose response it is, where several have one of that id.
    #[arg(long)]
    owner: Option<String>,
}

/// Runs it.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    let (Some(reader), Some(again)) = (
        audit::open(&args.data, screen),
        audit::open(&args.data, screen),
    ) else {
        return Ok(Verdict::Unusable);
    };
    let total = reader.tip().map_or(0, |tip| tip.number);
    // Nothing can leave by what is read here, so its tokens need not be secret.
    let replayed = replay(reader, Seed::new([0; 32]), audit::told(screen, total));
    let machine = match replayed {
        Ok(Some(replayed)) => replayed.machine,
        Ok(None) => {
            screen.complain("the journal is empty");
            return Ok(Verdict::Unusable);
        }
        Err(error) => {
            screen.complain(&error.to_string());
            return Ok(Verdict::Unusable);
        }
    };
    let at = match find(&machine, args) {
        Ok(at) => at,
        Err(complaint) => {
            screen.complain(&complaint);
            return Ok(Verdict::Unusable);
        }
    };
    let explained = Question::about(&machine, at).map(|question| question.answer(&*again));
    match explained {
        Some(Ok(explanation)) if screen.json() => {
            screen.document(&explanation, false)?;
            Ok(Verdict::Fine)
        }
        Some(Ok(explanation)) => {
            print(&explanation, screen)?;
            Ok(Verdict::Fine)
        }
        Some(Err(error)) => {
            screen.complain(&error.to_string());
            Ok(Verdict::Unusable)
        }
        None => Ok(Verdict::Unusable),
    }
}

fn find(machine: &Machine, args: &Args) -> Result<ComponentRef, String> {
    let engine = machine.engine();
    let owners = engine.owners_of(&args.response);
    let owner = match (&args.owner, owners.as_slice()) {
        (Some(owner), _) => owner.as_str(),
        (None, [owner]) => owner,
        (None, []) => return Err(format!("the journal has no response `{}`", args.response)),
        (None, _) => {
            return Err(format!(
                "several have a response `{}`: say which with --owner {}",
                args.response,
                owners.join(" or ")
            ));
        }
    };
    let name = halo_core::NameRef {
        owner,
        id: &args.response,
    };
    engine
        .find(name, &args.component)
        .ok_or_else(|| format!("`{}` has no component `{}`", args.response, args.component))
}

fn print(explanation: &Explanation, screen: &mut Screen) -> io::Result<()> {
    let component = &explanation.component;
    let phase = screen.paint(Paint::Bold, component.phase);
    writeln!(
        screen,
        "{} / {} ({}), generation {}: {phase}",
        plain(&explanation.response.id),
        plain(&component.id),
        plain(&component.type_name),
        component.generation
    )?;
    for reason in &component.reasons {
        let line = screen.paint(Paint::Yellow, &plain(&in_words(reason)));
        writeln!(screen, "  because {line}")?;
    }
    if !explanation.records.is_empty() {
        writeln!(screen, "it rests on")?;
    }
    for record in &explanation.records {
        writeln!(screen, "  {}", plain(&record.address))?;
        for (when, value) in [
            ("at admission", &record.at_admission),
            ("at the end", &record.at_the_end),
            ("now", &record.now),
        ] {
            let value = value.as_ref().map_or("not known", |value| value.get());
            writeln!(screen, "    {when:13} {}", plain(value))?;
        }
    }
    writeln!(screen, "what happened")?;
    for happened in &explanation.history {
        let words = plain(&audit::in_words(&happened.decision));
        writeln!(screen, "  {:>7}  {}  {words}", happened.record, happened.at)?;
    }
    let back = screen.paint(Paint::Cyan, &plain(&explanation.way_back));
    writeln!(screen, "what now: {back}")
}

fn in_words(reason: &Reason) -> String {
    let mut words = reason.code.name().to_owned();
    if let Some(subject) = &reason.subject {
        words.push_str(&format!(" {subject}"));
    }
    if let Some(detail) = &reason.detail {
        words.push_str(&format!(" ({detail})"));
    }
    words
}
