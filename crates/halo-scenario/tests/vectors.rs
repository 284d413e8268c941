//! The conformance vectors: every scenario gives exactly its recorded result (vectors/README.md).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use halo_scenario::{CatalogSource, Scenario};
use serde_json::{Value, json};
use std::{fs, path::Path, sync::Arc};

fn vectors() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

fn catalog(scenario: &Scenario, folder: &Path) -> Arc<halo_catalog::Catalog> {
    match &scenario.catalog {
        CatalogSource::Inline(decoded) => decoded
            .catalog
            .clone()
            .expect("the inline catalog is valid"),
        CatalogSource::File(name) => {
            let text = fs::read_to_string(folder.join(name)).expect("the catalog can be read");
            let decoded = halo_catalog::decode::catalog(name, &text);
            decoded
                .catalog
                .unwrap_or_else(|| panic!("{name}: {:#?}", decoded.diagnostics))
        }
    }
}

/// Runs a scenario; the result without what vectors do not compare.
fn result(name: &str, text: &str, folder: &Path) -> Value {
    let scenario = halo_scenario::decode(name, text)
        .unwrap_or_else(|findings| panic!("{name}: {findings:#?}"));
    let run = halo_scenario::run(&scenario, catalog(&scenario, folder));
    comparable(serde_json::to_value(&run.result).unwrap())
}

/// Only the compared members; null members left out; `refresh` as a set.
fn comparable(result: Value) -> Value {
    let reason = |reason: &Value| json!({"code": reason["code"], "subject": reason["subject"]});
    let mut kept = json!({});
    for member in ["responses", "effects", "obligations", "answers", "refused"] {
        kept[member] = result.get(member).cloned().unwrap_or_else(|| json!([]));
    }
    for response in kept["responses"].as_array_mut().unwrap() {
        for component in response["components"].as_array_mut().unwrap() {
            let reasons: Vec<Value> = component["reasons"]
                .as_array()
                .unwrap()
                .iter()
                .map(reason)
                .collect();
            component["reasons"] = json!(reasons);
        }
    }
    for refused in kept["refused"].as_array_mut().unwrap() {
        refused.as_object_mut().unwrap().remove("message");
    }
    for obligation in kept["obligations"].as_array_mut().unwrap() {
        obligation["refresh"]
            .as_array_mut()
            .unwrap()
            .sort_by_key(|address| address.as_str().unwrap().to_owned());
    }
    without_nulls(&mut kept);
    kept
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// Compares and lists every difference, not just the first.
fn check(cases: Vec<(String, Value, Value)>) {
    let count = cases.len();
    let mut failed = Vec::new();
    for (name, wanted, found) in cases {
        if wanted != found {
            failed.push(format!(
                "{name}\n{}",
                difference("", &wanted, &found).join("\n")
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {count} differ:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

fn difference(at: &str, wanted: &Value, found: &Value) -> Vec<String> {
    match (wanted, found) {
        _ if wanted == found => Vec::new(),
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            let null = Value::Null;
            let pair = |key: &String| {
                (
                    a.get(key).unwrap_or(&null).clone(),
                    b.get(key).unwrap_or(&null).clone(),
                )
            };
            keys.into_iter()
                .flat_map(|key| {
                    let (a, b) = pair(key);
                    difference(&format!("{at}.{key}"), &a, &b)
                })
                .collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .flat_map(|(i, (a, b))| difference(&format!("{at}[{i}]"), a, b))
            .collect(),
        _ => vec![format!("  {at}: wanted {wanted}, found {found}")],
    }
}

#[test]
fn cases_give_their_results() {
    let folder = vectors().join("cases");
    let mut cases = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".scenario.yaml") else {
            continue;
        };
        let wanted = fs::read_to_string(folder.join(format!("{stem}.result.json"))).unwrap();
        let wanted = comparable(serde_json::from_str(&wanted).unwrap());
        cases.push((
            name.clone(),
            wanted,
            result(&name, &fs::read_to_string(&path).unwrap(), &folder),
        ));
    }
    assert!(cases.len() >= 60, "only {} cases were found", cases.len());
    check(cases);
}

/// The scenario as it is written: the order of its members matters.
#[derive(serde::Deserialize)]
struct Line {
    scenario: Box<serde_json::value::RawValue>,
    result: Value,
}

fn lines(file: &str, at_least: usize) {
    let folder = vectors();
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let mut cases = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line: Line = serde_json::from_str(line).unwrap();
        let name = format!("{file}:{}", index + 1);
        let found = result(&name, line.scenario.get(), &folder);
        cases.push((name, comparable(line.result), found));
    }
    assert!(
        cases.len() >= at_least,
        "only {} lines were found",
        cases.len()
    );
    check(cases);
}

#[test]
fn generated_scenarios_give_their_results() {
    lines("generated.jsonl", 300);
}

#[test]
fn live_responses_give_their_results() {
    lines("live.jsonl", 225);
}
