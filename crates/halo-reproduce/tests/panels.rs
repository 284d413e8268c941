//! The panels, in the sizes of `--quick`, and what is made of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use halo_canon::Digest;
use halo_reproduce::{Asked, Expected, Figure, Report, Same, registry};
use std::{collections::BTreeSet, fs};

fn asked(panels: &[&str]) -> Asked {
    Asked {
        panels: panels.iter().map(|name| (*name).to_owned()).collect(),
        quick: true,
        seed: 1,
    }
}

fn run(panels: &[&str]) -> Report {
    halo_reproduce::run(&asked(panels), &mut |_, _| {}).unwrap()
}

/// Every panel but the graphs of five, which take long without optimisation.
#[test]
fn every_row_comes_out_as_expected() {
    let names: Vec<&str> = registry()
        .iter()
        .map(|panel| panel.name)
        .filter(|name| *name != "dags")
        .collect();
    let report = run(&names);
    let differing: Vec<String> = report
        .rows()
        .filter(|row| row.same == Same::Differs)
        .map(|row| format!("{}: {}: {:?}", row.panel, row.row, row.ours))
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
    assert_eq!(report.skipped().count(), 0);
    assert!(report.count(Same::Same) >= 60);
    // A merge conflict makes no commit.
    let foretold = report.rows().filter(|row| row.same == Same::Foretold);
    let foretold: Vec<&str> = foretold.map(|row| row.row.as_str()).collect();
    assert_eq!(foretold, ["stale merges: halo-admission"]);
    // Nothing is counted that nobody expected; times are the machine's.
    assert!(
        report
            .rows()
            .all(|row| row.panel == "cost" || row.expected.is_some())
    );
    // Whatever was rejected stands in the ledger: 225 - 108 calls.
    let diversity = report
        .panels
        .iter()
        .find(|panel| panel.panel == "diversity");
    assert_eq!(diversity.unwrap().ledger.len(), 117);
}

#[test]
fn a_seed_repeats_a_run() {
    let rows = |report: Report| serde_json::to_string(&report.panels).unwrap();
    let panels = ["graphs", "gate", "recovery", "git"];
    assert_eq!(rows(run(&panels)), rows(run(&panels)));
}

#[test]
fn every_panel_has_expected_rows_of_its_own() {
    let expected = Expected::recorded().unwrap();
    for panel in registry() {
        let rows = &expected.panel(panel.name).unwrap().rows;
        let names: BTreeSet<&str> = rows.iter().map(|row| row.row.as_str()).collect();
        assert_eq!(names.len(), rows.len(), "{}", panel.name);
        for row in rows {
            for figure in [&row.paper, &row.expect, &row.quick].into_iter().flatten() {
                assert!(Figure::parse(figure).is_some(), "{}: {figure}", row.row);
            }
        }
    }
}

#[test]
fn an_unknown_panel_is_named_with_the_known_ones() {
    let fault = halo_reproduce::run(&asked(&["gates"]), &mut |_, _| {}).unwrap_err();
    assert!(fault.to_string().contains("`gates`"), "{fault}");
    assert!(fault.to_string().contains("recovery"), "{fault}");
}

#[test]
fn progress_grows_to_its_end() {
    let mut told = Vec::new();
    halo_reproduce::run(&asked(&["gate", "race", "graphs"]), &mut |_, done| {
        told.push(done)
    })
    .unwrap();
    assert!(told.is_sorted(), "{told:?}");
    assert_eq!(told.last(), Some(&1.0));
}

#[test]
fn what_is_written_has_its_digest_in_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = run(&["gate", "graphs", "race"]);
    halo_reproduce::write(&mut report, folder.path()).unwrap();
    let manifest = fs::read_to_string(folder.path().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    for name in ["report.json", "rows.csv", "report.html"] {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        assert_eq!(
            manifest["outputs"][name],
            Digest::of(&bytes).to_string(),
            "{name}"
        );
    }
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    for part in [
        "<svg",
        "8 components, seed",
        "Changes after the final decision",
        "halo reproduce gate",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // It needs nothing from elsewhere.
    assert!(!page.contains("src=") && !page.contains("http"), "{page}");
    let csv = fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + report.rows().count());
}

#[test]
fn rates_are_compared_without_rounding() {
    let of = |part, whole| Figure::Of(part, whole);
    assert!(of(392, 2352).has_rate_of(&of(400, 2400)));
    assert!(!of(391, 2352).has_rate_of(&of(400, 2400)));
    assert!(of(0, 98).has_rate_of(&of(0, 100)));
    // Of nothing, nothing is the same.
    assert!(!of(0, 0).has_rate_of(&of(0, 100)));
    assert_eq!(Figure::parse("1,212"), Some(Figure::Count(1212)));
    assert_eq!(Figure::parse("3/12"), Some(of(3, 12)));
    assert_eq!(Figure::parse("a lot"), None);
}
