//! The published JSON Schemas: they accept what the vectors hold and refuse what they should.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use halo_catalog::{decode, yaml};
use jsonschema::{Registry, Validator};
use serde_json::{Value, json};

const NAMES: [&str; 5] = ["catalog", "response", "record", "scenario", "result"];

fn schema(name: &str) -> Value {
    let path = format!(
        "{}/../../schemas/{name}.schema.json",
        env!("CARGO_MANIFEST_DIR")
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// They refer to each other by file name, as editors resolve them.
fn validator(name: &str) -> Validator {
    let mut registry = Registry::new();
    for name in NAMES {
        registry = registry
            .add(format!("json-schema:///{name}.schema.json"), schema(name))
            .unwrap();
    }
    let registry = registry.prepare().unwrap();
    jsonschema::options()
        .with_registry(&registry)
        .with_base_uri(format!("json-schema:///{name}.schema.json"))
        .build(&schema(name))
        .unwrap()
}

fn check(validator: &Validator, value: &Value, name: &str) {
    if let Some(error) = validator.iter_errors(value).next() {
        panic!("{name}: {error} at {}", error.instance_path());
    }
}

fn read(text: &str) -> Value {
    let tree = yaml::parse("t", text).unwrap();
    tree.to_document().unwrap().root().to_serde()
}

#[test]
fn they_are_schemas() {
    for name in NAMES {
        assert!(jsonschema::meta::is_valid(&schema(name)), "{name}");
        validator(name);
    }
}

#[test]
fn they_accept_every_vector() {
    let (catalog, scenario, result) = (
        validator("catalog"),
        validator("scenario"),
        validator("result"),
    );
    for (name, text) in common::catalogs() {
        check(&catalog, &read(&text), &name);
    }
    for path in common::cases(".scenario.yaml") {
        let text = std::fs::read_to_string(&path).unwrap();
        check(&scenario, &read(&text), path.to_str().unwrap());
    }
    for path in common::cases(".result.json") {
        let text = std::fs::read_to_string(&path).unwrap();
        check(&result, &read(&text), path.to_str().unwrap());
    }
    for file in ["generated.jsonl", "live.jsonl"] {
        for (i, line) in common::lines(file).iter().enumerate() {
            let value: Value = serde_json::from_str(line).unwrap();
            let name = format!("{file}:{}", i + 1);
            check(&scenario, &value["scenario"], &name);
            check(&catalog, &value["scenario"]["catalog"], &name);
            check(&result, &value["result"], &name);
        }
    }
}

/// Where the schema speaks, it says what the decoder says.
#[test]
fn the_catalog_schema_refuses_what_the_decoder_refuses() {
    let valid = validator("catalog");
    let header = "halo: v1\ncatalog: c\nversion: \"1\"\nsources: {m: {}}\npaths: {p: {}}\nadapters: {a: {}}\n";
    for body in [
        "types: {t: {effect: emit}}",
        "types: {t: {effect: emit, path: p, adapter: a}}",
        "types: {t: {effect: emit, path: p, once: payload.x}}",
        "types: {t: {effect: action, adapter: a, path: p}}",
        "types: {t: {effect: action, adapter: a, colour: red}}",
        "types: {t: {effect: action, adapter: a, ttl: 5s}}",
        "types: {t: {effect: action, adapter: a, fresh: {m: 5}}}",
        "types: {t: {effect: action, adapter: a, fresh: {m.epoch: 5s}}}",
        "types: {t: {effect: action, adapter: a, bind: [m]}}",
        "types: {t: {effect: action, adapter: a, bind: [m.age]}}",
        "types: {t: {effect: action, adapter: a, bind: [{path: m.epoch, absent: no}]}}",
        "types: {t: {effect: action, adapter: a, temporal: {mode: interval, end: now}}}",
        "types: {t: {effect: action, adapter: a, fresh: {m: 1s}, temporal: {mode: rolling}}}",
        "types: {t: {effect: action, adapter: a, temporal: {window: 1s}}}",
        "types: {t: {effect: action, adapter: a, requires: [{type: \"*\", phase: retained}]}}",
        "types: {t: {effect: action, adapter: a, allows: [{type: t, phase: pending}]}}",
        "types: {t: {effect: action, adapter: a, support: [{id: a}]}}",
        "types: {t: {effect: action, adapter: a, certificate: {issuers: []}}}",
        "types: {}\nlimits: {depth: 0}",
        "types: {}\nroutes: {r: {}}",
        "types: {}\nroutes: {r: {assignee: x, types: []}}",
        "types: {}\nissuers: {i: {ed25519: short}}",
        "types: {}\nmalformed: maybe",
        "type: {}",
        "types: {1t: {effect: emit, path: p}}",
    ] {
        let text = format!("{header}{body}\n");
        assert!(!valid.is_valid(&read(&text)), "schema accepts: {body}");
        let decoded = decode::catalog("t.yaml", &text);
        assert!(decoded.catalog.is_none(), "decoder accepts: {body}");
    }
}

#[test]
fn they_refuse_what_is_wrong() {
    let component = json!({"id": "e1", "type": "notice", "payload": null});
    for (name, value) in [
        ("response", json!({"components": [], "note": 1})),
        ("response", json!({"response": "-x", "components": []})),
        ("response", json!({"response": "r"})),
        (
            "response",
            json!({"components": [{"id": "e1", "type": "t"}]}),
        ),
        (
            "response",
            json!({"components": [{"id": "e1", "type": "t", "payload": 1, "sequence": 0}]}),
        ),
        (
            "response",
            json!({"components": [{"id": "e1", "type": "t", "payload": 1, "requires": [{"id": "e2"}]}]}),
        ),
        ("record", json!({"epoch": 1})),
        ("record", json!({"value": 1, "epoch": -1})),
        ("record", json!({"value": 1, "observed_at": "yesterday"})),
        ("record", json!({"value": 1, "age": "1s"})),
        (
            "scenario",
            json!({"halo": "v1", "scenario": "s", "catalog": "c.yaml", "start": "2026-01-01T00:00:00Z", "steps": [{"wait": "1s"}]}),
        ),
        (
            "scenario",
            json!({"halo": "v1", "scenario": "s", "catalog": "c.yaml", "start": "2026-01-01T00:00:00Z", "steps": [{"advance": "1s", "restart": {}}]}),
        ),
        (
            "scenario",
            json!({"halo": "v1", "scenario": "s", "catalog": {}, "start": "2026-01-01T00:00:00Z", "steps": []}),
        ),
        ("result", json!({"responses": []})),
        (
            "result",
            json!({"responses": [], "effects": [{"kind": "emit"}], "obligations": [], "answers": [], "refused": []}),
        ),
    ] {
        assert!(!validator(name).is_valid(&value), "{name}: {value}");
    }
    check(
        &validator("response"),
        &json!({"components": [component]}),
        "response",
    );
    check(&validator("record"), &json!({"value": null}), "record");
}
