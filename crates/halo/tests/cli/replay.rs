//! `halo replay`.

use crate::run::{Folder, fits, halo, halo_with, root, text_of};
use serde_json::Value;
use std::fs;

const FAILS: &str = "halo: v1
scenario: wrong
catalog: {halo: v1, catalog: c, version: '1', paths: {p: {}}, types: {n: {effect: emit, path: p}}}
steps:
  - submit: {components: [{id: e1, type: n, payload: {}}]}
  - expect: {phases: {e1: withheld}}
";

#[test]
fn every_example_holds() {
    let ran = halo(&["replay", "examples"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    ran.says(&["6 scenarios: 6 as expected"]);
}

#[test]
fn a_timeline_tells_what_came_what_decided_and_how_it_may_come_back() {
    let ran = halo(&["replay", "examples/invoice-payment/balance.scenario.yaml"]);
    assert_eq!(ran.code, 0);
    ran.says(&[
        "one invoice is paid once",
        "1. an agent's response comes in  +0s",
        "pa (pay) {\"amount\":1280,\"invoice\":\"INV-2041\",\"to\":\"ACC-17\"}, after br emitted",
        "balance: {\"epoch\":3121,\"value\":{\"available\":300}}",
        "✗ pa is withheld, was retained: predicate funds",
        "funds needs state.balance.value.available >= payload.amount",
        "pa may come back through refresh_balance: treasury is asked for news of balance",
        "→ pa (generation 2) left through bank as number 2: accepted",
        "once_used (the key `INV-2041` is taken) — for good",
        "✓ holds",
    ]);
    let ran = halo(&["replay", "examples/repo-merge"]);
    ran.says(&["witness_changed branches.value[payload.target].head (\"9f2c1ab\" at admission, \"c41d77e\" now)"]);
}

#[test]
fn a_failed_expectation_is_a_no_and_shows_the_difference() {
    let ran = halo_with(FAILS.as_bytes(), &["replay", "-"]);
    assert_eq!(ran.code, 1);
    ran.says(&[
        "phase of e1: expected withheld, found emitted",
        "1 expectation wrong",
    ]);
    let ran = halo_with(FAILS.as_bytes(), &["replay", "-", "--json"]);
    assert_eq!(ran.code, 1);
    let document = ran.json();
    fits(&document, "result");
    assert_eq!(document["ok"], false);
    assert_eq!(document["failures"].as_array().unwrap().len(), 1);
}

#[test]
fn a_catalog_is_relative_to_its_scenario_and_to_the_working_directory_for_standard_input() {
    let text = text_of("examples/first/refund.scenario.yaml");
    let ran = halo_with(text.as_bytes(), &["replay", "-"]);
    assert_eq!(ran.code, 2);
    ran.complains(&["catalog.yaml: cannot be read"]);
    let moved = text.replace(
        "catalog: catalog.yaml",
        "catalog: examples/first/catalog.yaml",
    );
    assert_eq!(halo_with(moved.as_bytes(), &["replay", "-"]).code, 0);
}

#[test]
fn directories_are_walked_in_order_and_any_name_may_be_named() {
    let folder = Folder::new();
    let good = FAILS.replace("withheld", "emitted");
    folder.file("b/two.scenario.yml", good.replace("wrong", "two"));
    folder.file("a/one.scenario.yaml", good.replace("wrong", "one"));
    folder.file("three.scenario.json", r#"{"halo": "v1", "scenario": "three", "catalog": {"halo": "v1", "catalog": "c", "version": "1", "paths": {"p": {}}, "types": {"n": {"effect": "emit", "path": "p"}}}, "steps": []}"#);
    folder.file(".hidden/four.scenario.yaml", &good);
    let plain = folder.file("plain.yaml", good.replace("wrong", "plain"));
    let ran = halo(&["replay", folder.path(), &plain, "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<_> = lines
        .iter()
        .map(|line| line["scenario"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["one", "two", "three", "plain"]);
}

#[test]
fn what_cannot_be_run_is_a_document_too_and_stops_nothing_else() {
    let folder = Folder::new();
    let invalid = folder.file(
        "invalid.yaml",
        "halo: v1\ncatalog: c.yaml\nsteps:\n  - sumbit: {}\n",
    );
    let empty = folder.file("empty/readme.txt", "");
    let empty = std::path::Path::new(&empty)
        .parent()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let ran = halo(&[
        "replay",
        "--json",
        &invalid,
        &empty,
        "no-such.yaml",
        "examples/first/twice.scenario.yaml",
    ]);
    assert_eq!(ran.code, 2);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4);
    let failed: Vec<_> = lines
        .iter()
        .filter(|line| line["scenario"].is_null())
        .collect();
    assert_eq!(failed.len(), 3);
    assert!(
        failed
            .iter()
            .all(|line| line["error"].is_string() && line["file"].is_string())
    );
    let invalid = failed
        .iter()
        .find(|line| line["file"].as_str().unwrap().ends_with("invalid.yaml"))
        .unwrap();
    assert_eq!(invalid["diagnostics"][0]["line"], 4);
    ran.complains(&["unknown step `sumbit`", "  4 |   - sumbit: {}", "^"]);
}

#[test]
fn a_scenario_with_an_invalid_catalog_shows_the_catalogs_findings() {
    let folder = Folder::new();
    folder.file(
        "catalog.yaml",
        "halo: v1\ncatalog: c\nversion: '1'\ntypes: {n: {effect: emit, path: nowhere}}\n",
    );
    let scenario = folder.file(
        "s.scenario.yaml",
        "halo: v1\ncatalog: catalog.yaml\nsteps: []\n",
    );
    let ran = halo(&["replay", &scenario]);
    assert_eq!(ran.code, 2);
    ran.complains(&["catalog.yaml:4:", "nowhere"]);
}

/// What a result says that has no place for words.
fn essence(result: &Value) -> Vec<Value> {
    let codes = |list: &Value| {
        list.as_array()
            .into_iter()
            .flatten()
            .map(|one| one["code"].clone())
            .collect::<Value>()
    };
    let components = result["responses"].as_array().into_iter().flatten();
    let components = components.flat_map(|response| response["components"].as_array().unwrap());
    let mut all: Vec<Value> = components
        .map(|one| {
            let members = [
                "id",
                "generation",
                "phase",
                "digest",
                "binding",
                "sequence",
                "terminal",
            ];
            let mut parts: Vec<Value> = members.iter().map(|member| one[*member].clone()).collect();
            parts.push(codes(&one["reasons"]));
            Value::from(parts)
        })
        .collect();
    all.push(result["effects"].clone());
    all.push(
        result["answers"]
            .as_array()
            .cloned()
            .unwrap_or_default()
            .into(),
    );
    all.push(codes(&result["refused"]));
    all
}

#[test]
fn conformance_vectors_come_out_through_the_binary() {
    let folder = root().join("vectors/cases");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| {
            Some(
                entry
                    .unwrap()
                    .file_name()
                    .to_str()?
                    .strip_suffix(".scenario.yaml")?
                    .to_owned(),
            )
        })
        .collect();
    // As the directory walk sorts: by path.
    names.sort_by_key(|name| format!("{name}.scenario.yaml"));
    let ran = halo(&["replay", "vectors/cases", "--json"]);
    assert_eq!(ran.code, 0);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), names.len());
    assert!(names.len() >= 60);
    for (name, found) in names.iter().zip(&lines) {
        let wanted = fs::read_to_string(folder.join(format!("{name}.result.json"))).unwrap();
        let wanted: Value = serde_json::from_str(&wanted).unwrap();
        fits(found, "result");
        assert_eq!(essence(found), essence(&wanted), "{name}");
    }
}
