//! P4: digests recomputed here from serde_json and sha2, not with the core's own writers.

use crate::common::Bench;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// RFC 8785 for what these tests use: serde_json's objects are sorted by key (all keys here are ASCII), its text is
/// compact, and every number is an integer.
fn jcs(value: &Value) -> String {
    serde_json::to_string(value).unwrap()
}

fn h(value: &Value) -> String {
    let hex: String = Sha256::digest(jcs(value))
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hex}")
}

const CATALOG: &str = r#"
halo: v1
catalog: test
version: "3"
sources: {s: {}, k: {keyed: true}}
paths: {out: {}}
adapters: {arm: {}}
types:
  act:
    effect: action
    adapter: arm
    payload: {type: object}
    bind:
      - s.value.z
      - s.epoch
      - {path: "k[payload.key].value", absent: allowed}
      - s.provenance
    support: [{id: ok, cel: "state.s.value.go"}]
  note:
    effect: emit
    path: out
    payload: {type: object}
    allows: [{type: act, phase: retained}, {type: act, phase: dispatched}]
"#;

fn bench() -> Bench {
    let mut bench = Bench::new(CATALOG);
    bench.set("s", json!({"epoch": 8, "provenance": "p", "value": {"go": true, "z": {"b": 1, "a": [true, null]}}}));
    bench
}

#[test]
fn p04_digest_of_a_component() {
    let mut bench = bench();
    let payload = json!({"key": "K", "text": "ü\u{1}\"\\", "n": -3, "deep": {"y": [], "x": {}}});
    bench
        .submit(json!({"response": "r", "components": [
            {"id": "a", "type": "act", "payload": payload},
            {"id": "n", "type": "note", "payload": {}, "requires": [
                {"phase": "retained", "id": "a"}, {"id": "a", "phase": "dispatched"}, {"id": "a", "phase": "retained"}]},
        ]}))
        .unwrap();
    let wanted = h(
        &json!({"halo": "component/v1", "id": "a", "type": "act", "payload": payload, "requires": []}),
    );
    assert_eq!(bench.view("r", "a").digest.unwrap().to_string(), wanted);
    // Sorted by id, then phase as text; each pair once (P3).
    let wanted = h(
        &json!({"halo": "component/v1", "id": "n", "type": "note", "payload": {},
        "requires": [{"id": "a", "phase": "dispatched"}, {"id": "a", "phase": "retained"}]}),
    );
    assert_eq!(bench.view("r", "n").digest.unwrap().to_string(), wanted);
    let computed = halo_core::component_digest(
        "n",
        "note",
        halo_canon::Document::parse(b"{}", 8).unwrap().root(),
        &[("a", "retained"), ("a", "dispatched"), ("a", "retained")],
    );
    assert_eq!(
        computed.to_string(),
        wanted,
        "as made outside, for approvals and certificates"
    );
}

#[test]
fn p04_witness_and_binding() {
    let mut bench = bench();
    bench.set("k/K", json!({"value": [1, "two"]}));
    for (response, key) in [("r", "K"), ("s", "absent")] {
        bench
            .submit(json!({"response": response, "components": [
                {"id": "a", "type": "act", "payload": {"key": key}}]}))
            .unwrap();
    }
    let binding = |key: &str, bound: Value, sequence: u64| {
        let digest = h(
            &json!({"halo": "component/v1", "id": "a", "type": "act", "payload": {"key": key}, "requires": []}),
        );
        let witness = h(
            &json!({"halo": "witness/v1", "digest": digest, "bound": bound, "certificate": null,
            "catalog": "test", "catalog_version": "3"}),
        );
        h(&json!({"halo": "binding/v1", "witness": witness, "sequence": sequence}))
    };
    let z = json!({"b": 1, "a": [true, null]});
    let there = json!({"s.value.z": z, "s.epoch": 8, "s.provenance": "p", "k[payload.key].value": [1, "two"]});
    let absent = json!({"s.value.z": z, "s.epoch": 8, "s.provenance": "p"});
    let found = |response: &str| bench.view(response, "a").binding.unwrap().to_string();
    assert_eq!(found("r"), binding("K", there, 1));
    assert_eq!(
        found("s"),
        binding("absent", absent, 2),
        "an absent path is left out"
    );
}

#[test]
fn p04_age_clock_and_unbound_state_are_not_in_a_witness() {
    let submit = |bench: &mut Bench| {
        let act = json!({"response": "r", "components": [{"id": "a", "type": "act", "payload": {"key": "x"}}]});
        bench.submit(act).unwrap();
        bench.view("r", "a").binding.unwrap()
    };
    let mut early = bench();
    let mut late = bench();
    late.advance("1h");
    late.set("s", json!({"epoch": 8, "provenance": "p", "value": {"go": true, "z": {"b": 1, "a": [true, null]}}}));
    late.set("k/other", json!({"value": 1}));
    assert_eq!(submit(&mut early), submit(&mut late));
}

#[test]
fn p04_what_was_digested_is_what_acts() {
    let mut bench = bench();
    bench
        .submit_text(
            "{\"response\":\"r\",\"components\":[{\"id\":\"a\",\"type\":\"act\",\"payload\": { \"n\":1.0e0 ,\"\\u006bey\":\"x\"}}]}",
        )
        .unwrap();
    bench.ask("r", "a");
    assert_eq!(bench.dispatched[0].payload(), r#"{"key":"x","n":1}"#);
    let wanted = h(
        &json!({"halo": "component/v1", "id": "a", "type": "act", "payload": {"key": "x", "n": 1}, "requires": []}),
    );
    assert_eq!(bench.view("r", "a").digest.unwrap().to_string(), wanted);
}
