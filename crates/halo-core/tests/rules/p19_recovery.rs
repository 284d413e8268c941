//! P19–P23: obligations, fresh readmission, and the next window of a rolling action.

use crate::common::{Bench, code};
use halo_core::{Answer, Input, Reply};
use serde_json::{Value, json};

const CATALOG: &str = r#"
halo: v1
catalog: test
version: "1"
sources: {s: {}, t: {}, k: {keyed: true}, gate: {}}
paths: {out: {}}
adapters: {arm: {sequences: given}}
routes:
  first: {assignee: ops, ttl: 60s, attempts: 2}
  second: {assignee: ops, ttl: 60s, refresh: [t, k]}
  whole: {assignee: ops, ttl: 1h, attempts: 9, scope: dependents, types: [two, other]}
  report: {assignee: ops, ttl: 1h, refresh: [], ready: "state.gate.value.open"}
  again: {assignee: ops, ttl: 60s, retry: 5s}
types:
  two:
    effect: action
    adapter: arm
    payload: {}
    support:
      - {id: s, cel: state.s.value, route: first}
      - {id: t, cel: state.t.value, route: second}
  keyed:
    effect: action
    adapter: arm
    payload: {}
    bind: [{path: "k[payload.key].epoch", route: first, absent: allowed}]
    support: [{id: t, cel: state.t.value, route: second}]
  half:
    effect: action
    adapter: arm
    payload: {}
    support: [{id: s, cel: state.s.value, route: first}, {id: t, cel: state.t.value}]
  root:
    effect: action
    adapter: arm
    payload: {}
    support: [{id: s, cel: state.s.value, route: whole}]
    allows: [{type: "*", phase: retained}]
  other: {effect: action, adapter: arm, payload: {}}
  told: {effect: action, adapter: arm, payload: {}, support: [{id: s, cel: state.s.value, route: again}]}
  ready: {effect: action, adapter: arm, payload: {}, support: [{id: s, cel: state.s.value, route: report}]}
  note:
    effect: emit
    path: out
    payload: {}
    support: [{id: t, cel: state.t.value, route: first}]
    allows: [{type: "*", phase: retained}]
  roll:
    effect: action
    adapter: arm
    payload: {}
    fresh: {s: {max_age: 1h, route: first}, t: {max_age: 1h, route: first}}
    temporal: {mode: rolling, window: 2s}
    writes: [s]
  waits: {effect: emit, path: out, payload: {}, allows: [{type: roll, phase: observed}, {type: roll, phase: dispatched}]}
"#;

fn bench(components: Value) -> Bench {
    let mut bench = Bench::new(CATALOG);
    for (address, value) in [
        ("s", json!(true)),
        ("t", json!(true)),
        ("k/A", json!(1)),
        ("k/B", json!(1)),
    ] {
        bench.set(address, json!({"value": value}));
    }
    bench
        .submit(json!({"response": "r", "components": components}))
        .unwrap();
    bench
}

fn of(id: &str, type_: &str) -> Value {
    json!({"id": id, "type": type_, "payload": {"key": "A"}})
}

fn on(id: &str, type_: &str, parents: &[&str]) -> Value {
    let requires: Vec<Value> = parents
        .iter()
        .map(|id| json!({"id": id, "phase": "retained"}))
        .collect();
    json!({"id": id, "type": type_, "payload": {"key": "A"}, "requires": requires})
}

fn set(bench: &mut Bench, address: &str, value: bool) {
    assert_eq!(bench.set(address, json!({"value": value})), None);
}

fn refresh(bench: &Bench, id: &str) -> Vec<String> {
    let mut refresh: Vec<String> = bench
        .obligation("r", id)
        .refresh
        .into_iter()
        .map(|(address, done)| format!("{address}{}", if done { "+" } else { "" }))
        .collect();
    refresh.sort();
    refresh
}

