//! P1–P3: what is refused whole, and the faults of single components.

use crate::common::Bench;
use halo_core::Milestone;
use serde_json::{Value, json};

const CATALOG: &str = r#"
halo: v1
catalog: test
version: "1"
limits: {components: 8, prerequisites: 8, response_bytes: 2000, payload_bytes: 100, depth: 8}
sources: {s: {}}
paths: {out: {}}
adapters: {arm: {sequences: given}, leg: {}}
types:
  act:
    effect: action
    adapter: arm
    payload: {type: object}
    allows: [{type: "*", phase: retained}]
  move: {effect: action, adapter: leg, payload: {type: object}}
  note:
    effect: emit
    path: out
    payload: {type: object, properties: {n: {type: integer}}}
    allows: [{type: act, phase: retained}, {type: act, phase: observed}, {type: note, phase: retained}]
  report:
    effect: emit
    path: out
    payload: {type: object}
    requires: [{type: act, phase: dispatched}]
"#;

fn note(id: &str, requires: Value) -> Value {
    json!({"id": id, "type": "note", "payload": {}, "requires": requires})
}

fn needs(id: &str, phase: &str) -> Value {
    json!({"id": id, "phase": phase})
}

#[test]
fn p01_refused_whole_in_the_order_of_the_rule() {
    let mut bench = Bench::new(CATALOG);
    let known = json!({"response": "known", "components": []});
    bench.submit(known.clone()).unwrap();
    // Each text has every fault from its code on; only the first is told.
    let long = "x".repeat(2000);
    let cases = [
        (format!("{{\"response\": \"known\", \"bad\": 1, \"pad\": \"{long}\", "), "bad_json"),
        (
            format!("{{\"response\": \"known\", \"bad\": 1, \"pad\": \"{long}\"}}"),
            "too_large",
        ),
        (
            r#"{"response": "known", "catalog": "other", "bad": 1, "components": []}"#.to_owned(),
            "bad_envelope",
        ),
        (r#"{"response": "known", "catalog": "other"}"#.to_owned(), "bad_envelope"),
        (
            json!({"response": "known", "catalog": "other", "components": vec![json!({}); 9]}).to_string(),
            "catalog_mismatch",
        ),
        (
            json!({"response": "known", "catalog_version": "2", "components": vec![json!({}); 9]}).to_string(),
            "catalog_mismatch",
        ),
        (
            json!({"response": "known", "components": vec![json!({}); 9]}).to_string(),
            "too_large",
        ),
        (
            json!({"response": "known", "components": [{"id": "a", "type": "note", "payload": "y".repeat(100)}]})
                .to_string(),
            "too_large",
        ),
        (
            json!({"response": "known", "components": [note("a", json!((0..9).map(|n| needs(&format!("b{n}"), "retained")).collect::<Vec<_>>()))]})
                .to_string(),
            "too_large",
        ),
        (
            json!({"response": "known", "components": [{"id": "a"}]}).to_string(),
            "response_conflict",
        ),
    ];
    for (text, wanted) in cases {
        let refusal = bench.submit_text(&text).unwrap_err();
        assert_eq!(refusal.code.name(), wanted, "{text}: {refusal}");
    }
    assert_eq!(bench.engine.responses().count(), 1, "nothing is stored");
    // The same content again is no conflict and creates nothing, whatever its spelling.
    let again = bench.submit_text("{ \"components\":[] , \"response\" : \"\\u006bnown\"}");
    assert_eq!(again, Ok(0));
    assert_eq!(bench.engine.responses().count(), 1);
}

#[test]
fn p01_text_that_is_not_strict_json_is_bad_json() {
    let mut bench = Bench::new(CATALOG);
    let wrap = |payload: &str| {
        format!("{{\"components\":[{{\"id\":\"a\",\"type\":\"note\",\"payload\":{payload}}}]}}")
    };
    for text in [
        String::new(),
        "{\"components\": []} {}".into(),
        wrap("{\"a\":1,\"a\":1}"),
        wrap("\"\\ud800\""),
        wrap("9007199254740992"),
        wrap("-9007199254740992"),
        wrap("1e400"),
        wrap("1e-400"),
        wrap("[[[[[[1]]]]]]"),
        wrap("NaN"),
        wrap("{\"a\":1,}"),
    ] {
        assert_eq!(
            bench.submit_text(&text).unwrap_err().code.name(),
            "bad_json",
            "{text}"
        );
    }
    let refusal = bench
        .submit_bytes(b"{\"components\":[\"\xff\"]}")
        .unwrap_err();
    assert_eq!(refusal.code.name(), "bad_json");
    // The neighbours of each limit are fine.
    for payload in [
        "9007199254740991",
        "1e300",
        "0e-400",
        "[[[[[1]]]]]",
        "\"\\ud83d\\ude00\"",
    ] {
        bench.submit_text(&wrap(payload)).unwrap();
    }
}

#[test]
fn p01_a_refused_response_uses_no_id_and_no_sequence() {
    let mut bench = Bench::new(CATALOG);
    let act = json!({"id": "a", "type": "act", "payload": {}});
    bench.refused(json!({"response": "r", "catalog": "no", "components": [act]}));
    bench
        .submit(json!({"response": "r", "components": [act]}))
        .unwrap();
    let view = bench.view("r", "a");
    assert_eq!((view.generation, view.sequence), (1, Some(1)));
}

#[test]
fn p02_malformed_components_fall_alone_with_their_dependents() {
    let mut bench = Bench::new(CATALOG);
    bench
        .submit(json!({"response": "r", "components": [
            {"id": "a", "type": "act", "payload": {}, "sequence": 0},
            note("on-a", json!([needs("a", "retained")])),
            note("free", json!([])),
        ]}))
        .unwrap();
    assert_eq!(bench.stand("r", "a"), "withheld! bad_component");
    assert_eq!(bench.stand("r", "on-a"), "withheld prerequisite_excluded:a");
    assert_eq!(bench.stand("r", "free"), "retained");
    let view = bench.view("r", "a");
    assert_eq!(
        (view.binding, view.sequence, view.digest),
        (None, None, None)
    );
    assert!(bench.engine.present("r", "a", 1).is_none());
    assert_eq!(bench.engine.obligations().count(), 0);
}

#[test]
fn p02_all_codes_that_apply_in_the_order_of_the_rule() {
    let mut bench = Bench::new(CATALOG);
    let bad = json!({"id": "dup", "type": "note", "payload": {}, "extra": 1, "requires": [needs("dup", "retained")]});
    // Second bearer: everything a well-kept component can have, at once.
    let second = json!({"id": "dup", "type": "note", "payload": {"n": "x"}, "certificate": {},
        "requires": [needs("gone", "retained"), needs("b", "emitted")]});
    let unknown = json!({"id": "u", "type": "ghost", "payload": {},
        "requires": [needs("gone", "retained"), needs("u", "retained")]});
    let report =
        json!({"id": "rep", "type": "report", "payload": {}, "requires": [needs("b", "retained")]});
    let number = bench
        .submit(json!({"response": "r", "truncated": true, "components": [
            bad, second, unknown, report,
            {"id": "b", "type": "move", "payload": {}, "sequence": 3},
            {"id": "c", "type": "note", "payload": {}, "sequence": 3},
            {"id": "C", "type": "note", "payload": {}, "requires": [needs("u", "retained")]},
        ]}))
        .unwrap();
    let faults = bench.faults(number);
    assert_eq!(faults[0], ["duplicate_id", "bad_component"]);
    assert_eq!(
        faults[1],
        [
            "duplicate_id",
            "payload_schema",
            "missing_reference",
            "prerequisite_not_allowed",
            "certificate_invalid"
        ]
    );
    assert_eq!(faults[2], ["unknown_type", "missing_reference", "cycle"]);
    assert_eq!(
        faults[3],
        ["prerequisite_not_allowed", "mandatory_prerequisite_missing"]
    );
    assert_eq!(faults[4], ["sequence_invalid", "truncated"]);
    assert_eq!(faults[5], ["bad_component"], "a sequence on a non-action");
    // Its reference to an unknown type is not judged again: it falls by closure.
    assert_eq!(faults[6], ["prerequisite_excluded:u"]);
}

#[test]
fn p02_cycles_are_judged_among_ids_with_the_first_bearers_references() {
    let mut bench = Bench::new(CATALOG);
    // b ⇄ c; the second bearer of b refers to nothing, and is on the cycle all the same; a second bearer's own
    // references close no cycle (d, d → x, x → d).
    let number = bench
        .submit(json!({"response": "r", "components": [
            note("b", json!([needs("c", "retained")])),
            note("c", json!([needs("b", "retained")])),
            note("b", json!([])),
            note("below", json!([needs("c", "retained")])),
            note("d", json!([])),
            note("d", json!([needs("x", "retained")])),
            note("x", json!([needs("d", "retained")])),
            note("self", json!([needs("self", "retained")])),
        ]}))
        .unwrap();
    let faults = bench.faults(number);
    assert_eq!(faults[0], ["duplicate_id", "cycle"]);
    assert_eq!(faults[1], ["cycle"]);
    assert_eq!(faults[2], ["duplicate_id", "cycle"]);
    assert_eq!(faults[3], ["prerequisite_excluded:c"], "merely downstream");
    assert_eq!(faults[4], ["duplicate_id"]);
    assert_eq!(faults[5], ["duplicate_id"]);
    assert_eq!(faults[6], ["prerequisite_excluded:d"]);
    assert_eq!(faults[7], ["cycle"]);
}

#[test]
fn p02_a_bad_component_has_no_references_and_so_breaks_a_cycle() {
    let mut bench = Bench::new(CATALOG);
    let number = bench
        .submit(json!({"response": "r", "components": [
            {"id": "a", "type": "note", "payload": {}, "what": 1, "requires": [needs("b", "retained")]},
            note("b", json!([needs("a", "retained")])),
        ]}))
        .unwrap();
    assert_eq!(bench.faults(number)[0], ["bad_component"]);
    assert_eq!(bench.faults(number)[1], ["prerequisite_excluded:a"]);
}

#[test]
fn p02_a_type_that_cannot_reach_the_phase_is_not_allowed() {
    let mut bench = Bench::new(&CATALOG.replace(
        "{type: note, phase: retained}",
        "{type: \"*\", phase: observed}",
    ));
    let number = bench
        .submit(json!({"response": "r", "components": [
            note("n", json!([])),
            note("m", json!([needs("n", "observed")])),
            {"id": "a", "type": "act", "payload": {}},
            note("k", json!([needs("a", "observed")])),
        ]}))
        .unwrap();
    assert_eq!(bench.faults(number)[1], ["prerequisite_not_allowed"]);
    assert!(bench.faults(number)[3].is_empty());
}

#[test]
fn p02_a_later_phase_satisfies_a_mandatory_prerequisite_when_it_is_allowed() {
    let also = CATALOG.replace(
        "requires: [{type: act, phase: dispatched}]",
        "requires: [{type: act, phase: dispatched}]\n    allows: [{type: act, phase: observed}]",
    );
    for (text, observed) in [(CATALOG, vec!["prerequisite_not_allowed"]), (&also, vec![])] {
        let mut bench = Bench::new(text);
        let report = |id: &str, phase: &str| json!({"id": id, "type": "report", "payload": {}, "requires": [needs("a", phase)]});
        let number = bench
            .submit(json!({"response": "r", "components": [
                {"id": "a", "type": "act", "payload": {}},
                report("dispatched", "dispatched"),
                report("observed", "observed"),
                report("retained", "retained"),
            ]}))
            .unwrap();
        let faults = bench.faults(number);
        assert!(faults[1].is_empty());
        assert_eq!(
            faults[2], observed,
            "later, and so not missing; but is it allowed?"
        );
        assert_eq!(
            faults[3],
            ["prerequisite_not_allowed", "mandatory_prerequisite_missing"]
        );
    }
}

#[test]
fn p02_given_sequences_are_claimed_even_by_the_malformed() {
    let mut bench = Bench::new(CATALOG);
    let act = |id: &str, sequence: u64| json!({"id": id, "type": "act", "payload": {}, "sequence": sequence});
    let number = bench
        .submit(json!({"response": "r", "components": [
            {"id": "x", "type": "act", "payload": {}, "sequence": 5, "junk": 0},
            act("a", 5), act("b", 6), act("c", 6), act("d", 1024), act("e", 1025),
        ]}))
        .unwrap();
    let faults = bench.faults(number);
    assert_eq!(
        faults[1],
        ["sequence_invalid"],
        "claimed by a malformed one"
    );
    assert!(faults[2].is_empty());
    assert_eq!(faults[3], ["sequence_invalid"]);
    assert!(faults[4].is_empty(), "1024 above nothing used");
    assert_eq!(faults[5], ["sequence_invalid"], "1025 above");
    // Now 1024 is the highest used: 2048 may be given, 2049 not, 6 was used, 5 never was.
    let number = bench
        .submit(json!({"response": "s", "components": [
            act("a", 6), act("b", 2049), act("c", 2048), act("d", 5),
        ]}))
        .unwrap();
    let faults = bench.faults(number);
    assert_eq!(faults[0], ["sequence_invalid"]);
    assert_eq!(faults[1], ["sequence_invalid"]);
    assert!(faults[2].is_empty() && faults[3].is_empty());
}

#[test]
fn p02_the_catalog_may_refuse_the_whole_response() {
    let strict = CATALOG.replace("version: \"1\"", "version: \"1\"\nmalformed: response");
    let mut bench = Bench::new(&strict);
    let response = json!({"response": "r", "components": [note("a", json!([])), {"id": "b"}]});
    assert_eq!(bench.refused(response), "malformed");
    assert_eq!(bench.engine.responses().count(), 0);
    // A known id is judged before the content.
    bench
        .submit(json!({"response": "r", "components": []}))
        .unwrap();
    assert_eq!(
        bench.refused(json!({"response": "r", "components": [{}]})),
        "response_conflict"
    );
}

#[test]
fn p03_references_are_a_set() {
    let mut bench = Bench::new(CATALOG);
    let twice = json!([
        needs("a", "observed"),
        needs("a", "retained"),
        needs("a", "observed")
    ]);
    bench
        .submit(json!({"response": "r", "components": [
            {"id": "a", "type": "act", "payload": {}},
            note("n", twice),
        ]}))
        .unwrap();
    bench
        .submit(json!({"response": "s", "components": [
            {"id": "a", "type": "act", "payload": {}},
            note("n", json!([needs("a", "retained"), needs("a", "observed")])),
        ]}))
        .unwrap();
    assert_eq!(bench.view("r", "n").digest, bench.view("s", "n").digest);
    // Two phases of one parent are two prerequisites: `retained` alone does not do.
    assert_eq!(bench.phase("r", "n"), "pending");
    bench.ask("r", "a");
    assert_eq!(bench.phase("r", "n"), "pending");
    bench.observe("r", "a", halo_core::Reply::Success);
    assert_eq!(bench.phase("r", "n"), "retained");
    assert!(bench.view("r", "a").phase.reaches(Milestone::Observed));
}
