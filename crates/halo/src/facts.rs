//! What a scenario's step brings in: components, records, answers. A timeline alone tells what came of it.

use crate::terminal::{Paint, Screen, plain, shortened};
use halo_canon::{Document, Value};
use halo_catalog::Catalog;
use halo_core::{Outcome, Reply, Settlement};
use halo_scenario::{Line, ScenarioResult, Step, Token, Tone};
use std::io::{self, Write};

/// Most characters of a record or payload.
const WIDTH: usize = 100;
/// Deepest nesting that is read for display.
const DEPTH: u32 = 128;

/// Prints what a step brings in.
pub(crate) fn show(screen: &mut Screen, step: &Step) -> io::Result<()> {
    for fact in of(step) {
        let fact = screen.paint(Paint::Dim, &plain(&fact));
        writeln!(screen, "         {fact}")?;
    }
    Ok(())
}

fn of(step: &Step) -> Vec<String> {
    match step {
        Step::Submit(text) => components(text, Some("components")),
        Step::Readmit(_, text) => components(text, None),
        Step::Set(records) => records
            .iter()
            .map(|(address, text)| format!("{address}: {}", shortened(text, WIDTH)))
            .collect(),
        Step::Dispatch { payload, token, .. } => {
            let token = token.as_ref().map(|token| match token {
                Token::Unknown => "with a token that was never issued".to_owned(),
                Token::Generation(generation) => {
                    format!("with the token of generation {generation}")
                }
            });
            let payload = payload
                .as_ref()
                .map(|text| format!("with the payload {}", shortened(text, WIDTH)));
            token.into_iter().chain(payload).collect()
        }
        Step::Adapter(outcomes) => outcomes
            .iter()
            .map(|(adapter, outcome)| format!("{adapter}: {}", outcome_name(*outcome)))
            .collect(),
        Step::Observe(_, Reply::Success) => vec!["it succeeded".into()],
        Step::Observe(_, Reply::Failure) => vec!["it failed".into()],
        Step::Settle(_, Settlement::Happened) => vec!["it happened".into()],
        Step::Settle(_, Settlement::DidNotHappen) => vec!["it did not happen".into()],
        Step::Roll(_, Some(payload)) => vec![shortened(payload, WIDTH)],
        Step::Refuse(_, text) | Step::Reject(_, _, text) if !text.is_empty() => {
            vec![shortened(text, WIDTH)]
        }
        _ => Vec::new(),
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted => "accepts calls",
        Outcome::Refused => "refuses calls",
        Outcome::Lost | Outcome::Again => "does not answer",
    }
}

/// One line for each component: id, type, payload, what must come first. The list is the whole text, or a member.
fn components(text: &str, member: Option<&str>) -> Vec<String> {
    let Ok(document) = Document::parse(text.as_bytes(), DEPTH) else {
        return vec![shortened(text, WIDTH)];
    };
    let root = document.root();
    let list = match member {
        Some(member) => root.get(member),
        None => Some(root),
    };
    list.and_then(Value::as_array)
        .iter()
        .flat_map(|list| list.iter())
        .map(component)
        .collect()
}

fn component(value: Value<'_>) -> String {
    let text = |of: Value<'_>, name| {
        of.get(name)
            .and_then(Value::as_str)
            .unwrap_or("?")
            .to_owned()
    };
    let payload = value.get("payload").map(Value::to_canonical);
    let requires = value.get("requires").and_then(Value::as_array);
    let requires: Vec<String> = requires
        .iter()
        .flat_map(|list| list.iter())
        .map(|one| format!("{} {}", text(one, "id"), text(one, "phase")))
        .collect();
    let after = match requires.is_empty() {
        true => String::new(),
        false => format!(", after {}", requires.join(" and ")),
    };
    let payload = shortened(&payload.unwrap_or_default(), WIDTH);
    format!(
        "{} ({}) {payload}{after}",
        text(value, "id"),
        text(value, "type")
    )
}

/// The predicates that a line says failed, as the catalog writes them.
///
/// A timeline's line is words only, so they are looked for in the words.
pub(crate) fn predicates(line: &Line, result: &ScenarioResult, catalog: &Catalog) -> Vec<String> {
    if line.tone != Tone::Bad {
        return Vec::new();
    }
    let (id, _) = line.text.split_once(' ').unwrap_or_default();
    let bearer = result
        .responses
        .iter()
        .rev()
        .flat_map(|response| &response.components)
        .find(|component| component.id == id);
    let type_ = bearer
        .and_then(|bearer| catalog.type_index.get(&bearer.type_name))
        .and_then(|index| catalog.types.get(usize::from(*index)));
    let says = |check: &&halo_catalog::Predicate| {
        ["predicate ", "predicate_error "].iter().any(|code| {
            let mut after = line
                .text
                .match_indices(code)
                .filter_map(|(at, code)| line.text.get(at + code.len()..));
            after.any(|rest| {
                rest.strip_prefix(check.id.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with([';', ' ']))
            })
        })
    };
    type_
        .iter()
        .flat_map(|type_| &type_.support)
        .filter(says)
        .map(|check| format!("{} needs {}", check.id, check.program.source()))
        .collect()
}
