//! `halo audit verify | show`: the journal of a data directory, checked and read.

use crate::terminal::{Paint, Screen, Verdict, plain, shortened};
use halo_journal::{Reader, Record, SqliteStore};
use serde_json::Value;
use std::{
    io::{self, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

/// What `halo audit` is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Check the chain, and compute every decision once more from what was recorded.
    Verify {
        /// The data directory; it may be in use.
        data: PathBuf,
    },
    /// Print the journal, oldest first.
    Show {
        /// The data directory; it may be in use.
        data: PathBuf,
        /// Only records above this number.
        #[arg(long, default_value_t = 0)]
        after: u64,
        /// At most so many records.
        #[arg(long, default_value_t = 1_000)]
        limit: usize,
        /// Only records that name this response.
        #[arg(long)]
        response: Option<String>,
    },
}

/// Records read at once.
const PAGE: usize = 1_000;
/// Longest detail of a decision on a line, in characters.
const WIDTH: usize = 160;

/// Runs it.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    match &args.what {
        What::Verify { data } => verify(data, screen),
        What::Show {
            data,
            after,
            limit,
            response,
        } => show(data, *after, *limit, response.as_deref(), screen),
    }
}

/// The journal of a data directory; a complaint where there is none.
pub(crate) fn open(data: &PathBuf, screen: &mut Screen) -> Option<Box<dyn Reader>> {
    match SqliteStore::open_read_only(data) {
        Ok(reader) => Some(Box::new(reader)),
        Err(error) => {
            screen.complain(&error.to_string());
            None
        }
    }
}

fn verify(data: &PathBuf, screen: &mut Screen) -> io::Result<Verdict> {
    let Some(reader) = open(data, screen) else {
        return Ok(Verdict::Unusable);
    };
    let total = match reader.tip() {
        Ok(tip) => tip.number,
        Err(error) => {
            screen.complain(&error.to_string());
            return Ok(Verdict::Unusable);
        }
    };
    let audited = halo_runtime::audit::audit(reader, told(screen, total));
    let audit = match audited {
        Ok(audit) => audit,
        Err(error) => {
            screen.complain(&error.to_string());
            return Ok(Verdict::Unusable);
        }
    };
    if screen.json() {
        screen.document(&audit, false)?;
    } else {
        for fault in &audit.faults {
            let what = screen.paint(Paint::Red, &plain(&fault.what));
            writeln!(screen, "record {}: {what}", fault.record)?;
        }
        let kept = match audit.not_kept {
            0 => String::new(),
            some => format!("; {some} refused submissions were too long to be kept"),
        };
        let erased = match (audit.erased, audit.unfounded) {
            (0, _) => String::new(),
            (erased, unfounded) => format!(
                "; {erased} were erased and {unfounded} more rest on them: their decisions can't be computed again"
            ),
        };
        let verdict = if audit.ok { "sound" } else { "NOT SOUND" };
        writeln!(
            screen,
            "{verdict}: {} records in the chain, {} decisions computed again and the same{kept}{erased}",
            audit.records, audit.decisions
        )?;
    }
    Ok(if audit.ok { Verdict::Fine } else { Verdict::No })
}

/// Says how far it is, where it takes long.
pub(crate) fn told(screen: &mut Screen, total: u64) -> impl FnMut(u64) {
    let begin = Instant::now();
    let mut last = begin;
    move |done| {
        if last.elapsed() < Duration::from_secs(2) || done == 0 {
            return;
        }
        last = Instant::now();
        let left = begin.elapsed().as_secs_f64() / done as f64 * total.saturating_sub(done) as f64;
        screen.error_line(&format!(
            "{done} of {total} records, about {left:.0} s left"
        ));
    }
}

