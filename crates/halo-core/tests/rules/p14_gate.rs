//! P14–P16: tokens, sequences, the critical section and the gate's answers.

use crate::common::{Bench, code};
use halo_core::{Answer, Presented, Settlement, Voice};
use serde_json::{Value, json};

const CATALOG: &str = r#"
halo: v1
catalog: test
version: "1"
sources: {s: {}, t: {}, w: {}}
paths: {out: {}}
adapters: {arm: {sequences: given}, leg: {}}
routes: {fix: {assignee: ops, ttl: 1h, attempts: 9, refresh: []}}
types:
  act:
    effect: action
    adapter: arm
    payload: {}
    bind: [{path: t.value, route: fix, absent: allowed}]
    support: [{id: ok, cel: "state.s.value", route: fix}]
    on_failure: fix
    allows: [{type: act, phase: retained}, {type: act, phase: dispatched}]
  asks: {effect: action, adapter: leg, payload: {}, approval: {within: 1h}, allows: [{type: act, phase: dispatched}]}
  pay: {effect: action, adapter: leg, payload: {}, once: {key: payload.invoice}, writes: [w]}
  reads: {effect: action, adapter: leg, payload: {}, support: [{id: w, cel: "state.w.value >= 0"}]}
  note: {effect: emit, path: out, payload: {}, allows: [{type: act, phase: retained}]}
"#;

fn bench() -> Bench {
    let mut bench = Bench::new(CATALOG);
    bench.set("s", json!({"value": true}));
    bench.set("w", json!({"value": 0}));
    bench
}

fn act(id: &str, sequence: Option<u64>, requires: Value) -> Value {
    let mut act = json!({"id": id, "type": "act", "payload": {"x": 1}, "requires": requires});
    if let Some(sequence) = sequence {
        act["sequence"] = json!(sequence);
    }
    act
}

fn submit(bench: &mut Bench, response: &str, components: Value) {
    bench
        .submit(json!({"response": response, "components": components}))
        .unwrap();
}

#[test]
fn p14_given_sequences_are_reserved_first_the_others_follow_in_order() {
    let mut bench = bench();
    let waits = json!([{"id": "a", "phase": "dispatched"}]);
    submit(
        &mut bench,
        "r",
        json!([
            act("a", None, json!([])),
            act("b", Some(7), json!([])),
            act("pending", Some(3), waits),
            {"id": "bad", "type": "act", "payload": {}, "sequence": 20, "junk": 1},
            act("lost", Some(30), json!([{"id": "bad", "phase": "retained"}])),
            act("c", None, json!([])),
        ]),
    );
    let sequence = |bench: &Bench, response: &str, id: &str| bench.view(response, id).sequence;
    // 20 and 30 were not used: their components are not retained.
    assert_eq!(
        ["a", "b", "pending", "bad", "lost", "c"].map(|id| sequence(&bench, "r", id)),
        [Some(8), Some(7), Some(3), None, None, Some(9)]
    );
    submit(
        &mut bench,
        "s",
        json!([
            act("x", Some(20), json!([])),
            act("y", None, json!([])),
            act("z", Some(5), json!([]))
        ]),
    );
    assert_eq!(
        ["x", "y", "z"].map(|id| sequence(&bench, "s", id)),
        [Some(20), Some(21), Some(5)]
    );
}

#[test]
fn p14_each_instance_has_its_own_token() {
    let mut bench = bench();
    submit(
        &mut bench,
        "r",
        json!([act("a", None, json!([])), act("b", None, json!([]))]),
    );
    let (a, b) = (bench.token("r", "a", 1), bench.token("r", "b", 1));
    assert_ne!(a, b);
    assert_eq!(
        bench.ask_with("r", "a", None, Some(b), None),
        Answer::TokenUnknown
    );
    assert_eq!(
        bench.phase("r", "a"),
        "retained",
        "a wrong token changes nothing"
    );
    assert_eq!(
        bench.ask_with("r", "a", None, Some(a), None),
        Answer::Authorized
    );
}