#[test]
fn p19_recoverable_when_every_failing_check_names_a_route() {
    let mut bench = bench(json!([of("a", "two"), of("h", "half")]));
    bench.set_all(&[
        ("s", json!({"value": false})),
        ("t", json!({"value": false})),
    ]);
    assert_eq!(bench.stand("r", "a"), "withheld predicate:s predicate:t");
    assert_eq!(
        bench.stand("r", "h"),
        "withheld! predicate:s predicate:t",
        "one without makes it terminal"
    );
    assert_eq!(bench.obligation_state("r", "h"), "none");
    // The first failing check's route; the records that all failing checks read.
    let view = bench.obligation("r", "a");
    assert_eq!(
        (view.route.name.as_str(), view.attempt, view.generation),
        ("first", 1, 1)
    );
    assert_eq!(view.scope, ["a"]);
    assert_eq!(view.expires.to_string(), bench.instant(60_000));
    assert_eq!(refresh(&bench, "a"), ["s", "t"]);
}

#[test]
fn p19_the_routes_own_list_names_the_records_in_the_footprint() {
    let mut bench = bench(json!([of("a", "keyed")]));
    set(&mut bench, "t", false);
    assert_eq!(refresh(&bench, "a"), ["k/A", "t"], "k means k/A here");
}

#[test]
fn p19_changed_bound_paths_count_as_refreshed() {
    let mut bench = bench(json!([of("a", "keyed")]));
    bench.set("k/A", json!({"value": 2}));
    assert_eq!(bench.ask("r", "a"), Answer::WitnessChanged);
    assert_eq!(refresh(&bench, "a"), ["k/A+"]);
    assert_eq!(bench.obligation_state("r", "a"), "ready_for_readmission");
}

#[test]
fn p19_attempts_are_counted_by_component_until_they_are_exhausted() {
    let mut bench = bench(json!([of("a", "two")]));
    for attempt in 1..=2 {
        set(&mut bench, "s", false);
        assert_eq!(bench.obligation("r", "a").attempt, attempt);
        set(&mut bench, "s", true);
        bench.candidates("r", "a", json!([of("a", "two")])).unwrap();
        assert_eq!(bench.phase("r", "a"), "retained");
    }
    set(&mut bench, "s", false);
    assert_eq!(
        bench.stand("r", "a"),
        "withheld! predicate:s attempts_exhausted"
    );
    assert_eq!(bench.engine.obligations().count(), 2);
}

#[test]
fn p19_who_fell_with_an_ancestor_only_has_no_obligation() {
    let mut bench = bench(json!([of("a", "root"), on("n", "note", &["a"])]));
    set(&mut bench, "s", false);
    assert_eq!(bench.stand("r", "n"), "invalidated prerequisite_excluded:a");
    assert_eq!(bench.obligation_state("r", "n"), "none");
}

#[test]
fn p20_scope_is_who_fell_with_it_whatever_else_failed_and_whenever() {
    let mut bench = bench(json!([
        on("n", "note", &["a"]),
        of("a", "root"),
        on("late", "root", &["n"]),
        on("own", "note", &["a"]),
        on("gone", "note", &["a"]),
        on("below", "note", &["gone"]),
        of("free", "note"),
        of("other", "root"),
    ]));
    bench.withdraw("r", "gone").unwrap();
    // `below` fell with a terminal component: it leads back to nothing.
    bench.set_all(&[
        ("s", json!({"value": false})),
        ("t", json!({"value": false})),
    ]);
    assert_eq!(
        bench.stand("r", "own"),
        "withheld predicate:t prerequisite_excluded:a"
    );
    assert_eq!(
        bench.stand("r", "late"),
        "withheld predicate:s prerequisite_excluded:n"
    );
    assert_eq!(bench.obligation("r", "a").scope, ["n", "a", "late", "own"]);
    assert_eq!(bench.obligation("r", "other").scope, ["other"]);
    assert_eq!(
        bench.obligation("r", "late").scope,
        ["late"],
        "below it nothing fell"
    );
}

