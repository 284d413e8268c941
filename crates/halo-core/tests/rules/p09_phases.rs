//! P9–P13: closure, phases, their ends and their reasons, emission.

use crate::common::Bench;
use halo_core::{Answer, Outcome, Reply, Settlement};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const CATALOG: &str = r#"
halo: v1
catalog: test
version: "1"
sources: {s: {keyed: true}}
paths: {out: {}}
adapters: {arm: {}}
routes:
  fix: {assignee: ops, ttl: 1h, attempts: 9, scope: dependents, refresh: []}
types:
  act:
    effect: action
    adapter: arm
    payload: {}
    support: [{id: ok, cel: "state.s[component.id].value", route: fix}]
    on_failure: fix
    allows:
      - {type: act, phase: retained}
      - {type: act, phase: dispatched}
      - {type: act, phase: observed}
  note:
    effect: emit
    path: out
    payload: {}
    support: [{id: ok, cel: "state.s[component.id].value", route: fix}]
    allows:
      - {type: act, phase: retained}
      - {type: act, phase: dispatched}
      - {type: act, phase: observed}
      - {type: note, phase: retained}
      - {type: note, phase: emitted}
  after:
    effect: emit
    path: out
    payload: {}
    allows: [{type: act, phase: dispatched, support: until_left}]
"#;

/// Components as `id:type`, then `parent@phase` of each prerequisite; each id's record says that it is supported.
fn bench(components: &[&str]) -> Bench {
    let mut bench = Bench::new(CATALOG);
    let components: Vec<Value> = components.iter().map(|text| component(text)).collect();
    for component in &components {
        let address = format!("s/{}", component["id"].as_str().unwrap());
        bench.set(&address, json!({"value": true}));
    }
    bench
        .submit(json!({"response": "r", "components": components}))
        .unwrap();
    bench
}

fn component(text: &str) -> Value {
    let mut words = text.split(' ');
    let (id, type_) = words.next().unwrap().split_once(':').unwrap();
    let requires: Vec<Value> = words
        .map(|word| word.split_once('@').unwrap())
        .map(|(id, phase)| json!({"id": id, "phase": phase}))
        .collect();
    json!({"id": id, "type": type_, "payload": 0, "requires": requires})
}

fn support(bench: &mut Bench, id: &str, holds: bool) {
    assert_eq!(bench.set(&format!("s/{id}"), json!({"value": holds})), None);
}

#[test]
fn p09_the_greatest_supported_closed_set_is_retained() {
    let mut bench = Bench::new(CATALOG);
    for id in ["a", "c", "d", "e"] {
        support(&mut bench, id, true);
    }
    support(&mut bench, "b", false);
    let components: Vec<Value> = [
        "a:act",
        "b:act",
        "c:note a@retained b@retained",
        "d:note c@retained",
        "e:note a@retained",
    ]
    .map(component)
    .into();
    bench
        .submit(json!({"response": "r", "components": components}))
        .unwrap();
    let stand = |id: &str| bench.stand("r", id);
    assert_eq!(stand("a"), "retained");
    assert_eq!(stand("b"), "withheld predicate:ok");
    assert_eq!(stand("c"), "withheld prerequisite_excluded:b");
    assert_eq!(stand("d"), "withheld prerequisite_excluded:c");
    assert_eq!(stand("e"), "retained");
}

#[test]
fn p09_what_left_counts_through_its_current_support_while_a_dependent_waits() {
    let mut bench = bench(&["a:act", "n:note a@observed"]);
    bench.ask("r", "a");
    assert_eq!(bench.stand("r", "n"), "pending");
    support(&mut bench, "a", false);
    assert_eq!(
        bench.stand("r", "a"),
        "dispatched",
        "what left is not rolled back"
    );
    assert_eq!(bench.stand("r", "n"), "invalidated prerequisite_excluded:a");
    assert_eq!(bench.obligation_state("r", "a"), "none");
}

