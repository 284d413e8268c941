//! The published schema of policies: where it speaks, it says what the decoder says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use halo_agentspec::{RuleText, policy::decode};
use serde_json::Value;

const RULES: &str = "rule @a trigger t check true enforce stop end";

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../schemas/policy.schema.json")).unwrap()
}

fn agrees(text: &str, good: bool) {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let tree = halo_catalog::yaml::parse("t", text).unwrap();
    let value = tree.to_document().unwrap().root().to_serde();
    assert_eq!(validator.is_valid(&value), good, "schema: {text}");
    let file = |name: &str| {
        Ok(RuleText {
            file: name.to_owned(),
            text: RULES.to_owned(),
        })
    };
    let decoded = decode("p.yaml", text, &file, None);
    assert_eq!(decoded.policy.is_some(), good, "decoder: {text}");
}

#[test]
fn it_agrees_with_the_decoder() {
    assert!(jsonschema::meta::is_valid(&schema()));
    let head = "halo: v1\npolicy: p\n";
    let rules = format!("rules: [{{text: \"{RULES}\"}}]\n");
    for more in [
        "",
        "scope: component\n",
        "scope: response\nmode: strict\n",
        "mode: extended\nsources: {map: {}, legs: {keyed: true}}\n",
        "predicates: {a: \"true\"}\n",
    ] {
        agrees(&format!("{head}{more}{rules}"), true);
    }
    agrees(
        &format!("{head}rules: [{{file: a.rules}}, {{text: \"{RULES}\"}}]"),
        true,
    );
    for bad in [
        format!("policy: p\n{rules}"),
        format!("halo: v1\n{rules}"),
        head.to_owned(),
        format!("halo: v2\npolicy: p\n{rules}"),
        format!("halo: v1\npolicy: \"\"\n{rules}"),
        format!("{head}{rules}scope: each\n"),
        format!("{head}{rules}mode: lax\n"),
        format!("{head}{rules}version: 1\n"),
        format!("{head}{rules}sources: [map]\n"),
        format!("{head}{rules}sources: {{map: {{keyed: yes}}}}\n"),
        format!("{head}{rules}sources: {{map: {{key: true}}}}\n"),
        format!("{head}{rules}predicates: {{a-b: \"true\"}}\n"),
        format!("{head}{rules}predicates: {{end: \"true\"}}\n"),
        format!("{head}{rules}predicates: {{a: true}}\n"),
        format!("{head}{rules}predicates: {{a: \"\"}}\n"),
        format!("{head}rules: []\n"),
        format!("{head}rules: [a.rules]\n"),
        format!("{head}rules: [{{}}]\n"),
        format!("{head}rules: [{{file: a, text: \"{RULES}\"}}]\n"),
        format!("{head}rules: [{{file: 1}}]\n"),
    ] {
        agrees(&bad, false);
    }
}

#[test]
fn it_accepts_the_examples() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for text in [
        include_str!("../../../examples/agentspec/policy.yaml"),
        include_str!("../../../examples/agentspec/whole-response.yaml"),
    ] {
        let tree = halo_catalog::yaml::parse("t", text).unwrap();
        let value = tree.to_document().unwrap().root().to_serde();
        assert!(validator.is_valid(&value), "{text}");
    }
}