#[test]
fn p20_candidates_outside_the_scope_are_refused_before_anything_else() {
    let mut bench = bench(json!([
        of("a", "two"),
        on("n", "note", &["a"]),
        of("free", "note")
    ]));
    set(&mut bench, "s", false);
    // The obligation's state is judged before the scope.
    assert_eq!(
        code(bench.candidates("r", "a", json!([of("free", "note")]))),
        "obligation_not_ready"
    );
    set(&mut bench, "s", true);
    let before = format!("{:?}", bench.engine.response(0).unwrap());
    for candidates in [
        json!([of("a", "two"), of("free", "note")]),
        json!([of("a", "two"), of("n", "note")]),
        json!([of("a", "two"), of("nobody", "note")]),
        json!([{"id": "free"}, {"id": "a"}]),
    ] {
        assert_eq!(code(bench.candidates("r", "a", candidates)), "out_of_scope");
    }
    assert_eq!(
        format!("{:?}", bench.engine.response(0).unwrap()),
        before,
        "I5"
    );
    assert_eq!(bench.obligation("r", "a").attempt, 1, "not even an attempt");
    assert_eq!(bench.obligation_state("r", "a"), "ready_for_readmission");
}

#[test]
fn p20_another_type_only_where_the_route_lists_it_and_dependents_keep_their_prerequisites() {
    let mut bench = bench(json!([of("a", "root"), on("n", "note", &["a"])]));
    set(&mut bench, "s", false);
    set(&mut bench, "s", true);
    let refused =
        |bench: &mut Bench, candidates: Value| code(bench.candidates("r", "a", candidates));
    assert_eq!(
        refused(&mut bench, json!([of("a", "ready")])),
        "bad_candidate"
    );
    assert_eq!(
        refused(&mut bench, json!([of("a", "other"), of("n", "note")])),
        "bad_candidate"
    );
    assert_eq!(
        refused(&mut bench, json!([on("n", "note", &["a"])])),
        "bad_candidate",
        "none for the blocked one"
    );
    bench
        .candidates("r", "a", json!([of("a", "other"), on("n", "note", &["a"])]))
        .unwrap();
    assert_eq!(
        ["a", "n"].map(|id| bench.stand("r", id)),
        ["retained", "retained"]
    );
    assert_eq!(bench.view("r", "a").type_name, "other");
}

#[test]
fn p21_from_created_to_discharged() {
    let mut bench = bench(json!([of("a", "two")]));
    bench.hold_tells = true;
    bench.set_all(&[
        ("s", json!({"value": false})),
        ("t", json!({"value": false})),
    ]);
    let state = |bench: &Bench| bench.obligation_state("r", "a");
    assert_eq!(state(&bench), "created");
    bench.tell(bench.newest("r", "a"));
    assert_eq!(state(&bench), "dispatched");
    set(&mut bench, "t", true);
    assert_eq!(state(&bench), "external_support_received");
    assert_eq!(
        code(bench.candidates("r", "a", json!([of("a", "two")]))),
        "obligation_not_ready"
    );
    bench.support("r", "a").unwrap();
    assert_eq!(
        state(&bench),
        "external_support_received",
        "a report alone makes it no readier"
    );
    // A refused update refreshes nothing; the same value again does.
    bench.set(
        "s",
        json!({"observed_at": bench.instant(-1), "value": true}),
    );
    assert_eq!(state(&bench), "external_support_received");
    set(&mut bench, "s", false);
    assert_eq!(state(&bench), "ready_for_readmission");
    assert_eq!(
        bench.stand("r", "a"),
        "withheld predicate:s predicate:t",
        "readiness authorizes nothing"
    );
    bench.candidates("r", "a", json!([of("a", "two")])).unwrap();
    assert_eq!(
        bench.engine.obligations().next().unwrap().state.name(),
        "discharged"
    );
    let old = halo_core::ObligationId(0);
    assert_eq!(
        code(bench.input(Input::Support { obligation: old })),
        "obligation_closed"
    );
    let candidates = json!([of("zzz", "two")]).to_string().as_str().into();
    assert_eq!(
        code(bench.input(Input::Candidates {
            obligation: old,
            candidates
        })),
        "obligation_closed"
    );
    let none = halo_core::ObligationId(99);
    assert_eq!(
        code(bench.input(Input::Support { obligation: none })),
        "no_obligation"
    );
}

