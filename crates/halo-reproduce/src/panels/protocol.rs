//! 20 protocol cases by hand: event order, last looks, tokens, failed parents, scoped recovery. They are conformance
//! vectors of `vectors/cases`, whose results come from a program that shares nothing with this project.

use super::{Run, support};
use crate::Fault;
use halo_scenario::{CatalogSource, Scenario};
use serde_json::{Map, Value};

macro_rules! cases {
    ($($name:literal),* $(,)?) => {
        const CASES: &[(&str, &str, &str)] = &[$((
            $name,
            include_str!(concat!("../../../../vectors/cases/", $name, ".scenario.yaml")),
            include_str!(concat!("../../../../vectors/cases/", $name, ".result.json")),
        )),*];
    };
}

cases![
    "a-refused-dependent-stays-refused",
    "adapter-refuses",
    "adapter-silent",
    "adapter-silent-observed",
    "another-parent-under-the-same-id",
    "approval-does-not-outlive-drift",
    "attempts-run-out",
    "candidates-include-the-blocked-one",
    "certificate-expires-while-waiting",
    "dependents-keep-their-prerequisites",
    "given-sequences",
    "in-doubt-is-not-dispatched",
    "paper-example-late-epoch",
    "paper-example-recovery",
    "rejected-after-the-quorum",
    "restart-does-not-launder-drift",
    "restart-readmits",
    "roll-takes-a-new-sequence",
    "until-left",
    "waiting-time",
];

const CORRIDOR: &str = include_str!("../../../../vectors/cases/corridor.yaml");

/// The members that vectors compare (vectors/README.md).
const COMPARED: [&str; 5] = ["responses", "effects", "obligations", "answers", "refused"];

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let mut right = 0;
    for (name, scenario, result) in CASES {
        let found = result_of(name, scenario)?;
        let wanted: Value = serde_json::from_str(result)
            .map_err(|error| Fault::new(format!("{name}: its result cannot be read: {error}")))?;
        if comparable(found) == comparable(wanted) {
            right += 1;
        } else {
            run.note(format!("{name}: another result than recorded"));
        }
    }
    run.of("protocol cases as recorded", right, CASES.len());
    Ok(())
}

fn result_of(name: &str, text: &str) -> Result<Value, Fault> {
    let scenario: Scenario = halo_scenario::decode(name, text)
        .map_err(|findings| Fault::new(format!("{name}: {findings:?}")))?;
    let catalog = match &scenario.catalog {
        CatalogSource::Inline(decoded) => decoded.catalog.clone(),
        CatalogSource::File(_) => Some(support::catalog("corridor.yaml", CORRIDOR)?),
    };
    let catalog = catalog.ok_or_else(|| Fault::new(format!("{name}: no catalog")))?;
    serde_json::to_value(halo_scenario::run(&scenario, catalog).result)
        .map_err(|error| Fault::new(error.to_string()))
}

/// Only what is compared: no words for people, no null members, `refresh` as a set.
fn comparable(mut result: Value) -> Value {
    let mut kept = Map::new();
    for member in COMPARED {
        let value = result
            .get_mut(member)
            .map_or(Value::Array(Vec::new()), Value::take);
        kept.insert(member.to_owned(), simplified(value));
    }
    Value::Object(kept)
}

fn simplified(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .filter(|(name, member)| {
                    !member.is_null() && !matches!(name.as_str(), "message" | "detail")
                })
                .map(|(name, member)| {
                    let mut member = simplified(member);
                    if let ("refresh", Value::Array(items)) = (name.as_str(), &mut member) {
                        items.sort_by_key(Value::to_string);
                    }
                    (name, member)
                })
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(simplified).collect()),
        other => other,
    }
}