#[test]
fn p15_what_changes_between_spending_and_last_look_is_denied() {
    let mut bench = bench();
    submit(&mut bench, "r", json!([act("a", None, json!([]))]));
    bench.hold_spends = true;
    assert_eq!(bench.ask("r", "a"), Answer::Authorized, "armed");
    assert_eq!(bench.spends.len(), 1);
    assert_eq!(
        Some(bench.spends[0].binding()),
        bench.view("r", "a").binding
    );
    bench.set("s", json!({"value": false}));
    assert_eq!(
        bench.phase("r", "a"),
        "retained",
        "the last look decides, not an event in between"
    );
    assert_eq!(bench.look(bench.at("r", "a")), Answer::Unsupported);
    assert_eq!(bench.stand("r", "a"), "withheld predicate:ok");
    assert!(bench.calls().is_empty());
    assert_eq!(
        bench.ask_token("r", "a", 1),
        Answer::TokenConsumed,
        "its token stays spent"
    );
    assert_eq!(
        bench.look(bench.at("r", "a")),
        Answer::TokenConsumed,
        "there is one last look"
    );
    assert_eq!(
        bench.obligation_state("r", "a"),
        "dispatched",
        "and it is recoverable as at the gate"
    );
}

#[test]
fn p15_a_changed_witness_is_denied_at_the_last_look() {
    let mut bench = bench();
    submit(&mut bench, "r", json!([act("a", None, json!([]))]));
    bench.hold_spends = true;
    bench.ask("r", "a");
    bench.set("t", json!({"value": 1}));
    assert_eq!(bench.look(bench.at("r", "a")), Answer::WitnessChanged);
    assert_eq!(bench.stand("r", "a"), "withheld witness_changed:t.value");
}

#[test]
fn p15_what_is_not_ready_any_more_is_invalidated_and_frees_its_key() {
    let mut bench = bench();
    let pay = |id: &str| json!({"id": id, "type": "pay", "payload": {"invoice": "i1"}});
    submit(
        &mut bench,
        "r",
        json!([{"id": "x", "type": "reads", "payload": 0}, pay("p")]),
    );
    bench.hold_spends = true;
    bench.ask("r", "x");
    bench.ask("r", "p");
    // The writer passes its last look first: what the reader was armed for is unsettled now.
    assert_eq!(bench.look(bench.at("r", "p")), Answer::Authorized);
    assert_eq!(bench.look(bench.at("r", "x")), Answer::Unsettled);
    assert_eq!(bench.stand("r", "x"), "invalidated unsettled");
    assert_eq!(bench.calls(), ["p#1"]);
}

#[test]
fn p15_a_denied_last_look_frees_the_once_key() {
    let text = CATALOG.replace("writes: [w]}", "support: [{id: ok, cel: state.s.value}]}");
    let mut bench = Bench::new(&text);
    bench.set("s", json!({"value": true}));
    let pay = json!([{"id": "p", "type": "pay", "payload": {"invoice": "i1"}}]);
    submit(&mut bench, "r", pay.clone());
    bench.hold_spends = true;
    bench.ask("r", "p");
    submit(&mut bench, "early", pay.clone());
    assert_eq!(
        bench.stand("early", "p"),
        "withheld! once_used",
        "taken with the token"
    );
    bench.set("s", json!({"value": false}));
    bench.look(bench.at("r", "p"));
    bench.set("s", json!({"value": true}));
    submit(&mut bench, "late", pay);
    assert_eq!(bench.stand("late", "p"), "retained", "free again");
}

#[test]
fn p15_a_rejection_and_a_withdrawal_count_until_the_call() {
    for reject in [true, false] {
        let mut bench = bench();
        let asks = json!([{"id": "x", "type": "asks", "payload": 0}, act("a", None, json!([])),
            {"id": "n", "type": "note", "payload": 0, "requires": [{"id": "a", "phase": "retained"}]}]);
        submit(&mut bench, "r", asks);
        bench.approve("r", "x", "ann");
        bench.hold_spends = true;
        let id = if reject { "x" } else { "a" };
        assert_eq!(bench.ask("r", id), Answer::Authorized);
        if reject {
            let no = Voice::Reject { text: "no".into() };
            bench.voice("r", "x", "bob", no).unwrap();
            assert_eq!(bench.stand("r", "x"), "withheld! rejected");
        } else {
            bench.withdraw("r", "a").unwrap();
            assert_eq!(bench.stand("r", "a"), "withheld! withdrawn");
            assert_eq!(bench.phase("r", "n"), "invalidated");
        }
        assert_eq!(bench.look(bench.at("r", id)), Answer::TokenConsumed);
        assert!(bench.calls().is_empty());
        // After the call both come too late.
        bench.hold_spends = false;
        bench.hold_outcomes = true;
        submit(&mut bench, "s", json!([act("a", None, json!([]))]));
        bench.ask("s", "a");
        assert_eq!(code(bench.withdraw("s", "a")), "not_retained");
    }
}

