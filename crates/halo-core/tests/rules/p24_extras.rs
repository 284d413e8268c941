//! P24–P29: withdrawal, catalogs, time, `once`, approval, `writes`.

use crate::common::{Bench, catalog, code};
use halo_canon::Duration;
use halo_core::{Answer, Outcome, Reply, Settlement, Voice};
use serde_json::{Value, json};

const CATALOG: &str = r#"
halo: v1
catalog: test
version: "1"
sources: {s: {}, f: {}, balance: {keyed: true}, lock: {}}
paths: {out: {}}
adapters: {arm: {}, bank: {}, spare: {}}
routes: {fix: {assignee: ops, ttl: 10h, attempts: 9, refresh: []}}
types:
  act: {effect: action, adapter: arm, payload: {}, support: [{id: s, cel: state.s.value, route: fix}], on_failure: fix}
  note: {effect: emit, path: out, payload: {}, allows: [{type: "*", phase: retained}]}
  fresh: {effect: action, adapter: arm, payload: {}, fresh: {f: 10s}}
  forever: {effect: action, adapter: bank, payload: {}, once: payload.key, on_failure: fix}
  elsewhere: {effect: action, adapter: spare, payload: {}, once: payload.key}
  hourly: {effect: action, adapter: bank, payload: {}, once: {key: "payload.key + '/' + component.type", for: 1h}, on_failure: fix}
  asks: {effect: action, adapter: arm, payload: {}, approval: {within: 10s, quorum: 2, route: fix}, support: [{id: s, cel: state.s.value, route: fix}]}
  pay:
    effect: action
    adapter: bank
    payload: {}
    support: [{id: funds, cel: "state.balance[payload.from].value >= payload.amount", route: fix}]
    writes: ["balance[payload.from]"]
    on_failure: fix
  look: {effect: emit, path: out, payload: {}, support: [{id: funds, cel: "state.balance[payload.from].value >= 0"}]}
  window:
    effect: action
    adapter: spare
    payload: {}
    fresh: {lock: {max_age: 1h, route: fix}}
    temporal: {mode: rolling, window: 2s}
    writes: [lock]
    on_failure: fix
"#;

fn bench() -> Bench {
    let mut bench = Bench::new(CATALOG);
    for (address, value) in [
        ("s", json!(true)),
        ("f", json!(0)),
        ("balance/A", json!(100)),
        ("balance/B", json!(100)),
        ("lock", json!(0)),
    ] {
        bench.set(address, json!({"value": value}));
    }
    bench
}

fn submit(bench: &mut Bench, response: &str, type_: &str, payload: Value) -> String {
    let component = json!({"id": "x", "type": type_, "payload": payload});
    bench
        .submit(json!({"response": response, "components": [component]}))
        .unwrap();
    bench.stand(response, "x")
}

#[test]
fn p24_a_live_instance_is_withdrawn_for_good() {
    let mut bench = bench();
    let components = json!([{"id": "a", "type": "act", "payload": 0},
        {"id": "n", "type": "note", "payload": 0, "requires": [{"id": "a", "phase": "retained"}]}]);
    bench
        .submit(json!({"response": "r", "components": components}))
        .unwrap();
    bench.withdraw("r", "a").unwrap();
    assert_eq!(bench.stand("r", "a"), "withheld! withdrawn");
    assert_eq!(bench.stand("r", "n"), "invalidated prerequisite_excluded:a");
    assert_eq!(bench.ask_token("r", "a", 1), Answer::TokenRevoked);
    assert_eq!(code(bench.withdraw("r", "a")), "not_retained");
    assert_eq!(code(bench.withdraw("r", "zz")), "no_such_component");
}

#[test]
fn p24_with_an_open_obligation_its_phase_stays() {
    let mut bench = bench();
    submit(&mut bench, "r", "act", json!(0));
    bench.answers.insert("arm".into(), Outcome::Refused);
    bench.ask("r", "x");
    bench.withdraw("r", "x").unwrap();
    assert_eq!(bench.stand("r", "x"), "failed! adapter_refused withdrawn");
    assert_eq!(bench.obligation_state("r", "x"), "failed");
    assert_eq!(code(bench.withdraw("r", "x")), "not_retained");
}

