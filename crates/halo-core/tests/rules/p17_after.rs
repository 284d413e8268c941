//! P17, P18: what is learned after an action left, and what a restart leaves of authority.

use crate::common::{Bench, code};
use halo_core::{Answer, Outcome, Reply, Settlement};
use serde_json::{Value, json};

const CATALOG: &str = r#"
halo: v1
catalog: test
version: "1"
sources: {s: {}, w: {}, b: {}}
paths: {out: {}}
adapters: {arm: {sequences: given}}
routes: {fix: {assignee: ops, ttl: 10h, attempts: 9, refresh: []}}
types:
  act:
    effect: action
    adapter: arm
    payload: {}
    on_failure: fix
    allows: [{type: act, phase: retained}]
  final: {effect: action, adapter: arm, payload: {}}
  pay:
    effect: action
    adapter: arm
    payload: {}
    once: {key: payload.invoice, for: 1h}
    writes: [w]
    support: [{id: w, cel: "state.w.value >= 0"}]
    on_failure: fix
  reads: {effect: action, adapter: arm, payload: {}, support: [{id: w, cel: "state.w.value >= 0"}]}
  bound:
    effect: action
    adapter: arm
    payload: {}
    bind: [{path: b.value, route: fix}]
    ttl: {max: 10s, route: fix}
    support: [{id: s, cel: state.s.value, route: fix}]
  asks: {effect: action, adapter: arm, payload: {}, approval: {within: 1h, quorum: 2}}
  note: {effect: emit, path: out, payload: {}, allows: [{type: act, phase: dispatched}]}
"#;

fn bench(components: Value) -> Bench {
    let mut bench = Bench::new(CATALOG);
    for (address, value) in [("s", json!(true)), ("w", json!(0)), ("b", json!(1))] {
        bench.set(address, json!({"value": value}));
    }
    bench
        .submit(json!({"response": "r", "components": components}))
        .unwrap();
    bench
}

fn of(id: &str, type_: &str) -> Value {
    json!({"id": id, "type": type_, "payload": {"invoice": "i1"}})
}

fn submit(bench: &mut Bench, response: &str, component: Value) -> String {
    let id = component["id"].as_str().unwrap().to_owned();
    bench
        .submit(json!({"response": response, "components": [component]}))
        .unwrap();
    bench.stand(response, &id)
}

#[test]
fn p17_outcomes_of_a_call() {
    for (outcome, wanted, obligation) in [
        (Outcome::Accepted, "dispatched", "none"),
        (Outcome::Refused, "failed adapter_refused", "dispatched"),
        (Outcome::Lost, "in_doubt", "none"),
    ] {
        let mut bench = bench(json!([of("a", "act"), of("f", "final")]));
        bench.answers.insert("arm".into(), outcome);
        bench.ask("r", "a");
        bench.ask("r", "f");
        assert_eq!(bench.stand("r", "a"), wanted);
        assert_eq!(bench.obligation_state("r", "a"), obligation);
        assert_eq!(
            bench.stand("r", "f"),
            wanted.replace("failed", "failed!"),
            "no route: terminal"
        );
    }
}

type Resolve = Box<dyn Fn(&mut Bench)>;

#[test]
fn p17_in_doubt_is_resolved_by_observation_or_settlement_and_never_sent_again() {
    let observed = |reply| move |bench: &mut Bench| bench.observe("r", "a", reply);
    let settled =
        |settlement| move |bench: &mut Bench| drop(bench.settle("r", "a", settlement).unwrap());
    let resolve: [(Resolve, &str); 4] = [
        (Box::new(observed(Reply::Success)), "observed"),
        (
            Box::new(observed(Reply::Failure)),
            "failed observed_failure",
        ),
        (Box::new(settled(Settlement::Happened)), "observed"),
        (
            Box::new(settled(Settlement::DidNotHappen)),
            "failed did_not_happen",
        ),
    ];
    for (resolve, wanted) in resolve {
        let mut bench = bench(json!([of("a", "act"),
            {"id": "n", "type": "note", "payload": 0, "requires": [{"id": "a", "phase": "dispatched"}]}]));
        bench.answers.insert("arm".into(), Outcome::Lost);
        bench.ask("r", "a");
        assert_eq!(bench.phase("r", "n"), "pending", "dependents wait");
        assert_eq!(bench.ask("r", "a"), Answer::AlreadyLeft);
        bench.restart();
        assert_eq!(bench.phase("r", "a"), "in_doubt");
        resolve(&mut bench);
        assert_eq!(bench.stand("r", "a"), wanted);
        let dependent = if wanted == "observed" {
            "retained"
        } else {
            "invalidated prerequisite_excluded:a"
        };
        assert_eq!(bench.stand("r", "n"), dependent);
        assert_eq!(
            code(bench.settle("r", "a", Settlement::Happened)),
            "not_in_doubt"
        );
        assert_eq!(bench.calls(), ["a#1"]);
    }
}