fn show(
    data: &PathBuf,
    mut after: u64,
    limit: usize,
    response: Option<&str>,
    screen: &mut Screen,
) -> io::Result<Verdict> {
    let Some(reader) = open(data, screen) else {
        return Ok(Verdict::Unusable);
    };
    let mut shown = Vec::new();
    'pages: loop {
        let page = match reader.read(after, PAGE) {
            Ok(page) => page,
            Err(error) => {
                screen.complain(&error.to_string());
                return Ok(Verdict::Unusable);
            }
        };
        let Some(last) = page.last() else {
            break;
        };
        after = last.number;
        for record in page {
            let body = body_of(&record);
            if response.is_some_and(|response| !names(&body, response)) {
                continue;
            }
            if shown.len() == limit {
                break 'pages;
            }
            if !screen.json() {
                print(&record, &body, screen)?;
            }
            shown.push(as_json(&record, body));
        }
    }
    if screen.json() {
        screen.document(&shown, false)?;
    }
    Ok(Verdict::Fine)
}

fn body_of(record: &Record) -> Value {
    let text = record.body.as_deref();
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or(Value::Null)
}

/// Whether a record names a response.
fn names(body: &Value, response: &str) -> bool {
    let decisions = body.get("decisions").and_then(Value::as_array);
    decisions.into_iter().flatten().any(|decision| {
        decision
            .get("response")
            .is_some_and(|named| named.get("id").unwrap_or(named) == response)
    })
}

fn as_json(record: &Record, body: Value) -> Value {
    serde_json::json!({
        "number": record.number,
        "at": record.at,
        "kind": record.kind,
        "body": body,
        "body_digest": record.body_digest,
        "previous": record.previous,
        "hash": record.hash,
    })
}

fn print(record: &Record, body: &Value, screen: &mut Screen) -> io::Result<()> {
    let by = body.get("by").and_then(Value::as_str);
    let by = by.map_or_else(String::new, |by| format!(" by {}", plain(by)));
    let kind = screen.paint(Paint::Bold, &record.kind);
    let erased = if record.body.is_none() {
        " (erased)"
    } else {
        ""
    };
    writeln!(
        screen,
        "{:>7}  {}  {kind}{by}{erased}",
        record.number, record.at
    )?;
    let decisions = body.get("decisions").and_then(Value::as_array);
    for decision in decisions.into_iter().flatten() {
        let line = plain(&in_words(decision));
        writeln!(screen, "         {}", shortened(&line, WIDTH))?;
    }
    Ok(())
}

/// One decision on a line.
pub(crate) fn in_words(decision: &Value) -> String {
    let text = |name: &str| match decision.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(named)) => named
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let of = format!("{}/{}", text("response"), text("component"));
    match text("decision").as_str() {
        "phase" => {
            let reasons = decision.get("reasons").and_then(Value::as_array);
            let reasons: Vec<String> = reasons.into_iter().flatten().map(reason).collect();
            let why = match reasons.is_empty() {
                true => String::new(),
                false => format!(": {}", reasons.join("; ")),
            };
            format!("{of}  {} → {}{why}", text("from"), text("to"))
        }
        "answered" => format!("{of}  the gate says {}", text("answer")),
        "obligation" => format!(
            "{of}  obligation {} ({}) is {}",
            text("obligation"),
            text("route"),
            text("state")
        ),
        "refused" => format!("refused, {}: {}", text("code"), text("message")),
        "updated" => format!("{} is at epoch {}", text("address"), text("epoch")),
        "submitted" => format!("{} accepted", text("response")),
        "resubmitted" => format!("{} was known", text("response")),
        "forgotten" => format!("{} is over and was dropped from memory", text("response")),
        "known_forgotten" => format!("response number {} was known", text("number")),
        "approved" => format!("{of}  approved by {}", text("by")),
        "contradiction" => format!("{of}  an observation contradicts its record"),
        other => other.to_owned(),
    }
}

fn reason(reason: &Value) -> String {
    let text = |name: &str| reason.get(name).and_then(Value::as_str);
    let mut words = text("code").unwrap_or("").to_owned();
    if let Some(subject) = text("subject") {
        words.push(' ');
        words.push_str(subject);
    }
    if let Some(detail) = text("detail") {
        words.push_str(" (");
        words.push_str(detail);
        words.push(')');
    }
    words
}