#[test]
fn p25_what_was_admitted_under_another_catalog_cannot_leave() {
    let mut bench = bench();
    submit(&mut bench, "r", "act", json!(0));
    submit(&mut bench, "n", "note", json!(0));
    let same = format!("# the same content, another text\n{CATALOG}");
    bench.engine.replace_catalog(catalog(&same));
    assert_eq!(bench.phase("r", "x"), "retained");
    bench.engine.replace_catalog(catalog(
        &CATALOG.replace("version: \"1\"", "version: \"2\""),
    ));
    assert_eq!(bench.ask("r", "x"), Answer::WitnessChanged);
    assert_eq!(bench.stand("r", "x"), "withheld! witness_changed:catalog");
    assert_eq!(bench.emit("n", "x"), Answer::WitnessChanged);
    assert_eq!(bench.stand("n", "x"), "withheld! witness_changed:catalog");
    assert_eq!(submit(&mut bench, "new", "act", json!(0)), "retained");
    assert_eq!(bench.ask("new", "x"), Answer::Authorized);
}

#[test]
fn p25_a_catalog_replaced_between_spending_and_last_look_is_seen() {
    let mut bench = bench();
    submit(&mut bench, "r", "act", json!(0));
    bench.hold_spends = true;
    bench.ask("r", "x");
    bench.engine.replace_catalog(catalog(
        &CATALOG.replace("version: \"1\"", "version: \"2\""),
    ));
    assert_eq!(bench.look(bench.at("r", "x")), Answer::WitnessChanged);
    assert!(bench.calls().is_empty());
}

#[test]
fn p26_a_clock_that_steps_back_makes_nothing_fresh_again() {
    let mut bench = bench();
    submit(&mut bench, "r", "fresh", json!(0));
    bench.advance("10s");
    let late = bench.now;
    bench.now = late.plus(Duration::from_millis(-10_000));
    bench.advance("1s");
    assert_eq!(bench.engine.now(), late, "now never runs backwards");
    assert_eq!(bench.phase("r", "x"), "retained");
    bench.now = late;
    bench.tick();
    assert_eq!(bench.stand("r", "x"), "withheld! stale:f");
    bench.now = late.plus(Duration::from_millis(-10_000));
    assert_eq!(
        submit(&mut bench, "again", "fresh", json!(0)),
        "withheld! stale:f"
    );
}

#[test]
fn p26_what_time_does_happens_before_the_input_that_brought_it() {
    let mut bench = bench();
    submit(&mut bench, "r", "fresh", json!(0));
    bench.now = bench.now.plus(Duration::from_nanos(10_000_000_001));
    // No `Time` first: the update comes too late by itself.
    bench.set("f", json!({"value": 1}));
    assert_eq!(bench.stand("r", "x"), "withheld! stale:f");
}

#[test]
fn p26_every_way_of_submitting_tells_when_to_wake() {
    let mut bench = bench();
    let text = json!({"response": "r", "components": [{"id": "x", "type": "fresh", "payload": 0}]})
        .to_string();
    let submission = halo_core::Submission::parse(text.as_bytes(), bench.engine.catalog()).unwrap();
    bench
        .engine
        .submit_parsed(bench.now, submission, None)
        .unwrap();
    bench.drain();
    let due = bench.now.plus(Duration::from_nanos(10_000_000_001));
    assert!(bench.wakes.contains(&due), "{:?}", bench.wakes);
}

#[test]
fn p27_an_invoice_is_paid_once_in_whatever_response() {
    let mut bench = bench();
    let key = json!({"key": "i1"});
    assert_eq!(submit(&mut bench, "r1", "forever", key.clone()), "retained");
    assert_eq!(
        submit(&mut bench, "r2", "forever", key.clone()),
        "retained",
        "nobody left yet"
    );
    assert_eq!(
        submit(&mut bench, "other", "forever", json!({"key": "i2"})),
        "retained"
    );
    assert_eq!(
        submit(&mut bench, "adapter", "elsewhere", key.clone()),
        "retained"
    );
    bench.ask("r1", "x");
    assert_eq!(
        bench.stand("r2", "x"),
        "withheld! once_used",
        "as soon as the key is taken"
    );
    assert_eq!(
        submit(&mut bench, "r3", "forever", key.clone()),
        "withheld! once_used"
    );
    assert_eq!(bench.phase("other", "x"), "retained");
    assert_eq!(
        bench.phase("adapter", "x"),
        "retained",
        "its own adapter's keys"
    );
    bench.advance("1000h");
    bench.observe("r1", "x", Reply::Success);
    assert_eq!(
        submit(&mut bench, "r4", "forever", key),
        "withheld! once_used"
    );
}

