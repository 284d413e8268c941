//! `halo observe ulog`: a real PX4's logs, alone and beside the journal of a run.

use crate::{
    run::{Folder, halo, halo_with, root},
    serve::{Site, eventually},
};
use serde_json::{Value, json};
use std::fs;

const TWO: &str = "crates/halo-vehicle/tests/logs/px4-offboard-two-setpoints.ulg";
const LOST: &str = "crates/halo-vehicle/tests/logs/px4-offboard-then-lost-stream.ulg";

/// Actions with these setpoints, as a response.
fn response(id: &str, actions: &[(&str, &str)]) -> String {
    let actions: Vec<Value> = actions
        .iter()
        .map(|(id, setpoint)| {
            let setpoint: Value = serde_json::from_str(setpoint).unwrap();
            json!({"id": id, "type": "route", "payload": {"leg": id, "setpoint": setpoint}})
        })
        .collect();
    json!({"response": id, "components": actions}).to_string()
}

const FIRST: &str = r#"{"x": 0, "y": 0, "z": -3.125, "yaw": 0.25}"#;
const SECOND: &str = r#"{"x": 4.5, "y": -2.25, "z": -3.125, "yaw": 0.5}"#;
const NEVER: &str = r#"{"x": 1.001, "y": 0, "z": -3, "yaw": 0}"#;

fn data(site: &Site) -> String {
    site.path().join("data").display().to_string()
}

fn known(site: &Site, epoch: u64) -> crate::serve::Serving {
    let serving = site.serve();
    eventually(|| serving.ask("GET", "/v1/state", None).1["state"]["map"]["epoch"] == epoch);
    serving
}

#[test]
fn a_log_alone() {
    for log in [TWO, LOST] {
        let ran = halo(&["observe", "ulog", log]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.says(&[
            "  (0, 0, -3.125, yaw 0.25)  from ",
            "  (4.5, -2.25, -3.125, yaw 0.5)  from ",
        ]);
        assert_eq!(ran.out.matches("yaw").count(), 2);
        let document = halo(&["observe", "ulog", log, "--json"]).json();
        assert_eq!(document["ok"], true);
        assert_eq!(document["seen"].as_array().map(Vec::len), Some(2));
        assert_eq!(
            document["seen"][1]["bits"],
            "40900000.c0100000.c0480000.3f000000"
        );
        assert_eq!(document["end"], json!({"how": "whole"}));
    }
}

#[test]
fn a_log_that_is_cut_is_read_and_one_that_is_damaged_is_no_answer() {
    let log = fs::read(root().join(TWO)).unwrap();
    let cut = halo_with(&log[..300_001], &["observe", "ulog", "-"]);
    assert_eq!(cut.code, 0, "{}", cut.err);
    cut.says(&["the log is cut at byte ", "(4.5, -2.25, -3.125, yaw 0.5)"]);
    let mut damaged = log[..300_000].to_vec();
    damaged.extend([0; 100]);
    let folder = Folder::new();
    let file = folder.file("damaged.ulg", damaged);
    let ran = halo(&["observe", "ulog", &file]);
    assert_eq!(ran.code, 2);
    ran.says(&[
        "the file is damaged at byte ",
        "(4.5, -2.25, -3.125, yaw 0.5)",
    ]);
    let none = halo(&["observe", "ulog", "Cargo.toml"]);
    assert_eq!(none.code, 2);
    none.says(&["damaged at byte 0 (this is no ULog file)"]);
    let absent = halo(&["observe", "ulog", "no-such.ulg"]);
    assert_eq!(absent.code, 2);
    absent.complains(&["no-such.ulg"]);
}

#[test]
fn what_was_authorized_is_matched_and_what_was_not_sent_is_named() {
    let site = Site::new("0");
    let serving = known(&site, 8);
    let all = response("r-1", &[("a", FIRST), ("b", SECOND), ("c", NEVER)]);
    let (status, answer) = serving.ask("POST", "/v1/responses?wait=10s", Some(&all));
    assert_eq!(status, 201, "{answer}");
    // The journal is in use, and may be.
    let run = data(&site);
    let ran = halo(&["observe", "ulog", TWO, "--run", &run]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    ran.says(&[
        "all that the vehicle accepted was authorized",
        "r-1/a, generation 1, to px4 in record ",
        "authorized, and not seen at the vehicle\n  (1.001, 0, -3, yaw 0)\n    r-1/c",
    ]);
    let document = halo(&["observe", "ulog", LOST, "--run", &run, "--json"]).json();
    let found = &document["run"];
    assert_eq!(found["answer"], "authorized");
    assert_eq!(found["matched"].as_array().map(Vec::len), Some(2));
    let by = &found["matched"][1]["by"][0];
    assert_eq!(by["binding"], answer["components"][1]["binding"]);
    assert_eq!(
        (&by["component"], &by["outcome"]),
        (&json!("b"), &json!("accepted"))
    );
    assert_eq!(found["unseen"][0]["component"], "c");
    // Another vehicle's authority is none for this one.
    let other = halo(&["observe", "ulog", TWO, "--run", &run, "--adapter", "px5"]);
    assert_eq!(other.code, 1);
    other.says(&["accepted, and NOBODY authorized it"]);
}

#[test]
fn what_was_withheld_is_nobodys_authority() {
    let site = Site::new("0");
    let serving = known(&site, 8);
    let first = response("r-1", &[("a", FIRST)]);
    serving.ask("POST", "/v1/responses?wait=10s", Some(&first));
    site.write("map.json", r#"{"epoch":9,"value":{"open":false}}"#);
    eventually(|| serving.ask("GET", "/v1/state", None).1["state"]["map"]["epoch"] == 9);
    let second = response("r-2", &[("b", SECOND)]);
    serving.ask("POST", "/v1/responses", Some(&second));
    assert_eq!(serving.phases("/v1/responses/r-2"), ["withheld"]);
    let odd = response("r-3", &[("c", r#"{"x": 4.5}"#)]);
    site.write("map.json", r#"{"epoch":10,"value":{"open":true}}"#);
    eventually(|| serving.ask("GET", "/v1/state", None).1["state"]["map"]["epoch"] == 10);
    serving.ask("POST", "/v1/responses?wait=10s", Some(&odd));
    let ran = halo(&["observe", "ulog", TWO, "--run", &data(&site)]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    ran.says(&[
        "accepted, and NOBODY authorized it\n  (4.5, -2.25, -3.125, yaw 0.5)",
        "the vehicle accepted what NOBODY authorized",
        "authorized, and no setpoint that can be sent\n  r-3/c: `setpoint` must be an object with exactly x, y, z and yaw",
    ]);
}

#[test]
fn what_was_out_in_a_crash_was_authorized() {
    let site = Site::new("60");
    let serving = known(&site, 8);
    let first = response("r-1", &[("a", FIRST)]);
    serving.ask("POST", "/v1/responses", Some(&first));
    eventually(|| site.calls() == 1);
    serving.signal("-KILL");
    serving.end();
    let ran = halo(&["observe", "ulog", TWO, "--run", &data(&site), "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let found = &ran.json()["run"];
    assert_eq!(found["matched"][0]["by"][0]["outcome"], "not_known");
    assert_eq!(found["unmatched"][0]["x"], 4.5);
}

#[test]
fn a_run_that_is_none_is_no_answer() {
    let folder = Folder::new();
    let ran = halo(&["observe", "ulog", TWO, "--run", folder.path()]);
    assert_eq!(ran.code, 2);
    assert!(!ran.err.is_empty());
}