#[test]
fn p09_support_lost_behind_an_ancestor_that_left_reaches_who_waits() {
    let mut bench = bench(&["a:act", "b:act a@dispatched", "n:note b@observed"]);
    bench.ask("r", "a");
    bench.ask("r", "b");
    support(&mut bench, "a", false);
    assert_eq!(bench.stand("r", "n"), "invalidated prerequisite_excluded:b");
}

#[test]
fn p09_until_left_stops_mattering_once_the_parent_left_and_not_before() {
    let mut early = bench(&["a:act", "n:after a@dispatched"]);
    support(&mut early, "a", false);
    assert_eq!(early.stand("r", "n"), "invalidated prerequisite_excluded:a");

    let mut late = bench(&["a:act", "n:after a@dispatched"]);
    late.answers.insert("arm".into(), Outcome::Lost);
    late.ask("r", "a");
    support(&mut late, "a", false);
    assert_eq!(late.stand("r", "n"), "pending", "in doubt: it left");
    late.settle("r", "a", Settlement::Happened).unwrap();
    assert_eq!(late.stand("r", "n"), "retained");
    assert_eq!(late.emit("r", "n"), Answer::Authorized);
}

#[test]
fn p09_until_left_holds_while_the_parents_call_is_out() {
    let mut bench = bench(&["a:act", "n:after a@dispatched", "m:note a@observed"]);
    bench.hold_outcomes = true;
    bench.ask("r", "a");
    // The call's own effect is seen before its answer.
    support(&mut bench, "a", false);
    assert_eq!(bench.stand("r", "n"), "pending");
    assert_eq!(bench.stand("r", "m"), "invalidated prerequisite_excluded:a");
    bench.finish(bench.at("r", "a"), 1, Outcome::Accepted);
    assert_eq!(bench.stand("r", "n"), "retained");
}

#[test]
fn p09_a_parent_under_way_that_lost_its_support_is_in_no_set() {
    let mut bench = bench(&[
        "a:act",
        "b:act a@retained",
        "n:note b@retained",
        "free:note",
    ]);
    bench.hold_spends = true;
    bench.ask("r", "a");
    bench.ask("r", "b");
    support(&mut bench, "a", false);
    assert_eq!(
        bench.emit("r", "n"),
        Answer::NotRetained,
        "I1: b is not in A*, its parent is not"
    );
    assert_eq!(bench.stand("r", "n"), "invalidated prerequisite_excluded:b");
    assert_eq!(bench.look(bench.at("r", "b")), Answer::PrerequisiteExcluded);
    assert_eq!(bench.look(bench.at("r", "a")), Answer::Unsupported);
    assert_eq!(bench.stand("r", "a"), "withheld predicate:ok");
    assert_eq!(bench.stand("r", "b"), "invalidated prerequisite_excluded:a");
    assert_eq!(bench.stand("r", "free"), "retained");
    assert!(bench.calls().is_empty());
}

#[test]
fn p09_a_parent_that_fails_is_lost_also_for_those_below_one_under_way() {
    let mut bench = bench(&["a:act", "b:act a@retained", "n:note b@retained"]);
    bench.hold_outcomes = true;
    bench.ask("r", "a");
    bench.ask("r", "b");
    bench.finish(bench.at("r", "a"), 1, Outcome::Refused);
    assert_eq!(bench.stand("r", "n"), "invalidated prerequisite_excluded:b");
    bench.finish(bench.at("r", "b"), 1, Outcome::Accepted);
    assert_eq!(bench.phase("r", "b"), "dispatched");
}

#[test]
fn p09_support_that_came_back_before_the_last_look_counts() {
    let mut bench = bench(&["a:act", "b:act a@dispatched", "c:act b@retained"]);
    bench.ask("r", "a");
    bench.hold_spends = true;
    bench.ask("r", "b");
    support(&mut bench, "a", false);
    assert_eq!(bench.phase("r", "c"), "invalidated");
    support(&mut bench, "a", true);
    assert_eq!(
        bench.look(bench.at("r", "b")),
        Answer::Authorized,
        "everything is recomputed"
    );
}