#[test]
fn p27_a_key_is_freed_when_its_action_proves_failed() {
    let mut bench = bench();
    let key = json!({"key": "i1"});
    submit(&mut bench, "r1", "forever", key.clone());
    bench.answers.insert("bank".into(), Outcome::Lost);
    bench.ask("r1", "x");
    assert_eq!(
        submit(&mut bench, "r2", "forever", key.clone()),
        "withheld! once_used",
        "in doubt"
    );
    bench.settle("r1", "x", Settlement::DidNotHappen).unwrap();
    assert_eq!(submit(&mut bench, "r3", "forever", key), "retained");
}

#[test]
fn p27_with_for_until_that_time_has_passed_unless_in_doubt() {
    let mut bench = bench();
    let key = json!({"key": "i1"});
    submit(&mut bench, "r1", "hourly", key.clone());
    bench.ask("r1", "x");
    bench.now = bench.now.plus(Duration::from_nanos(3_599_999_999_999));
    assert_eq!(
        submit(&mut bench, "r2", "hourly", key.clone()),
        "withheld! once_used"
    );
    bench.tick();
    assert_eq!(
        submit(&mut bench, "r3", "hourly", key.clone()),
        "retained",
        "equality is past"
    );
    bench.answers.insert("bank".into(), Outcome::Lost);
    bench.ask("r3", "x");
    bench.advance("5h");
    assert_eq!(
        submit(&mut bench, "r4", "hourly", key.clone()),
        "withheld! once_used"
    );
    bench.settle("r3", "x", Settlement::Happened).unwrap();
    assert_eq!(
        submit(&mut bench, "r5", "hourly", key),
        "retained",
        "resolved, and its time is over"
    );
}

#[test]
fn p27_a_key_that_is_no_text_is_an_error_without_a_route() {
    let mut bench = bench();
    assert_eq!(
        submit(&mut bench, "r1", "forever", json!({"key": 1})),
        "withheld! predicate_error:once"
    );
    assert_eq!(
        submit(&mut bench, "r2", "forever", json!({})),
        "withheld! predicate_error:once"
    );
}

#[test]
fn p27_taken_with_the_token_it_blocks_before_the_call() {
    let mut bench = bench();
    let key = json!({"key": "i1"});
    submit(&mut bench, "r1", "forever", key.clone());
    let with_note = json!([{"id": "x", "type": "forever", "payload": key},
        {"id": "n", "type": "note", "payload": 0, "requires": [{"id": "x", "phase": "retained"}]}]);
    bench
        .submit(json!({"response": "r2", "components": with_note}))
        .unwrap();
    bench.hold_spends = true;
    bench.ask("r1", "x");
    assert_eq!(bench.stand("r2", "x"), "withheld! once_used");
    assert_eq!(
        bench.emit("r2", "n"),
        Answer::NotRetained,
        "its parent is in no set any more"
    );
}

#[test]
fn p28_pending_until_a_quorum_of_different_approvers() {
    let mut bench = bench();
    assert_eq!(submit(&mut bench, "r", "asks", json!(0)), "pending");
    assert_eq!(bench.ask("r", "x"), Answer::ApprovalMissing);
    bench.approve("r", "x", "ann");
    bench.approve("r", "x", "ann");
    assert_eq!(bench.phase("r", "x"), "pending", "one voice, twice");
    bench.approve("r", "x", "bob");
    assert_eq!(bench.phase("r", "x"), "retained");
    assert_eq!(
        code(bench.voice("r", "x", "eve", Voice::Approve)),
        "not_awaiting_approval"
    );
    // The time bounds only the wait for the quorum.
    bench.advance("1h");
    assert_eq!(bench.phase("r", "x"), "retained");
    assert_eq!(bench.ask("r", "x"), Answer::Authorized);
}

#[test]
fn p28_equality_is_in_time_and_past_it_the_approval_expired() {
    let mut bench = bench();
    submit(&mut bench, "r", "asks", json!(0));
    submit(&mut bench, "s", "asks", json!(0));
    bench.approve("r", "x", "ann");
    bench.advance("10s");
    bench.approve("r", "x", "bob");
    assert_eq!(bench.phase("r", "x"), "retained");
    bench.tick();
    assert_eq!(bench.stand("s", "x"), "withheld approval_expired");
    assert_eq!(
        bench.obligation("s", "x").route.name,
        "fix",
        "by the approval's route"
    );
    assert_eq!(bench.phase("r", "x"), "retained");
}

