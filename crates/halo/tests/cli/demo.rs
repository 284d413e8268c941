//! `halo demo`: the first thing that anybody sees.

use crate::run::{fits, halo, text_of};
use serde_json::json;

#[test]
fn it_tells_the_essential_facts_in_order() {
    let ran = halo(&["demo"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let facts = [
        "rep    notice",
        "only once fly is dispatched",
        "→ rep left to operator",
        "→ range left to operator",
        "✓ fly is retained",
        "map is at epoch 9",
        "✗ fly is withheld, was retained: witness_changed map.epoch (8 at admission, 9 now)",
        "✗ status is invalidated, was pending: prerequisite_excluded fly",
        "fly may come back through replan: planner is asked for news of map",
        "may replace fly, status",
        "refused: out_of_scope: `rep`",
        "✓ fly (generation 2) is retained",
        "token_revoked",
        "binding_mismatch",
        "→ fly (generation 2) left through px4 as number 2: accepted",
        "→ status (generation 2) left to status",
        "token_consumed",
        "Try it yourself",
        "cargo run --release -- replay examples",
    ];
    let mut rest = ran.out.as_str();
    for fact in facts {
        let at = rest
            .find(fact)
            .unwrap_or_else(|| panic!("no {fact:?} after what came before, in:\n{}", ran.out));
        rest = &rest[at + fact.len()..];
    }
    assert!(
        ran.out
            .lines()
            .filter(|line| line.starts_with("  "))
            .count()
            > 40
    );
}

#[test]
fn every_step_is_in_a_chapter() {
    let ran = halo(&["demo"]);
    let steps = text_of("examples/demo/demo.scenario.yaml");
    let steps: Vec<_> = steps
        .lines()
        .filter(|line| line.starts_with("  - "))
        .collect();
    assert_eq!(steps.len(), 16);
    for (index, step) in steps.iter().enumerate() {
        let head = format!("{:>3}. ", index + 1);
        let shown = ran
            .out
            .lines()
            .any(|line| line.starts_with(&head) && line.contains("  +"));
        assert_eq!(shown, !step.starts_with("  - expect"), "{step}");
    }
}

#[test]
fn its_document_is_a_result() {
    let ran = halo(&["demo", "--json"]);
    assert_eq!(ran.code, 0);
    let document = ran.json();
    fits(&document, "result");
    assert_eq!(document["ok"], true);
    let left: Vec<_> = document["effects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|effect| &effect["component"])
        .collect();
    assert_eq!(
        left,
        [
            &json!("rep"),
            &json!("range"),
            &json!("fly"),
            &json!("status")
        ]
    );
}

#[test]
fn recorded_answers_are_submitted_byte_for_byte() {
    for (scenario, response) in [
        ("demo/demo.scenario.yaml", "demo/response.json"),
        (
            "invoice-payment/balance.scenario.yaml",
            "invoice-payment/response.json",
        ),
        (
            "invoice-payment/duplicate-id.scenario.yaml",
            "invoice-payment/duplicate-id.json",
        ),
        (
            "repo-merge/head-moved.scenario.yaml",
            "repo-merge/response.json",
        ),
    ] {
        let scenario = text_of(&format!("examples/{scenario}"));
        let response = text_of(&format!("examples/{response}"));
        assert!(
            scenario.contains(&format!("- raw: '{response}'")),
            "{response}"
        );
    }
}