#[test]
fn p17_a_failed_milestone_fails_what_was_dispatched_and_nothing_else() {
    let mut bench = bench(json!([of("a", "act"), of("b", "act"), of("c", "act")]));
    bench.observe("r", "b", Reply::Failure);
    bench.observe("r", "b", Reply::Success);
    assert_eq!(
        bench.stand("r", "b"),
        "retained",
        "an observation of what did not leave changes nothing"
    );
    bench.ask("r", "a");
    bench.observe("r", "a", Reply::Failure);
    assert_eq!(bench.stand("r", "a"), "failed observed_failure");
    bench.ask("r", "c");
    bench.observe("r", "c", Reply::Success);
    bench.observe("r", "c", Reply::Failure);
    assert_eq!(bench.stand("r", "c"), "observed", "what was observed stays");
    assert!(bench.contradictions().is_empty());
}

#[test]
fn p17_an_observed_success_of_a_failed_action_contradicts() {
    let mut bench = bench(json!([of("p", "pay"), of("x", "reads")]));
    bench.answers.insert("arm".into(), Outcome::Refused);
    bench.ask("r", "p");
    assert_eq!(bench.stand("r", "p"), "failed adapter_refused");
    assert_eq!(
        bench.phase("r", "x"),
        "retained",
        "a refused action unsettles nothing"
    );
    assert_eq!(
        submit(&mut bench, "free", of("q", "pay")),
        "retained",
        "its key is free"
    );
    bench.withdraw("free", "q").unwrap();
    bench.advance("10m");
    bench.observe("r", "p", Reply::Success);
    assert_eq!(
        bench.stand("r", "p"),
        "failed adapter_refused",
        "the phase stays"
    );
    assert_eq!(bench.contradictions(), [(bench.at("r", "p"), 1)]);
    assert_eq!(
        bench.ask("r", "x"),
        Answer::Unsettled,
        "its writes are unsettled"
    );
    assert_eq!(
        submit(&mut bench, "taken", of("q", "pay")),
        "withheld! once_used",
        "its key is taken again"
    );
    // Settled only by what is observed after the contradiction.
    let then = bench.instant(0);
    bench.advance("1s");
    bench.set("w", json!({"observed_at": then, "value": 1}));
    assert_eq!(bench.phase("r", "x"), "pending");
    bench.set("w", json!({"value": 2}));
    assert_eq!(bench.phase("r", "x"), "retained");
    // The key's time counts from the contradiction; equality is past.
    bench.advance("3598s");
    assert_eq!(
        submit(&mut bench, "still", of("q", "pay")),
        "withheld! once_used"
    );
    bench.advance("1s");
    assert_eq!(submit(&mut bench, "past", of("q", "pay")), "retained");
}

#[test]
fn p17_a_contradiction_reaches_a_generation_that_was_replaced() {
    let mut bench = bench(json!([of("p", "pay"), of("x", "reads")]));
    bench.answers.insert("arm".into(), Outcome::Lost);
    bench.ask("r", "p");
    bench.settle("r", "p", Settlement::DidNotHappen).unwrap();
    bench.support("r", "p").unwrap();
    bench.candidates("r", "p", json!([of("p", "pay")])).unwrap();
    assert_eq!(
        (bench.phase("r", "p"), bench.view("r", "p").generation),
        ("retained", 2)
    );
    bench.observe_generation("r", "p", Some(1), Reply::Success);
    assert_eq!(bench.contradictions(), [(bench.at("r", "p"), 1)]);
    // The key is held by generation 1 now: an earlier generation is another instance (P27).
    assert_eq!(bench.stand("r", "p"), "withheld! once_used");
    assert_eq!(bench.ask("r", "x"), Answer::Unsettled);
    // Nothing is known of a generation that never was.
    bench.observe_generation("r", "p", Some(9), Reply::Success);
    assert_eq!(bench.contradictions().len(), 1);
}

