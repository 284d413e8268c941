//! `halo reproduce`, and variants through `halo replay`.

use crate::run::{Folder, Ran, command, halo, halo_with};

#[test]
fn rows_stand_beside_the_papers_and_the_last_line_counts_them() {
    let ran = halo(&["reproduce", "gate", "recovery", "--quick"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.says(&[
        "expected rows sha256:",
        "fixed before the run",
        "inputs: authored",
        "fresh executable recoveries",
        "36/36",
    ]);
    let last = ran.out.lines().last().unwrap();
    assert!(
        last.starts_with("14 rows: 13 as the paper has them, 0 differing"),
        "{last}"
    );
    assert!(last.ends_with("skipped: none"), "{last}");
}

#[test]
fn json_has_every_row_with_its_command() {
    let ran = halo(&["reproduce", "race", "--quick", "--seed", "7", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report = ran.json();
    let rows = report["panels"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    for row in rows {
        assert_eq!(row["command"], "halo reproduce race --quick --seed 7");
        assert_eq!(row["panel"], "race");
        assert!(row["ours"].is_string() && row["same"].is_string(), "{row}");
    }
    assert_eq!(report["manifest"]["seed"], 7);
}

#[test]
fn a_panel_without_its_program_is_skipped_by_name() {
    let empty = Folder::new();
    let ran = command(&["reproduce", "git", "race", "--quick"])
        .env("PATH", empty.path())
        .output();
    let ran = Ran::of(ran.unwrap());
    assert_eq!(ran.code, 1, "{}", ran.err);
    let last = ran.out.lines().last().unwrap();
    assert!(last.starts_with("12 rows: "), "{last}");
    assert!(
        last.ends_with("skipped: git (the `git` program is not on this machine)"),
        "{last}"
    );
}

#[test]
fn what_cannot_be_as_in_the_paper_says_so_and_is_no_failure() {
    let ran = halo(&["reproduce", "git", "--quick"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    ran.says(&[
        "differs, as said beforehand: of the nine blocked cases",
        "0 differing and 1 more as said beforehand",
    ]);
}

#[test]
fn an_unknown_panel_is_wrong_usage() {
    let ran = halo(&["reproduce", "everything"]);
    assert_eq!(ran.code, 2);
    ran.complains(&["no panel `everything`", "structured"]);
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let ran = halo(&["reproduce", "gate", "--out", "Cargo.toml/report"]);
    assert_eq!(ran.code, 2);
    ran.complains(&["Cargo.toml/report"]);
}

#[test]
fn a_replay_says_that_a_mechanism_is_taken_out() {
    let text = r#"{halo: v1, scenario: weak, variant: halo-admission, catalog: {halo: v1, catalog: c, version: "1", paths: {p: {}},
        types: {t: {effect: emit, path: p, payload: {}}}}, start: "2026-01-01T00:00:00Z", steps: []}"#;
    let ran = halo_with(text.as_bytes(), &["replay", "-"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.says(&["variant halo-admission", "docs/VARIANTS.md"]);
}