#[test]
fn p15_withdrawing_an_armed_action_frees_its_key() {
    let mut bench = bench();
    let pay = json!([{"id": "p", "type": "pay", "payload": {"invoice": "i1"}}]);
    submit(&mut bench, "r", pay.clone());
    bench.hold_spends = true;
    bench.ask("r", "p");
    bench.withdraw("r", "p").unwrap();
    submit(&mut bench, "s", pay);
    assert_eq!(bench.stand("s", "p"), "retained");
}

#[test]
fn p16_no_such_instance_comes_before_everything() {
    let mut bench = bench();
    submit(
        &mut bench,
        "r",
        json!([act("a", None, json!([])), {"id": "n", "type": "note", "payload": 0},
        {"id": "u", "type": "ghost", "payload": 0}]),
    );
    for (response, id) in [("r", "none"), ("none", "a"), ("r", "n"), ("r", "u")] {
        let token = Presented::new([0; 16]);
        let answer = bench.ask_with(response, id, Some(json!("tampered")), Some(token), Some(1));
        assert_eq!(answer, Answer::NoSuchInstance, "{response} {id}");
    }
}

#[test]
fn p16_attempts_are_refused_in_order_and_change_nothing() {
    let mut bench = bench();
    submit(
        &mut bench,
        "r",
        json!([act("a", None, json!([])), act("b", None, json!([]))]),
    );
    bench.ask("r", "b");
    let before = format!("{:?}", bench.view("r", "a"));
    let unknown = || Presented::new([0; 16]);
    // Each attempt has the faults of all that follow.
    let tampered = Some(json!({"x": 2}));
    assert_eq!(
        bench.ask_with("r", "a", tampered, Some(unknown()), Some(2)),
        Answer::BindingMismatch
    );
    let same = Some(json!({"x": 1.0}));
    assert_eq!(
        bench.ask_with("r", "a", same.clone(), Some(unknown()), Some(2)),
        Answer::TokenUnknown
    );
    let token = bench.token("r", "a", 1);
    assert_eq!(
        bench.ask_with("r", "a", same.clone(), Some(token.clone()), Some(2)),
        Answer::SequenceUsed
    );
    assert_eq!(format!("{:?}", bench.view("r", "a")), before);
    assert_eq!(
        bench.ask_with("r", "a", same, Some(token), Some(1)),
        Answer::Authorized
    );
    assert_eq!(bench.calls(), ["b#1", "a#1"]);
}

#[test]
fn p16_tokens_by_what_became_of_their_instance() {
    let mut bench = bench();
    submit(
        &mut bench,
        "r",
        json!([act("left", None, json!([])), act("fell", None, json!([]))]),
    );
    let (left, fell) = (bench.token("r", "left", 1), bench.token("r", "fell", 1));
    bench.ask("r", "left");
    bench.set("s", json!({"value": false}));
    submit(&mut bench, "s", json!([act("never", None, json!([]))]));
    let ask = |bench: &mut Bench, response: &str, id: &str, token: &Presented| {
        bench.ask_with(response, id, None, Some(token.clone()), None)
    };
    assert_eq!(ask(&mut bench, "r", "left", &left), Answer::TokenConsumed);
    assert_eq!(ask(&mut bench, "r", "fell", &fell), Answer::TokenRevoked);
    assert_eq!(
        ask(&mut bench, "s", "never", &fell),
        Answer::TokenUnknown,
        "nothing was issued to it"
    );
    // By name.
    assert_eq!(bench.ask("r", "left"), Answer::AlreadyLeft);
    assert_eq!(bench.ask("r", "fell"), Answer::NotRetained);
    assert_eq!(bench.ask("s", "never"), Answer::NotRetained);
    // Of an earlier generation: a spent one is consumed, an unspent one revoked.
    bench.set("s", json!({"value": true}));
    bench.support("r", "fell").unwrap();
    bench
        .candidates("r", "fell", json!([act("fell", None, json!([]))]))
        .unwrap();
    assert_eq!(ask(&mut bench, "r", "fell", &fell), Answer::TokenRevoked);
    assert_eq!(bench.phase("r", "fell"), "retained");
    bench.observe("r", "left", halo_core::Reply::Failure);
    assert_eq!(
        bench.ask("r", "left"),
        Answer::AlreadyLeft,
        "failed included"
    );
    bench.support("r", "left").unwrap();
    bench
        .candidates("r", "left", json!([act("left", None, json!([]))]))
        .unwrap();
    assert_eq!(ask(&mut bench, "r", "left", &left), Answer::TokenConsumed);
    assert_eq!(bench.phase("r", "left"), "retained");
}

