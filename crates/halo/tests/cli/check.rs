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
