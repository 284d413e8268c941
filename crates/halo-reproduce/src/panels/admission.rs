//! 96 admission cases with outcomes that were written down before: local support, malformed components, removal of
//! dependents, maximal retention (`cases/admission.json`).

use super::{Run, support};
use crate::{Fault, trial::Trial};
use halo_canon::Duration;
use halo_core::Variant;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

const CATALOG: &str = include_str!("../../cases/admission.catalog.yaml");
const CASES: &str = include_str!("../../cases/admission.json");

#[derive(Deserialize)]
struct Case {
    group: String,
    name: String,
    state: BTreeMap<String, Box<RawValue>>,
    advance_ms: u64,
    text: String,
    /// Phase and reasons of each id.
    expect: BTreeMap<String, String>,
    refused: Option<String>,
}

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let cases: Vec<Case> = serde_json::from_str(CASES)
        .map_err(|error| Fault::new(format!("the cases cannot be read: {error}")))?;
    let mut groups: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for case in &cases {
        let wrong = outcome(case)?;
        let (right, all) = groups.entry(&case.group).or_default();
        *right += usize::from(wrong.is_empty());
        *all += 1;
        for wrong in wrong {
            run.note(format!("{}: {wrong}", case.name));
        }
    }
    let right = groups.values().map(|(right, _)| right).sum();
    for (group, (right, all)) in groups {
        run.of(format!("as expected: {group}"), right, all);
    }
    run.of("as expected, all cases", right, cases.len());
    Ok(())
}

/// What differs, in words.
fn outcome(case: &Case) -> Result<Vec<String>, Fault> {
    let catalog = support::catalog("admission", CATALOG)?;
    let start = support::instant("2026-01-01T00:00:00Z")?;
    let mut trial = Trial::new(catalog, Variant::HaloFull, start);
    let state = case.state.iter();
    let state: Vec<(String, String)> = state
        .map(|(address, record)| (address.clone(), record.get().to_owned()))
        .collect();
    trial.set(&state)?;
    trial.advance(Duration::from_millis(case.advance_ms as i64));
    let number = match (trial.submit(&case.text), case.refused.as_deref()) {
        (Ok(number), None) => number,
        (Err(refusal), Some(code)) if refusal.code.name() == code => return Ok(Vec::new()),
        (submitted, expected) => {
            return Ok(vec![format!("{submitted:?}, expected {expected:?}")]);
        }
    };
    let Some(view) = trial.engine.response(number) else {
        return Err(Fault::new("an admitted response is gone"));
    };
    let mut wrong = Vec::new();
    let mut met = 0;
    for component in &view.components {
        let mut found = vec![component.phase.name().to_owned()];
        found.extend(
            component
                .reasons
                .iter()
                .map(|reason| match &reason.subject {
                    Some(subject) => format!("{}:{subject}", reason.code.name()),
                    None => reason.code.name().to_owned(),
                }),
        );
        let found = found.join(" ");
        let expected = case
            .expect
            .get(component.id)
            .map_or("nothing", String::as_str);
        met += usize::from(case.expect.contains_key(component.id));
        if found != expected {
            wrong.push(format!("{}: {found}, expected {expected}", component.id));
        }
    }
    if met < case.expect.len() {
        wrong.push("a component is missing".into());
    }
    Ok(wrong)
}