#[test]
fn p09_another_digest_under_the_id_is_not_that_parent() {
    let mut bench = bench(&["a:act", "n:note a@retained"]);
    support(&mut bench, "a", false);
    support(&mut bench, "a", true);
    bench.support("r", "a").unwrap();
    let other = json!([{"id": "a", "type": "act", "payload": "other"}]);
    bench.candidates("r", "a", other).unwrap();
    assert_eq!(bench.phase("r", "a"), "retained");
    // n stays ended; nothing brings it back but its own readmission.
    assert_eq!(bench.stand("r", "n"), "invalidated prerequisite_excluded:a");
}

#[test]
fn p09_who_left_between_candidates_is_judged_with_them() {
    let mut bench = bench(&["a:act", "b:act a@retained", "n:note a@retained b@retained"]);
    bench.ask("r", "a");
    bench.ask("r", "b");
    bench.observe("r", "a", Reply::Failure);
    assert_eq!(
        bench.stand("r", "n"),
        "invalidated prerequisite_excluded:a prerequisite_excluded:b"
    );
    // The same a again: b is in A* with it, and so is n.
    bench.support("r", "a").unwrap();
    let again = json!([
        component("a:act"),
        component("n:note a@retained b@retained")
    ]);
    bench.candidates("r", "a", again).unwrap();
    assert_eq!(
        ["a", "b", "n"].map(|id| bench.phase("r", id)),
        ["retained", "dispatched", "retained"]
    );
    // And b counts through its current support from then on.
    support(&mut bench, "b", false);
    assert_eq!(bench.stand("r", "n"), "invalidated prerequisite_excluded:b");
}

#[test]
fn p10_an_event_reconsiders_what_it_touches_and_its_descendants_only() {
    let mut bench = bench(&["a:act", "b:act", "n:note a@retained", "m:note b@retained"]);
    let before = [bench.view("r", "b"), bench.view("r", "m")].map(|view| format!("{view:?}"));
    let (binding, token) = (bench.view("r", "b").binding, bench.token("r", "b", 1));
    support(&mut bench, "a", false);
    assert_eq!(bench.phase("r", "n"), "invalidated");
    let after = [bench.view("r", "b"), bench.view("r", "m")].map(|view| format!("{view:?}"));
    assert_eq!(before, after);
    assert_eq!(bench.view("r", "b").binding, binding);
    assert_eq!(bench.token("r", "b", 1), token);
}

#[test]
fn p11_retained_when_every_prerequisite_is_reached_and_pending_before() {
    let mut bench = bench(&[
        "a:act",
        "d:note a@dispatched",
        "o:note a@observed",
        "e:note d@emitted",
    ]);
    let phases = |bench: &Bench| ["a", "d", "o", "e"].map(|id| bench.phase("r", id));
    assert_eq!(
        phases(&bench),
        ["retained", "pending", "pending", "pending"]
    );
    bench.ask("r", "a");
    assert_eq!(
        phases(&bench),
        ["dispatched", "retained", "pending", "pending"]
    );
    assert_eq!(bench.emit("r", "e"), Answer::PrerequisiteNotReady);
    bench.emit("r", "d");
    assert_eq!(
        phases(&bench),
        ["dispatched", "emitted", "pending", "retained"]
    );
    bench.observe("r", "a", Reply::Success);
    assert_eq!(
        phases(&bench),
        ["observed", "emitted", "retained", "retained"]
    );
}

#[test]
fn p11_in_doubt_reaches_no_more_than_retained() {
    let mut bench = bench(&["a:act", "r:note a@retained", "d:note a@dispatched"]);
    bench.answers.insert("arm".into(), Outcome::Lost);
    bench.ask("r", "a");
    assert_eq!(
        ["a", "r", "d"].map(|id| bench.phase("r", id)),
        ["in_doubt", "retained", "pending"]
    );
}

