//! `halo admit`: one admission decision, explained. Nothing leaves and nobody is told.

use crate::{
    explain::Explainer,
    source::{Fault, Inputs},
    terminal::{Paint, Screen, Verdict, plain},
    timeline,
};
use halo_canon::{Document, Instant};
use halo_catalog::{
    Catalog, Diagnostic, Severity,
    yaml::{self, Data, Mark},
};
use halo_core::{
    Engine, Handled, Input, ObligationEntry, Options, RawText, Reason, ResponseEntry, Seed,
};
use halo_scenario::RefusedEntry;
use serde::Serialize;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// What `halo admit` is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The catalog.
    #[arg(long, value_name = "FILE")]
    catalog: PathBuf,
    /// The state: records by address, as a scenario's `state`; a record without `observed_at` is observed now.
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// The time, as 2026-01-01T00:00:00Z; else the system clock's.
    #[arg(long, value_name = "TIME", value_parser = Instant::parse)]
    now: Option<Instant>,
    /// The agent's response, as it came; `-` reads standard input.
    #[arg(value_name = "RESPONSE")]
    response: PathBuf,
}

/// The document for `--json`: the members of a result (formats.md §5) that one decision has.
#[derive(Serialize)]
struct Decision {
    ok: bool,
    now: Instant,
    responses: Vec<ResponseEntry>,
    obligations: Vec<ObligationEntry>,
    refused: Vec<RefusedEntry>,
    /// Nothing leaves and nobody asks the gate: always empty, so that a reader of results can read this too.
    effects: [(); 0],
    answers: [(); 0],
}

/// Everything that a decision depends on.
struct Question {
    catalog: Arc<Catalog>,
    records: Vec<(String, RawText)>,
    response: Vec<u8>,
    now: Instant,
    seed: Seed,
}

/// Explains the decision. The answer is no when the response is refused whole.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    let question = match read(args) {
        Ok(question) => question,
        Err(fault) => {
            fault.report(screen)?;
            return Ok(Verdict::Unusable);
        }
    };
    let options = Options {
        start: question.now,
        seed: question.seed,
        must_state_observed_at: false,
    };
    let now = question.now;
    let depth = question.catalog.limits.depth;
    let mut engine = Engine::new(question.catalog, options);
    let mut refused = Vec::new();
    let update = Input::Update {
        records: question.records,
    };
    if let Ok(Handled::Updated { refused: records }) = engine.handle(now, update) {
        refused.extend(records.into_iter().map(|(_, refusal)| entry(0, &refusal)));
    }
    let document = Document::parse(&question.response, depth).ok();
    let submit = Input::Submit {
        owner: String::new(),
        text: RawText(question.response),
        fallback_id: None,
    };
    let answer = engine.handle(now, submit);
    refused.extend(answer.as_ref().err().map(|refusal| entry(1, refusal)));
    let decision = Decision {
        ok: answer.is_ok(),
        now,
        responses: engine.responses().map(Into::into).collect(),
        obligations: engine.obligations().map(Into::into).collect(),
        refused,
        effects: [],
        answers: [],
    };
    if screen.json() {
        screen.document(&decision, false)?;
    } else {
        print(screen, &engine, document.as_ref(), &decision)?;
    }
    Ok(match decision.ok {
        true => Verdict::Fine,
        false => Verdict::No,
    })
}

fn read(args: &Args) -> Result<Question, Fault> {
    let mut inputs = Inputs::default();
    let catalog = inputs.catalog(&args.catalog)?;
    let records = records(&args.state, &mut inputs)?;
    let response = inputs.bytes(&args.response)?;
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| {
        let what = format!("the system gives no random bits: {error}");
        Fault::unreadable("random bits", what)
    })?;
    Ok(Question {
        catalog,
        records,
        response,
        now: args.now.unwrap_or_else(clock),
        seed: Seed::new(seed),
    })
}

/// The system clock's time.
fn clock() -> Instant {
    let nanos = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i128::try_from(since.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => i128::try_from(before.duration().as_nanos()).map_or(i128::MIN, |n| -n),
    };
    Instant::from_nanos(nanos)
}

/// The records of a state file: address and JSON text.
fn records(path: &Path, inputs: &mut Inputs) -> Result<Vec<(String, RawText)>, Fault> {
    let input = inputs.text(path)?;
    let found = yaml::parse(&input.name, &input.text).and_then(|tree| {
        let one = |mark: Mark, message: String, hint: &str| {
            vec![Diagnostic {
                severity: Severity::Error,
                file: input.name.clone(),
                line: mark.line,
                column: mark.column,
                text: String::new(),
                message,
                hint: Some(hint.to_owned()),
            }]
        };
        match &tree.data {
            Data::Null => Ok(Vec::new()),
            Data::Mapping(entries) => entries
                .iter()
                .map(|(key, record)| match record.to_document() {
                    Ok(record) => {
                        let text = record.root().to_canonical();
                        Ok((key.text.clone(), RawText::from(text.as_str())))
                    }
                    Err((mark, fault)) => {
                        Err(one(mark, fault.to_string(), "quote it if text is meant"))
                    }
                })
                .collect(),
            _ => Err(one(
                tree.mark,
                format!(
                    "a state is a mapping of records, but this is {}",
                    tree.kind()
                ),
                "as `traffic: {value: {separation_m: 120.5}}`",
            )),
        }
    });
    found.map_err(|findings| Fault::findings(input, "the state is not valid", findings))
}

fn entry(step: usize, refusal: &halo_core::Refusal) -> RefusedEntry {
    RefusedEntry {
        step,
        code: refusal.code.name(),
        message: refusal.message.clone(),
    }
}

/// A reason in words: its code, what it is about, and the details.
pub(crate) fn reason_text(reason: &Reason) -> String {
    let mut text = reason.code.to_string();
    if let Some(subject) = &reason.subject {
        text.push_str(&format!(" {subject}"));
    }
    if let Some(detail) = &reason.detail {
        text.push_str(&format!(" ({detail})"));
    }
    plain(&text)
}

fn print(
    screen: &mut Screen,
    engine: &Engine,
    document: Option<&Document>,
    decision: &Decision,
) -> io::Result<()> {
    for refusal in &decision.refused {
        let what = match refusal.step {
            0 => "a state record",
            _ => "the response",
        };
        screen.complain(&format!(
            "{what} is refused: {}: {}",
            refusal.code, refusal.message
        ));
    }
    let catalog = engine.catalog();
    let explainer = Explainer { engine, document };
    for response in engine.responses() {
        let title = screen.paint(Paint::Bold, &format!("response {}", plain(response.id)));
        let (name, version) = (plain(&catalog.name), plain(&catalog.version));
        writeln!(
            screen,
            "{title} at {}, under catalog {name} version {version}",
            decision.now
        )?;
        for view in &response.components {
            let (sign, paint) = timeline::phase_sign(view.phase.name());
            let sign = screen.paint(paint, sign);
            let id = screen.paint(Paint::Bold, &plain(view.id));
            let phase = screen.paint(paint, view.phase.name());
            writeln!(screen, "{sign} {id} ({}) is {phase}", plain(view.type_name))?;
            for line in explainer.lines(response.id, view) {
                writeln!(screen, "    {}", plain(&line))?;
            }
        }
    }
    Ok(())
}