#[test]
fn p28_an_approval_is_of_one_instance_and_ends_with_it() {
    let mut bench = bench();
    submit(&mut bench, "r", "asks", json!(0));
    bench.approve("r", "x", "ann");
    bench.set("s", json!({"value": false}));
    bench.set("s", json!({"value": true}));
    bench.support("r", "x").unwrap();
    bench
        .candidates("r", "x", json!([{"id": "x", "type": "asks", "payload": 0}]))
        .unwrap();
    bench.approve("r", "x", "bob");
    assert_eq!(
        bench.phase("r", "x"),
        "pending",
        "ann approved the first generation"
    );
    let stale = halo_core::Input::Approval {
        response: "r".into(),
        component: "x".into(),
        generation: Some(1),
        by: "ann".into(),
        voice: Voice::Approve,
    };
    assert_eq!(code(bench.input(stale)), "not_awaiting_approval");
    bench.approve("r", "x", "ann");
    assert_eq!(bench.phase("r", "x"), "retained");
}

#[test]
fn p28_a_rejection_counts_until_it_leaves() {
    let mut bench = bench();
    for response in ["before", "after"] {
        submit(&mut bench, response, "asks", json!(0));
    }
    let no = || Voice::Reject {
        text: "too close".into(),
    };
    bench.approve("after", "x", "ann");
    bench.approve("after", "x", "bob");
    for response in ["before", "after"] {
        bench.voice(response, "x", "eve", no()).unwrap();
        assert_eq!(bench.stand(response, "x"), "withheld! rejected");
        let detail = bench.view(response, "x").reasons[0].detail.clone().unwrap();
        assert!(detail.contains("too close"), "{detail}");
        assert_eq!(
            code(bench.voice(response, "x", "eve", no())),
            "not_awaiting_approval"
        );
    }
    submit(&mut bench, "none", "act", json!(0));
    assert_eq!(
        code(bench.voice("none", "x", "ann", Voice::Approve)),
        "not_awaiting_approval"
    );
}

#[test]
fn p29_two_payments_do_not_both_leave_before_the_balance_is_known() {
    let mut bench = bench();
    let pay = |from: &str| json!({"from": from, "amount": 80});
    submit(&mut bench, "r1", "pay", pay("A"));
    submit(&mut bench, "r2", "pay", pay("A"));
    submit(&mut bench, "b", "pay", pay("B"));
    submit(&mut bench, "n", "look", pay("A"));
    bench.ask("r1", "x");
    assert_eq!(bench.phase("r2", "x"), "pending");
    assert_eq!(bench.ask("r2", "x"), Answer::Unsettled);
    assert_eq!(bench.phase("b", "x"), "retained", "another record");
    assert_eq!(bench.phase("n", "x"), "retained", "no action");
    assert_eq!(
        submit(&mut bench, "r3", "pay", pay("A")),
        "pending",
        "admitted later all the same"
    );
    // Observed at the very moment of the outcome is not after it.
    bench.set("balance/A", json!({"value": 100}));
    assert_eq!(bench.phase("r2", "x"), "pending");
    bench.tick();
    bench.set("balance/A", json!({"value": 20}));
    assert_eq!(bench.stand("r2", "x"), "withheld predicate:funds");
    bench.set("balance/A", json!({"value": 500}));
    assert_eq!(submit(&mut bench, "r4", "pay", pay("A")), "retained");
}

#[test]
fn p29_of_one_in_doubt_until_after_it_is_resolved() {
    let mut bench = bench();
    let pay = json!({"from": "A", "amount": 1});
    submit(&mut bench, "r1", "pay", pay.clone());
    submit(&mut bench, "r2", "pay", pay);
    bench.answers.insert("bank".into(), Outcome::Lost);
    bench.ask("r1", "x");
    bench.advance("1s");
    bench.set("balance/A", json!({"value": 50}));
    assert_eq!(bench.phase("r2", "x"), "pending");
    bench.advance("1s");
    bench.settle("r1", "x", Settlement::Happened).unwrap();
    assert_eq!(bench.phase("r2", "x"), "pending");
    bench.advance("1s");
    bench.set("balance/A", json!({"value": 50}));
    assert_eq!(bench.phase("r2", "x"), "retained");
}

#[test]
fn p29_a_failure_seen_later_still_leaves_its_writes_unsettled() {
    let mut bench = bench();
    let pay = json!({"from": "A", "amount": 1});
    submit(&mut bench, "r1", "pay", pay.clone());
    submit(&mut bench, "r2", "pay", pay);
    bench.ask("r1", "x");
    bench.observe("r1", "x", Reply::Failure);
    assert_eq!(bench.phase("r2", "x"), "pending", "it acted");
    bench.tick();
    bench.set("balance/A", json!({"value": 99}));
    assert_eq!(bench.phase("r2", "x"), "retained");
}