#[test]
fn p16_what_the_gate_finds_in_order() {
    let mut bench = bench();
    // Not ready in every way: a prerequisite, an approval, an unsettled record.
    let text = CATALOG.replace(
        "  note:",
        "  all: {effect: action, adapter: leg, payload: {}, approval: {within: 1h}, support: [{id: w, cel: \"state.w.value >= 0\"}], allows: [{type: act, phase: dispatched}]}\n  note:",
    );
    let mut all = Bench::new(&text);
    all.set("s", json!({"value": true}));
    all.set("w", json!({"value": 0}));
    submit(
        &mut all,
        "p",
        json!([{"id": "p", "type": "pay", "payload": {"invoice": "1"}}]),
    );
    submit(
        &mut all,
        "r",
        json!([act("a", None, json!([])),
        {"id": "x", "type": "all", "payload": 0, "requires": [{"id": "a", "phase": "dispatched"}]}]),
    );
    all.ask("p", "p");
    assert_eq!(all.ask("r", "x"), Answer::PrerequisiteNotReady);
    all.ask("r", "a");
    assert_eq!(all.ask("r", "x"), Answer::ApprovalMissing);
    all.approve("r", "x", "ann");
    assert_eq!(all.ask("r", "x"), Answer::Unsettled);
    assert_eq!(all.phase("r", "x"), "pending");
    all.advance("1s");
    all.set("w", json!({"value": 1}));
    assert_eq!(all.phase("r", "x"), "retained");
    assert_eq!(all.ask("r", "x"), Answer::Authorized);

    // A witness that changed, with its path.
    submit(&mut bench, "r", json!([act("a", None, json!([]))]));
    bench.set("t", json!({"value": 5}));
    assert_eq!(
        bench.phase("r", "a"),
        "retained",
        "the bound value matters at the gate"
    );
    assert_eq!(bench.ask("r", "a"), Answer::WitnessChanged);
    assert_eq!(bench.stand("r", "a"), "withheld witness_changed:t.value");
    assert_eq!(bench.obligation("r", "a").reasons.len(), 1);
    assert!(bench.calls().is_empty());
}

#[test]
fn p16_not_ready_is_judged_before_the_witness() {
    let mut bench = bench();
    submit(
        &mut bench,
        "r",
        json!([
            act("a", None, json!([])),
            act("b", None, json!([{"id": "a", "phase": "dispatched"}]))
        ]),
    );
    bench.set("t", json!({"value": 5}));
    assert_eq!(bench.ask("r", "b"), Answer::PrerequisiteNotReady);
    assert_eq!(bench.phase("r", "b"), "pending");
}

#[test]
fn p16_under_way_it_has_left_for_everyone_else() {
    let mut bench = bench();
    submit(&mut bench, "r", json!([act("a", None, json!([]))]));
    bench.hold_spends = true;
    bench.ask("r", "a");
    assert_eq!(bench.ask("r", "a"), Answer::AlreadyLeft);
    assert_eq!(bench.ask_token("r", "a", 1), Answer::TokenConsumed);
    bench.hold_outcomes = true;
    bench.look(bench.at("r", "a"));
    assert_eq!(bench.ask("r", "a"), Answer::AlreadyLeft);
    assert_eq!(bench.calls(), ["a#1"]);
    assert_eq!(
        code(bench.settle("r", "a", Settlement::Happened)),
        "not_in_doubt"
    );
}

/// What an adapter compares with is what the gate compared with.
#[test]
fn p15_a_permit_carries_the_bound_values_as_the_last_look_saw_them() {
    let mut bench = bench();
    bench.set("t", json!({"value": {"head": "abc", "n": 1}}));
    submit(&mut bench, "r", json!([act("a", None, json!([]))]));
    let admitted = bench.engine.bound(bench.at("r", "a"));
    // The same value in a newer record is the same bound value.
    bench.set("t", json!({"epoch": 9, "value": {"n": 1, "head": "abc"}}));
    assert_eq!(bench.ask("r", "a"), Answer::Authorized);
    let permit = bench.dispatched.last().unwrap();
    let expected = [("t.value".into(), r#"{"head":"abc","n":1}"#.to_owned())];
    assert_eq!(permit.bound(), expected);
    assert_eq!(admitted, expected);
    assert_eq!(bench.engine.bound(bench.at("r", "a")), expected);
}

#[test]
fn p15_what_is_absent_is_in_no_permit() {
    let mut bench = bench();
    submit(&mut bench, "r", json!([act("a", None, json!([]))]));
    assert_eq!(bench.ask("r", "a"), Answer::Authorized);
    assert!(bench.dispatched.last().unwrap().bound().is_empty());
}