#[test]
fn p12_withheld_by_its_own_check_invalidated_by_an_ancestors() {
    let mut bench = bench(&[
        "a:act",
        "b:act a@retained",
        "n:note b@retained a@retained",
        "m:note a@retained",
    ]);
    // a and m lose their own support at once.
    let refused = bench.set_all(&[
        ("s/a", json!({"value": false})),
        ("s/m", json!({"value": false})),
    ]);
    assert!(refused.is_empty());
    assert_eq!(bench.stand("r", "a"), "withheld predicate:ok");
    assert_eq!(bench.stand("r", "b"), "invalidated prerequisite_excluded:a");
    // Direct parents only, by id.
    assert_eq!(
        bench.stand("r", "n"),
        "invalidated prerequisite_excluded:a prerequisite_excluded:b"
    );
    // Its local failures first.
    assert_eq!(
        bench.stand("r", "m"),
        "withheld predicate:ok prerequisite_excluded:a"
    );
    for id in ["a", "b"] {
        assert_eq!(bench.ask_token("r", id, 1), Answer::TokenRevoked);
    }
}

#[test]
fn p12_at_admission_everything_outside_the_set_is_withheld() {
    let mut bench = Bench::new(CATALOG);
    support(&mut bench, "n", true);
    let components: Vec<Value> = ["z:act", "a:act", "n:note z@retained a@retained"]
        .map(component)
        .into();
    bench
        .submit(json!({"response": "r", "components": components}))
        .unwrap();
    assert_eq!(
        bench.stand("r", "n"),
        "withheld prerequisite_excluded:a prerequisite_excluded:z"
    );
}

#[test]
fn p13_an_emission_leaves_once_with_its_emission_id() {
    let mut bench = bench(&["n:note"]);
    assert_eq!(bench.emit("r", "n"), Answer::Authorized);
    assert_eq!(bench.emit("r", "n"), Answer::AlreadyLeft);
    assert_eq!(bench.emissions(), ["n#1"]);
    let digest = bench.view("r", "n").digest.unwrap().to_string();
    let text = serde_json::to_string(
        &json!({"halo": "emission/v1", "response": "r", "id": "n", "generation": 1, "digest": digest}),
    )
    .unwrap();
    let hex: String = Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        bench.emitted[0].emission().to_string(),
        format!("sha256:{hex}")
    );
}

#[test]
fn p13_the_last_check_before_an_emission_is_of_the_moment() {
    let mut bench = bench(&["a:act", "n:note a@retained"]);
    support(&mut bench, "a", false);
    assert_eq!(bench.emit("r", "n"), Answer::NotRetained);
    // An action does not leave through a path.
    let mut bench = self::bench(&["a:act"]);
    assert_ne!(bench.emit("r", "a"), Answer::Authorized);
    assert_eq!(
        (bench.phase("r", "a"), bench.emissions().len()),
        ("retained", 0)
    );
}

#[test]
fn p13_a_crash_in_between_leaves_an_emission_in_doubt() {
    let mut bench = bench(&["n:note", "m:note n@emitted"]);
    bench.hold_outcomes = true;
    bench.emit("r", "n");
    bench.restart();
    assert_eq!(
        ["n", "m"].map(|id| bench.phase("r", id)),
        ["in_doubt", "pending"]
    );
    // An answer from before the crash is none any more.
    bench.finish(bench.at("r", "n"), 1, Outcome::Accepted);
    assert_eq!(bench.phase("r", "n"), "in_doubt");
    assert_eq!(bench.emit("r", "n"), Answer::AlreadyLeft);
    bench.settle("r", "n", Settlement::Happened).unwrap();
    assert_eq!(
        ["n", "m"].map(|id| bench.phase("r", id)),
        ["observed", "retained"]
    );
}