#[test]
fn p29_a_later_generation_is_another_instance() {
    let mut bench = bench();
    let pay = json!({"from": "A", "amount": 1});
    submit(&mut bench, "r1", "pay", pay.clone());
    bench.ask("r1", "x");
    bench.observe("r1", "x", Reply::Failure);
    bench.support("r1", "x").unwrap();
    bench
        .candidates(
            "r1",
            "x",
            json!([{"id": "x", "type": "pay", "payload": pay}]),
        )
        .unwrap();
    assert_eq!(
        (bench.view("r1", "x").generation, bench.phase("r1", "x")),
        (2, "pending")
    );
    assert_eq!(
        bench.ask("r1", "x"),
        Answer::Unsettled,
        "what its first generation did to the balance is not known"
    );
    bench.tick();
    bench.set("balance/A", json!({"value": 99}));
    assert_eq!(bench.ask("r1", "x"), Answer::Authorized);
}

#[test]
fn p29_later_windows_of_one_rolling_action_do_not_wait_for_each_other() {
    let mut bench = bench();
    submit(&mut bench, "r", "window", json!(0));
    submit(&mut bench, "s", "window", json!(0));
    bench.ask("r", "x");
    assert_eq!(bench.ask("s", "x"), Answer::Unsettled, "another one waits");
    // The record that the next window needs was observed before the outcome: still unsettled, but not for it.
    bench.now = bench.now.plus(Duration::from_millis(1));
    let seen = bench.instant(0);
    bench.advance("1s");
    bench.set("lock", json!({"observed_at": seen, "value": 0}));
    bench.roll("r", "x", None).unwrap();
    assert_eq!(bench.ask("r", "x"), Answer::Authorized);
    bench.restart();
    assert_eq!(bench.phase("r", "x"), "dispatched");
}

#[test]
fn p29_a_rolling_action_that_came_back_by_recovery_is_no_later_window() {
    let mut bench = bench();
    submit(&mut bench, "r", "window", json!(0));
    bench.ask("r", "x");
    bench.observe("r", "x", Reply::Failure);
    bench.support("r", "x").unwrap();
    bench
        .candidates(
            "r",
            "x",
            json!([{"id": "x", "type": "window", "payload": 0}]),
        )
        .unwrap();
    assert_eq!(bench.ask("r", "x"), Answer::Unsettled);
}

/// What is under way is not taken for pending when its outcome comes and its records are unsettled by another.
#[test]
fn p29_an_outcome_ends_an_attempt_without_a_phase_in_between() {
    for crash in [false, true] {
        let mut bench = bench();
        let pay = json!({"from": "A", "amount": 1});
        submit(&mut bench, "r1", "pay", pay.clone());
        submit(&mut bench, "r2", "pay", pay.clone());
        bench.hold_spends = true;
        bench.hold_outcomes = true;
        bench.ask("r1", "x");
        bench.ask("r2", "x");
        bench.look(bench.at("r1", "x"));
        bench.records.clear();
        if crash {
            // The second one is armed, and the first one's write is unsettled.
            bench.restart();
            assert_eq!(
                ["r1", "r2"].map(|r| bench.phase(r, "x")),
                ["in_doubt", "in_doubt"]
            );
        } else {
            submit(&mut bench, "r0", "pay", json!({"from": "B", "amount": 1}));
            bench.observe("r0", "x", Reply::Success);
            bench.finish(bench.at("r1", "x"), 1, Outcome::Refused);
            assert_eq!(bench.stand("r1", "x"), "failed adapter_refused");
        }
        let passing = bench.records.iter().any(|record| {
            matches!(
                record,
                halo_core::Record::Phase {
                    to: halo_core::Phase::Pending,
                    ..
                }
            )
        });
        assert!(!passing, "{:?}", bench.records);
    }
}

#[test]
fn p29_a_refused_writer_that_another_one_holds_back_just_fails() {
    let mut bench = bench();
    let pay = json!({"from": "A", "amount": 1});
    submit(&mut bench, "failed", "pay", pay.clone());
    bench.answers.insert("bank".into(), Outcome::Refused);
    bench.ask("failed", "x");
    submit(&mut bench, "r", "pay", pay);
    bench.hold_outcomes = true;
    bench.ask("r", "x");
    // A contradiction unsettles the record while the call is out.
    bench.observe("failed", "x", Reply::Success);
    bench.records.clear();
    bench.finish(bench.at("r", "x"), 1, Outcome::Refused);
    assert_eq!(bench.stand("r", "x"), "failed adapter_refused");
    let phases = bench
        .records
        .iter()
        .filter(|record| matches!(record, halo_core::Record::Phase { .. }));
    assert_eq!(phases.count(), 1, "retained → failed");
}