#[test]
fn p21_updates_before_its_handler_was_told_count() {
    let mut bench = bench(json!([of("a", "two")]));
    bench.hold_tells = true;
    set(&mut bench, "s", false);
    set(&mut bench, "s", true);
    assert_eq!(bench.obligation_state("r", "a"), "created");
    bench.tell(bench.newest("r", "a"));
    assert_eq!(bench.obligation_state("r", "a"), "ready_for_readmission");
}

#[test]
fn p21_with_nothing_to_refresh_a_report_and_the_condition_make_it_ready() {
    let mut bench = bench(json!([of("a", "ready")]));
    set(&mut bench, "s", false);
    let open = |bench: &mut Bench, open: bool| bench.set("gate", json!({"value": {"open": open}}));
    open(&mut bench, true);
    assert_eq!(
        bench.obligation_state("r", "a"),
        "dispatched",
        "the condition alone is no report"
    );
    open(&mut bench, false);
    bench.support("r", "a").unwrap();
    assert_eq!(
        bench.obligation_state("r", "a"),
        "external_support_received"
    );
    open(&mut bench, true);
    assert_eq!(
        bench.obligation_state("r", "a"),
        "ready_for_readmission",
        "at a later event"
    );
}

#[test]
fn p21_timed_out_at_creation_plus_ttl() {
    let mut bench = bench(json!([of("a", "two")]));
    set(&mut bench, "s", false);
    set(&mut bench, "s", true);
    bench.now = bench
        .now
        .plus(halo_canon::Duration::from_nanos(59_999_999_999));
    bench.advance("0ms");
    assert_eq!(bench.obligation_state("r", "a"), "ready_for_readmission");
    bench.tick();
    assert_eq!(bench.obligation_state("r", "a"), "timed_out");
    assert_eq!(
        code(bench.candidates("r", "a", json!([of("a", "two")]))),
        "obligation_closed"
    );
    assert_eq!(
        bench.stand("r", "a"),
        "withheld predicate:s",
        "not terminal: another scope may bring it back"
    );
}

#[test]
fn p21_a_refusal_of_the_assignee_is_final() {
    let mut bench = bench(json!([of("a", "two")]));
    set(&mut bench, "s", false);
    let obligation = bench.newest("r", "a");
    bench
        .input(Input::Refuse {
            obligation,
            text: "never".into(),
        })
        .unwrap();
    assert_eq!(bench.obligation_state("r", "a"), "failed");
    assert_eq!(bench.stand("r", "a"), "withheld! predicate:s refused");
    assert_eq!(
        bench.view("r", "a").reasons[1].detail.as_deref(),
        Some("never")
    );
}

#[test]
fn p21_the_handler_is_told_again_until_it_is_ready() {
    let mut bench = bench(json!([of("a", "told")]));
    set(&mut bench, "s", false);
    assert_eq!(bench.told.len(), 1);
    bench.advance("5s");
    assert_eq!(bench.told.len(), 2);
    bench.advance("4s");
    assert_eq!(bench.told.len(), 2);
    bench.advance("1s");
    assert_eq!(bench.told.len(), 3);
    set(&mut bench, "s", true);
    bench.advance("20s");
    assert_eq!(bench.told.len(), 3);
}

#[test]
fn p22_fresh_admission_gives_a_new_generation_token_and_sequence() {
    let mut bench = bench(json!([{"id": "a", "type": "two", "payload": 0, "sequence": 5}]));
    let old = bench.token("r", "a", 1);
    set(&mut bench, "s", false);
    set(&mut bench, "s", true);
    // Its own old sequence was used; that is a malformed candidate.
    let used = json!([{"id": "a", "type": "two", "payload": 0, "sequence": 5}]);
    assert_eq!(code(bench.candidates("r", "a", used)), "bad_candidate");
    assert_eq!(
        bench.obligation("r", "a").attempt,
        2,
        "which costs an attempt"
    );
    assert_eq!(bench.obligation_state("r", "a"), "ready_for_readmission");
    bench
        .candidates("r", "a", json!([{"id": "a", "type": "two", "payload": 0}]))
        .unwrap();
    let view = bench.view("r", "a");
    assert_eq!(
        (view.generation, view.sequence, view.phase.name()),
        (2, Some(6), "retained")
    );
    assert_eq!(
        bench.ask_with("r", "a", None, Some(old), None),
        Answer::TokenRevoked
    );
    assert_eq!(bench.ask_token("r", "a", 2), Answer::Authorized);
}

