//! `halo admit`.

use crate::run::{Folder, fits, halo, halo_with};
use serde_json::{Value, json};

const FIRST: [&str; 5] = [
    "admit",
    "--catalog",
    "examples/first/catalog.yaml",
    "--state",
    "examples/first/state.yaml",
];
const DEMO: [&str; 7] = [
    "admit",
    "--catalog",
    "examples/demo/catalog.yaml",
    "--state",
    "examples/demo/state.yaml",
    "--now",
    "2026-12-01T09:00:00Z",
];

fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    base.iter().chain(more).copied().collect()
}

fn phases(document: &Value) -> Vec<(String, String)> {
    let components = document["responses"][0]["components"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    components
        .iter()
        .map(|component| (text(&component["id"]), text(&component["phase"])))
        .collect()
}

#[test]
fn what_is_withheld_is_explained_with_a_way_back() {
    let ran = halo(&with(&FIRST, &["examples/first/response.json"]));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.says(&[
        "hello (reply) is retained",
        "may leave now, to customer",
        "back (refund) is withheld",
        "predicate not-more-than-paid",
        "needs payload.amount <= state.orders[payload.order].value.paid",
        "state.orders[payload.order].value.paid is 40",
        "may come back through recheck: support-desk is asked for news of orders/A-17",
        "may replace back, done (attempt 1 of 3)",
        "prerequisite_excluded back",
        "may come back together with back",
    ]);
}

#[test]
fn what_waits_says_for_what() {
    let ran = halo(&with(&DEMO, &["examples/demo/response.json"]));
    assert_eq!(ran.code, 0);
    ran.says(&[
        "2026-12-01T09:00:00Z",
        "waits until fly is dispatched; fly is pending",
    ]);
}

#[test]
fn the_document_is_a_result() {
    let ran = halo(&with(&FIRST, &["--json", "examples/first/response.json"]));
    assert_eq!(ran.code, 0);
    let document = ran.json();
    fits(&document, "result");
    let wanted = [
        ("hello", "retained"),
        ("back", "withheld"),
        ("done", "withheld"),
    ];
    let wanted: Vec<_> = wanted
        .map(|(id, phase)| (id.to_owned(), phase.to_owned()))
        .into();
    assert_eq!(phases(&document), wanted);
    let obligation = &document["obligations"][0];
    assert_eq!(obligation["scope"], json!(["back", "done"]));
    assert_eq!(obligation["refresh"], json!(["orders/A-17"]));
    // Nobody was told: this is only the decision.
    assert_eq!(obligation["state"], "created");
    assert_eq!(document["effects"], json!([]));
}

#[test]
fn the_time_decides_freshness_and_horizon() {
    let mut arguments = with(&DEMO, &["--json", "examples/demo/response.json"]);
    arguments[6] = "2026-12-01T10:00:00Z";
    let ran = halo(&arguments);
    assert_eq!(ran.code, 0);
    let document = ran.json();
    // The state is observed now, whenever that is; the route ends at 09:05 and the map holds until 10:00.
    assert_eq!(phases(&document)[2], ("fly".into(), "pending".into()));
    let folder = Folder::new();
    let state = folder.file(
        "state.json",
        r#"{"map": {"value": {"valid_until": "2026-12-01T09:05:00Z"}}}"#,
    );
    arguments[4] = &state;
    let ran = halo(&arguments);
    let reasons = ran.json()["responses"][0]["components"][2]["reasons"].clone();
    let codes: Vec<_> = reasons
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason["code"].as_str().unwrap())
        .collect();
    assert!(
        codes.contains(&"horizon") && codes.contains(&"state_missing"),
        "{codes:?}"
    );
}

#[test]
fn a_response_refused_whole_is_a_no() {
    for (text, code) in [
        (r#"{"components": [], "components": []}"#, "bad_json"),
        (r#"{"parts": []}"#, "bad_envelope"),
        (
            r#"{"catalog": "other", "components": []}"#,
            "catalog_mismatch",
        ),
    ] {
        let ran = halo_with(text.as_bytes(), &with(&FIRST, &["-", "--json"]));
        assert_eq!(ran.code, 1, "{text}");
        let document = ran.json();
        fits(&document, "result");
        assert_eq!(document["refused"][0]["code"], code);
        assert_eq!(document["ok"], false);
        let ran = halo_with(text.as_bytes(), &with(&FIRST, &["-"]));
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        ran.complains(&["the response is refused", code]);
    }
}

#[test]
fn a_refused_record_is_told_and_missing() {
    let folder = Folder::new();
    let state = folder.file("state.yaml", "orderz/A-17: {value: {paid: 40}}\n");
    let mut arguments = with(&FIRST, &["examples/first/response.json"]);
    arguments[4] = &state;
    let ran = halo(&arguments);
    assert_eq!(ran.code, 0);
    ran.complains(&["a state record is refused: unknown_source"]);
    ran.says(&["state_missing", "absent"]);
}

#[test]
fn unusable_input_is_no_answer() {
    let folder = Folder::new();
    let list = folder.file("state.yaml", "- 1\n");
    let huge = folder.file(
        "huge.yaml",
        "orders/A: {value: {paid: 12345678901234567890}}\n",
    );
    for (state, says) in [
        (&list, "a state is a mapping of records"),
        (&huge, "huge.yaml:1:26: error"),
    ] {
        let mut arguments = with(&FIRST, &["--json", "examples/first/response.json"]);
        arguments[4] = state;
        let ran = halo(&arguments);
        assert_eq!(ran.code, 2);
        ran.complains(&[says]);
        assert!(ran.json()["error"].is_string());
    }
    let mut arguments = with(&DEMO, &["examples/demo/response.json"]);
    arguments[6] = "yesterday";
    assert_eq!(halo(&arguments).code, 2);
    let ran = halo(&with(&FIRST, &["no-such.json"]));
    assert_eq!(ran.code, 2);
    ran.complains(&["no-such.json: cannot be read"]);
}
