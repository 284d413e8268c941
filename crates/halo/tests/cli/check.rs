//! `halo check`.

use crate::run::{Folder, halo, halo_with, text_of};
use serde_json::json;

const BROKEN: &str = r#"halo: v1
catalog: broken
version: "1"
sources:
  traffic: {}
paths: {op: {}}
types:
  notice:
    effect: emit
    path: opp
    fresh: {trafic: 5s}
    payload: {type: object}
"#;

#[test]
fn a_valid_catalog_is_reported() {
    let ran = halo(&["check", "examples/first/catalog.yaml"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.says(&[
        "valid",
        "refunds",
        "refund",
        "state.orders[payload.order].value.paid",
        "recheck",
        "terminal",
    ]);
}

#[test]
fn a_broken_catalog_shows_place_line_caret_and_hint() {
    let folder = Folder::new();
    let file = folder.file("broken.yaml", BROKEN);
    let ran = halo(&["check", &file]);
    assert_eq!(ran.code, 1);
    ran.says(&["not valid: 2 errors"]);
    ran.complains(&[
        &format!("{file}:10:11: error: "),
        "  10 |     path: opp\n     |           ^^^\n",
        "hint: did you mean `op`?",
        &format!("{file}:11:13: error: "),
        "  11 |     fresh: {trafic: 5s}\n     |             ^^^^^^\n",
    ]);
}

#[test]
fn every_file_is_checked_and_the_worst_counts() {
    let folder = Folder::new();
    let broken = folder.file("broken.yaml", BROKEN);
    let arguments = [
        "check",
        "--json",
        &broken,
        "no-such-file.yaml",
        "examples/first/catalog.yaml",
    ];
    let ran = halo(&arguments);
    assert_eq!(ran.code, 2);
    let document = ran.json();
    let catalogs = document["catalogs"].as_array().unwrap();
    let ok: Vec<_> = catalogs.iter().map(|entry| &entry["ok"]).collect();
    assert_eq!(ok, [&json!(false), &json!(false), &json!(true)]);
    let findings = catalogs[0]["diagnostics"].as_array().unwrap();
    let finding = findings
        .iter()
        .find(|finding| finding["severity"] == "error")
        .unwrap();
    assert_eq!(
        (&finding["line"], &finding["column"]),
        (&json!(10), &json!(11))
    );
    assert!(finding["hint"].is_string());
    assert!(catalogs[0]["report"].is_null());
    assert!(
        catalogs[1]["error"]
            .as_str()
            .unwrap()
            .contains("cannot be read")
    );
    assert_eq!(catalogs[2]["report"]["catalog"], "refunds");
    assert_eq!(catalogs[2]["file"], "examples/first/catalog.yaml");
}

#[test]
fn standard_input_can_be_read_once() {
    let text = text_of("examples/first/catalog.yaml");
    let ran = halo_with(text.as_bytes(), &["check", "-"]);
    assert_eq!(ran.code, 0);
    ran.says(&["<stdin>", "valid"]);
    let ran = halo_with(text.as_bytes(), &["check", "-", "-"]);
    assert_eq!(ran.code, 2);
    ran.complains(&["standard input can be read once"]);
}

#[test]
fn a_long_line_is_shown_around_its_fault() {
    let folder = Folder::new();
    let long = format!(
        "halo: v1\ncatalog: a\nversion: \"1\"\npaths: {{p: {{}}}}\ntypes: {{t: {{effect: emit, path: p, payload: {{description: \"{}\"}}, nope: 1}}}}\n",
        "x".repeat(5000)
    );
    let file = folder.file("long.yaml", long);
    let ran = halo(&["check", &file]);
    assert_eq!(ran.code, 1);
    ran.complains(&["nope: 1", "^^^^"]);
    assert!(
        ran.err.lines().all(|line| line.chars().count() < 400),
        "{}",
        ran.err
    );
}

#[test]
fn a_policy_is_checked_against_its_catalog() {
    let policy = "examples/agentspec/policy.yaml";
    let whole = "examples/agentspec/whole-response.yaml";
    let catalog = "examples/first/catalog.yaml";
    for arguments in [
        &["check", policy, whole][..],
        &["check", "--catalog", catalog, policy, whole],
    ] {
        let ran = halo(arguments);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        ran.says(&[
            "AgentSpec policy refunds, extended rules, decides each component by itself",
            "not_more_than_paid  refund: stop if more_than_paid  (examples/agentspec/refunds.rules:3)",
            "reads state.orders[payload.order].value.paid",
            "decides each response as a whole",
        ]);
    }
    let ran = halo(&["check", "--catalog", "examples/demo/catalog.yaml", policy]);
    assert_eq!(ran.code, 1);
    ran.complains(&[
        "the catalog has no source `orders`",
        "the catalog has no type `refund`",
        "  4 | trigger refund\n    |         ^^^^^^\n",
    ]);
}

#[test]
fn findings_of_a_policy_stand_in_the_file_that_they_are_about() {
    let folder = Folder::new();
    let rules = folder.file(
        "a.rules",
        "rule @a\ntrigger t\ncheck one & two\nenforce stop\nend\n",
    );
    let policy = folder.file(
        "policy.yaml",
        "halo: v1\npolicy: p\npredicates: {one: payload.x}\nrules:\n  - file: a.rules\n  - file: none.rules\n",
    );
    let ran = halo(&["check", &policy]);
    assert_eq!(ran.code, 1);
    ran.says(&["not valid: 3 errors"]);
    ran.complains(&[
        &format!("{policy}:6:11: error: "),
        &format!("{rules}:3:11: error: this character means nothing here"),
        "  3 | check one & two\n    |           ^\n",
        &format!("{rules}:3:13: error: the policy has no predicate `two`"),
    ]);
    let document = halo(&["check", "--json", &policy]).json();
    assert_eq!(document["catalogs"], json!([]));
    let found = document["policies"][0]["diagnostics"].as_array().unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!(found[1]["file"], json!(rules));
}

#[test]
fn a_file_of_rules_says_which_predicates_it_needs() {
    let ran = halo(&["check", "examples/agentspec/refunds.rules"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.says(&[
        "only extended mode reads them",
        "a policy must give large, more_than_paid, promises_money",
    ]);
    let ran = halo_with(
        b"rule @a trigger t check is_fragile enforce stop end",
        &["check", "-"],
    );
    assert_eq!(ran.code, 0);
    ran.says(&["strict and extended mode read them"]);
    let ran = halo_with(
        b"// mine\nrule @a trigger any check true enforce stop end",
        &["check", "-"],
    );
    assert_eq!(ran.code, 0);
    ran.says(&["only extended mode reads them"]);
    let ran = halo_with(
        b"rule @a trigger t check !!x(1) enforce a: b = 1",
        &["check", "-"],
    );
    assert_eq!(ran.code, 1);
    ran.complains(&["<stdin>:1:", "expected `end`, found the end"]);
}