#[test]
fn p22_bad_candidates_use_up_the_attempts() {
    let mut bench = bench(json!([of("a", "two")]));
    set(&mut bench, "s", false);
    set(&mut bench, "s", true);
    for (attempt, state) in [(2, "ready_for_readmission"), (3, "failed")] {
        assert_eq!(
            code(bench.candidates("r", "a", json!([{"id": "a", "type": "two"}]))),
            "bad_candidate"
        );
        assert_eq!(
            (
                bench.obligation("r", "a").attempt,
                bench.obligation_state("r", "a")
            ),
            (attempt, state)
        );
    }
    assert_eq!(
        (bench.view("r", "a").generation, bench.phase("r", "a")),
        (1, "withheld")
    );
}

#[test]
fn p22_acceptance_discharges_even_when_the_candidate_is_withheld() {
    let mut bench = bench(json!([of("a", "two")]));
    set(&mut bench, "s", false);
    set(&mut bench, "s", false);
    bench.candidates("r", "a", json!([of("a", "two")])).unwrap();
    let states: Vec<&str> = bench
        .engine
        .obligations()
        .map(|view| view.state.name())
        .collect();
    assert_eq!(
        states,
        ["discharged", "dispatched"],
        "and may create the next obligation"
    );
    let newest = bench.obligation("r", "a");
    assert_eq!((newest.generation, newest.attempt), (2, 2));
}

#[test]
fn p22_it_discharges_the_obligations_of_the_others_replaced() {
    let mut bench = bench(json!([of("a", "root"), on("own", "note", &["a"])]));
    bench.set_all(&[
        ("s", json!({"value": false})),
        ("t", json!({"value": false})),
    ]);
    assert_eq!(bench.obligation_state("r", "own"), "dispatched");
    bench.set_all(&[("s", json!({"value": true})), ("t", json!({"value": true}))]);
    bench
        .candidates(
            "r",
            "a",
            json!([of("a", "root"), on("own", "note", &["a"])]),
        )
        .unwrap();
    let states: Vec<&str> = bench
        .engine
        .obligations()
        .map(|view| view.state.name())
        .collect();
    assert_eq!(states, ["discharged", "discharged"]);
    assert_eq!(
        ["a", "own"].map(|id| bench.view("r", id).generation),
        [2, 2]
    );
}

#[test]
fn p22_only_what_ended_and_is_not_terminal_is_replaced() {
    let mut bench = bench(json!([
        of("a", "root"),
        on("n", "note", &["a"]),
        on("m", "note", &["a"])
    ]));
    bench.set_all(&[
        ("s", json!({"value": false})),
        ("t", json!({"value": false})),
    ]);
    assert_eq!(bench.obligation("r", "a").scope, ["a", "n", "m"]);
    bench.withdraw("r", "m").unwrap();
    bench.set_all(&[("s", json!({"value": true})), ("t", json!({"value": true}))]);
    let all = json!([
        of("a", "root"),
        on("n", "note", &["a"]),
        on("m", "note", &["a"])
    ]);
    assert_eq!(
        code(bench.candidates("r", "a", all)),
        "bad_candidate",
        "m was withdrawn meanwhile"
    );
    bench
        .candidates("r", "a", json!([of("a", "root"), on("n", "note", &["a"])]))
        .unwrap();
    assert_eq!(
        ["a", "n", "m"].map(|id| bench.view("r", id).generation),
        [2, 2, 1]
    );
}

#[test]
fn p22_candidates_may_not_close_a_cycle() {
    let mut bench = bench(json!([of("a", "root"), on("b", "root", &["a"])]));
    set(&mut bench, "s", false);
    set(&mut bench, "s", true);
    assert_eq!(
        code(bench.candidates("r", "a", json!([on("a", "root", &["b"])]))),
        "bad_candidate"
    );
    let both = json!([on("a", "root", &["b"]), on("b", "root", &["a"])]);
    assert_eq!(code(bench.candidates("r", "a", both)), "bad_candidate");
    assert_eq!(bench.view("r", "a").generation, 1);
}

