//! The published schema of `halo.yaml`: where it speaks, it says what the decoder says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use halo_runtime::deployment::{Kinds, decode};
use jsonschema::Validator;
use serde_json::Value;
use std::path::Path;

const CATALOG: &str = r#"
halo: v1
catalog: c
version: "1"
sources: {traffic: {}, map: {}, legs: {keyed: true}}
paths: {operator: {}, status: {}}
adapters: {px4: {}, bank: {}}
routes: {replan: {assignee: planner}, refresh_traffic: {assignee: radar, refresh: [traffic]}}
types:
  fly: {effect: action, adapter: px4, bind: [{path: map.epoch, route: replan}], fresh: {traffic: {max_age: 1s, route: refresh_traffic}}}
  pay: {effect: action, adapter: bank, bind: ["legs[payload.leg].epoch"]}
  tell: {effect: emit, path: operator}
  log: {effect: emit, path: status}
"#;
const HEAD: &str = "catalog: c.yaml\n";
const PATHS: &str = "paths: {operator: {stdout: {}}, status: {events: {}}}\n";
const ADAPTERS: &str =
    "adapters: {px4: {http: {url: \"http://h/\"}}, bank: {command: {run: [pay]}}}\n";

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../schemas/deployment.schema.json")).unwrap()
}

fn read(text: &str) -> Value {
    let tree = halo_catalog::yaml::parse("t", text).unwrap();
    tree.to_document().unwrap().root().to_serde()
}

fn decodes(text: &str) -> bool {
    let catalog = halo_catalog::decode::catalog("c.yaml", CATALOG).catalog;
    let variable =
        |name: &str| (!name.is_empty()).then(|| format!("a secret, long enough: {name}"));
    let decoded = decode(
        "h",
        text,
        Path::new(""),
        &catalog.unwrap(),
        &variable,
        &Kinds::default(),
    );
    decoded.deployment.is_some()
}

fn agrees(validator: &Validator, text: &str, good: bool) {
    let schema = validator
        .iter_errors(&read(text))
        .next()
        .map(|error| error.to_string());
    assert_eq!(schema.is_none(), good, "schema: {text} {schema:?}");
    assert_eq!(decodes(text), good, "decoder: {text}");
}

#[test]
fn it_accepts_what_the_decoder_accepts() {
    assert!(jsonschema::meta::is_valid(&schema()));
    let validator = jsonschema::validator_for(&schema()).unwrap();
    agrees(&validator, include_str!("deployment/example.yaml"), true);
    let digest = "ab".repeat(32);
    for more in [
        String::new(),
        "listen: \"[::1]:0\"\nepoch_file: /x/epoch\nhosts: [h.example]\norigins: [\"http://h:1\"]\n".to_owned(),
        "retention: {closed: 0s, payloads: 720h}\n".to_owned(),
        format!("tokens: [{{name: a, roles: [agent, operator], sha256: \"{digest}\", limits: {{obligations: 5}}}}]\n"),
        "providers: {legs: {http: {url: \"http://h/{key}\", headers: {A: b, C: {env: D}}}}}\n".to_owned(),
        "routes: {replan: {command: {run: [a, \"\"], timeout: 1ms}}}\n".to_owned(),
    ] {
        agrees(&validator, &format!("{HEAD}{PATHS}{ADAPTERS}{more}"), true);
    }
}

#[test]
fn it_refuses_what_the_decoder_refuses() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for more in [
        "colour: red",
        "data: 5",
        "listen: localhost:80",
        "listen: 8700",
        "hosts: [\"http://h\"]",
        "origins: [\"http://h/\"]",
        "origins: [\"*\"]",
        "retention: {closed: 1d}",
        "retention: {payloads: 0s}",
        "tokens: {}",
        "tokens: [{name: a, roles: [agent]}]",
        "tokens: [{name: a, roles: [], env: A}]",
        "tokens: [{name: a, roles: [admin], env: A}]",
        "tokens: [{roles: [agent], env: A}]",
        "tokens: [{name: a, roles: [agent], env: A, sha256: b}]",
        "tokens: [{name: a, roles: [agent], sha256: short}]",
        "tokens: [{name: a, roles: [agent], env: A, limits: {per_second: 0}}]",
        "providers: {map: {}}",
        "providers: {map: {file: {path: x}, command: {run: [x]}}}",
        "providers: {map: {file: {}}}",
        "providers: {map: {http: {url: \"ftp://h/\"}}}",
        "providers: {map: {http: {url: \"http://u:p@h/\"}}}",
        "providers: {map: {http: {url: \"http://h/#a\"}}}",
        "providers: {map: {http: {url: \"http://h/\", timeout: 5}}}",
        "providers: {map: {http: {url: \"http://h/\", outcome: \"'accepted'\"}}}",
        "providers: {map: {http: {url: \"http://h/\", headers: {A: 5}}}}",
        "providers: {map: {http: {url: \"http://h/\", headers: {A: {value: x}}}}}",
        "providers: {map: {http: {url: \"http://h/\", headers: {\"a b\": x}}}}",
        "providers: {map: {command: {run: []}}}",
        "providers: {map: {command: {run: [\"\"]}}}",
        "providers: {map: {command: {run: x}}}",
        "routes: {replan: {resubmit: {now: true}}}",
        "routes: {replan: {file: {path: x}}}",
    ] {
        agrees(
            &validator,
            &format!("{HEAD}{PATHS}{ADAPTERS}{more}\n"),
            false,
        );
    }
    for adapter in [
        "command: {run: [x]}, dispatch: later",
        "command: {run: [x]}, lane: 5",
        "command: {run: [x]}, in_doubt: wait",
        "command: {run: [x]}, enforcement: off",
        "command: {run: [x]}, rebind: yes",
        "http: {url: \"http://h/\", refused: [200]}",
        "http: {url: \"http://h/\", refused: 404}",
    ] {
        let adapters =
            format!("adapters: {{bank: {{command: {{run: [x]}}}}, px4: {{{adapter}}}}}\n");
        agrees(&validator, &format!("{HEAD}{PATHS}{adapters}"), false);
    }
    for status in [
        "stdout: {a: 1}",
        "stdout: {}, delivery: twice",
        "delivery: at_least_once",
        "events: []",
    ] {
        let paths = format!("paths: {{operator: {{stdout: {{}}}}, status: {{{status}}}}}\n");
        agrees(&validator, &format!("{HEAD}{paths}{ADAPTERS}"), false);
    }
    agrees(&validator, &format!("{PATHS}{ADAPTERS}"), false);
}