#[test]
fn p17_a_late_answer_is_no_answer() {
    let mut bench = bench(json!([of("a", "act")]));
    let at = bench.at("r", "a");
    bench.finish(at, 1, Outcome::Refused);
    assert_eq!(bench.phase("r", "a"), "retained", "nothing was asked");
    bench.hold_outcomes = true;
    bench.ask("r", "a");
    bench.finish(at, 2, Outcome::Accepted);
    assert_eq!(bench.phase("r", "a"), "retained", "of another generation");
    bench.restart();
    assert_eq!(bench.phase("r", "a"), "in_doubt");
    bench.finish(at, 1, Outcome::Refused);
    assert_eq!(bench.phase("r", "a"), "in_doubt", "from before the crash");
}

#[test]
fn p18_no_token_outlives_a_restart() {
    let mut bench = bench(
        json!([of("a", "act"), {"id": "b", "type": "act", "payload": 0, "sequence": 9,
        "requires": [{"id": "a", "phase": "retained"}]}]),
    );
    let (a, b) = (bench.token("r", "a", 1), bench.view("r", "b").binding);
    bench.restart();
    let view = bench.view("r", "b");
    assert_eq!(
        (view.generation, view.sequence, view.phase.name()),
        (2, Some(12), "retained")
    );
    assert_ne!(view.binding, b, "a ledger-given sequence");
    assert_eq!(
        bench.ask_with("r", "a", None, Some(a), None),
        Answer::TokenRevoked
    );
    assert_eq!(bench.ask_token("r", "a", 2), Answer::Authorized);
    assert_eq!(bench.calls(), ["a#2"]);
}

#[test]
fn p18_waiting_time_and_approvals_are_carried_over() {
    let mut bench = bench(json!([of("w", "bound"), of("x", "asks")]));
    bench.approve("r", "x", "ann");
    bench.advance("10s");
    bench.restart();
    assert_eq!(bench.phase("r", "w"), "retained");
    bench.approve("r", "x", "bob");
    assert_eq!(bench.phase("r", "x"), "retained", "ann's approval counts");
    bench.tick();
    assert_eq!(bench.stand("r", "w"), "withheld expired");
}

#[test]
fn p18_a_restart_never_turns_drift_into_authority() {
    let mut bench = bench(json!([of("w", "bound")]));
    bench.set("b", json!({"value": 2}));
    bench.restart();
    assert_eq!(bench.stand("r", "w"), "withheld witness_changed:b.value");
    assert_eq!(bench.obligation_state("r", "w"), "dispatched");
    assert_eq!(bench.ask_token("r", "w", 1), Answer::TokenRevoked);
}

#[test]
fn p18_armed_or_called_at_the_crash_is_in_doubt() {
    for called in [false, true] {
        let mut bench = bench(json!([of("p", "pay"), of("x", "reads"), of("q", "pay")]));
        bench.hold_spends = true;
        bench.hold_outcomes = true;
        bench.ask("r", "p");
        if called {
            bench.look(bench.at("r", "p"));
        }
        bench.restart();
        assert_eq!(bench.phase("r", "p"), "in_doubt");
        assert_eq!(bench.look(bench.at("r", "p")), Answer::TokenConsumed);
        assert_eq!(bench.calls().len(), usize::from(called));
        assert_eq!(
            bench.stand("r", "q"),
            "withheld! once_used",
            "the key is held"
        );
        assert_eq!(
            bench.ask("r", "x"),
            Answer::Unsettled,
            "it may have been sent"
        );
        bench.advance("2h");
        bench.set("w", json!({"value": 1}));
        assert_eq!(
            bench.ask("r", "x"),
            Answer::Unsettled,
            "until it is resolved"
        );
        assert_eq!(
            submit(&mut bench, "s", of("q", "pay")),
            "withheld! once_used",
            "time frees no key in doubt"
        );
        bench.settle("r", "p", Settlement::DidNotHappen).unwrap();
        assert_eq!(bench.phase("r", "x"), "retained");
    }
}

#[test]
fn p18_the_catalog_may_end_the_actions_instead() {
    let text = CATALOG.replace("version: \"1\"", "version: \"1\"\nrestart: invalidate");
    let mut bench = Bench::new(&text);
    bench
        .submit(json!({"response": "r", "components": [of("a", "act"), {"id": "n", "type": "note", "payload": 0}]}))
        .unwrap();
    bench.restart();
    assert_eq!(bench.stand("r", "a"), "invalidated! restart");
    assert_eq!(bench.stand("r", "n"), "retained", "non-actions go on");
    assert_eq!(bench.view("r", "n").generation, 1);
}