#[test]
fn p23_a_window_needs_its_records_seen_anew() {
    let mut bench = bench(json!([of("w", "roll"), of("a", "two")]));
    assert_eq!(code(bench.roll("r", "a", None)), "not_rolling");
    assert_eq!(
        code(bench.roll("r", "w", Some(json!([])))),
        "not_rolling",
        "it did not leave yet"
    );
    bench.ask("r", "w");
    assert_eq!(
        bench.dispatched[0].valid_until().unwrap().to_string(),
        bench.instant(2_000)
    );
    bench.advance("1s");
    set(&mut bench, "s", true);
    assert_eq!(
        code(bench.roll("r", "w", None)),
        "not_refreshed",
        "t was not"
    );
    bench.set(
        "t",
        json!({"observed_at": bench.instant(-1_000), "value": true}),
    );
    assert_eq!(
        code(bench.roll("r", "w", None)),
        "not_refreshed",
        "it was, but not observed later"
    );
    set(&mut bench, "t", true);
    let (digest, old) = (bench.view("r", "w").digest, bench.token("r", "w", 1));
    bench.roll("r", "w", None).unwrap();
    let view = bench.view("r", "w");
    assert_eq!(
        (view.generation, view.phase.name(), view.digest),
        (2, "retained", digest)
    );
    assert_eq!(view.sequence, Some(3), "ledger-given");
    assert_eq!(
        bench.ask_with("r", "w", None, Some(old), None),
        Answer::TokenConsumed
    );
    assert_eq!(bench.ask("r", "w"), Answer::Authorized);
    assert_eq!(
        bench.dispatched[1].valid_until().unwrap().to_string(),
        bench.instant(2_000)
    );
    assert_eq!(code(bench.roll("r", "w", None)), "not_refreshed");
    bench.observe("r", "w", Reply::Failure);
    assert_eq!(code(bench.roll("r", "w", None)), "not_rolling", "it failed");
}

#[test]
fn p23_dependents_wait_through_windows_of_one_digest_and_fall_with_another() {
    let dependents = json!([of("w", "roll"),
        {"id": "d", "type": "waits", "payload": 0, "requires": [{"id": "w", "phase": "dispatched"}]},
        {"id": "o", "type": "waits", "payload": 0, "requires": [{"id": "w", "phase": "observed"}]}]);
    let mut bench = bench(dependents);
    bench.ask("r", "w");
    let phases = |bench: &Bench| ["w", "d", "o"].map(|id| bench.phase("r", id));
    assert_eq!(phases(&bench), ["dispatched", "retained", "pending"]);
    bench.advance("1s");
    bench.set_all(&[("s", json!({"value": true})), ("t", json!({"value": true}))]);
    bench.roll("r", "w", None).unwrap();
    assert_eq!(
        phases(&bench),
        ["retained", "pending", "pending"],
        "the new window has not left"
    );
    bench.ask("r", "w");
    assert_eq!(phases(&bench), ["dispatched", "retained", "pending"]);
    bench.advance("1s");
    bench.set_all(&[("s", json!({"value": true})), ("t", json!({"value": true}))]);
    bench.roll("r", "w", Some(json!({"other": 1}))).unwrap();
    assert_eq!(phases(&bench), ["retained", "invalidated", "invalidated"]);
}

#[test]
fn p23_a_bad_window_is_refused_and_the_old_one_stays() {
    let mut bench = bench(json!([of("w", "roll")]));
    bench.ask("r", "w");
    bench.advance("1s");
    bench.set_all(&[("s", json!({"value": true})), ("t", json!({"value": true}))]);
    let input = Input::Roll {
        response: "r".into(),
        component: "w".into(),
        payload: Some("{".into()),
    };
    assert_eq!(code(bench.input(input)), "bad_candidate");
    assert_eq!(
        (bench.view("r", "w").generation, bench.phase("r", "w")),
        (1, "dispatched")
    );
}
