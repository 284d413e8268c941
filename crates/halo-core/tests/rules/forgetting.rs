//! What is over may be dropped: its numbers, keys, unsettled records and ids stay taken, and nothing else is kept.

use crate::common::{Bench, code};
use halo_core::{
    Answer, ComponentRef, Handled, Input, ObligationId, Outcome, Record, Reply, Settlement, Voice,
};
use serde_json::{Value, json};

const CATALOG: &str = r#"
halo: v1
catalog: test
version: "1"
sources: {s: {}, balance: {keyed: true}}
paths: {out: {}}
adapters: {arm: {}, bank: {}}
routes: {fix: {assignee: ops, ttl: 10s, attempts: 9, refresh: []}}
types:
  act: {effect: action, adapter: arm, payload: {}, support: [{id: s, cel: state.s.value, route: fix}]}
  note: {effect: emit, path: out, payload: {}, allows: [{type: "*", phase: retained}]}
  ticks: {effect: action, adapter: bank, payload: {}, once: payload.key, support: [{id: t, cel: "now < timestamp('2030-01-01T00:00:00Z')"}, {id: s, cel: state.s.value}]}
  once: {effect: action, adapter: bank, payload: {}, once: payload.key}
  briefly: {effect: action, adapter: bank, payload: {}, once: {key: payload.key, for: 10s}}
  asks: {effect: action, adapter: arm, payload: {}, approval: {within: 10s, quorum: 1}}
  pay: {effect: action, adapter: bank, payload: {}, support: [{id: f, cel: "state.balance[payload.from].value >= 1"}], writes: ["balance[payload.from]"]}
"#;

fn bench() -> Bench {
    let mut bench = Bench::new(CATALOG);
    bench.set("s", json!({"value": true}));
    bench.set("balance/A", json!({"value": 100}));
    bench
}

fn text(response: &str, type_: &str, payload: &Value) -> Value {
    json!({"response": response, "components": [{"id": "x", "type": type_, "payload": payload}]})
}

fn submit(bench: &mut Bench, response: &str, type_: &str, payload: Value) -> u32 {
    bench.submit(text(response, type_, &payload)).unwrap()
}

/// Names these, and says which of them went.
fn forget(bench: &mut Bench, responses: &[u32]) -> Vec<u32> {
    let before = bench.records.len();
    let responses = responses.to_vec();
    assert_eq!(bench.input(Input::Forget { responses }), Ok(Handled::Done));
    let gone = |record: &Record| match record {
        Record::Forgotten { response, .. } => *response,
        other => panic!("forgetting decides nothing else: {other:?}"),
    };
    bench.records[before..].iter().map(gone).collect()
}

#[test]
fn what_is_over_goes_and_what_is_not_stays_as_it_is() {
    let mut bench = bench();
    submit(&mut bench, "left", "act", json!(0));
    bench.ask("left", "x");
    submit(&mut bench, "live", "act", json!(0));
    submit(&mut bench, "pending", "asks", json!(0));
    bench.hold_spends = true;
    submit(&mut bench, "armed", "act", json!(0));
    bench.ask("armed", "x");
    bench.hold_spends = false;
    bench.hold_outcomes = true;
    submit(&mut bench, "calling", "act", json!(0));
    bench.ask("calling", "x");
    bench.hold_outcomes = false;
    bench.answers.insert("arm".into(), Outcome::Lost);
    submit(&mut bench, "doubt", "act", json!(0));
    bench.ask("doubt", "x");
    bench.set("s", json!({"value": false}));
    submit(&mut bench, "blocked", "act", json!(0));
    let all: Vec<u32> = (0..bench.engine.response_count()).collect();
    let stands = |bench: &Bench| -> Vec<String> {
        let names = ["live", "pending", "armed", "calling", "doubt", "blocked"];
        names.iter().map(|name| bench.stand(name, "x")).collect()
    };
    let before = stands(&bench);
    // Twice the same, and one that never was.
    let mut named = all.clone();
    named.extend([0, 99]);
    assert_eq!(forget(&mut bench, &named), [0]);
    assert_eq!(stands(&bench), before);
    assert!(bench.engine.response(0).is_none());
    assert!(bench.engine.find_response("left").is_none());
    assert_eq!(bench.engine.forgotten("left"), Some(0));
    assert_eq!(bench.engine.forgotten("live"), None);
}

#[test]
fn each_of_them_goes_once_it_is_over() {
    let mut bench = bench();
    bench.answers.insert("arm".into(), Outcome::Lost);
    submit(&mut bench, "doubt", "act", json!(0));
    bench.ask("doubt", "x");
    bench.set("s", json!({"value": false}));
    submit(&mut bench, "blocked", "act", json!(0));
    assert!(forget(&mut bench, &[0, 1]).is_empty());
    bench.settle("doubt", "x", Settlement::Happened).unwrap();
    assert_eq!(forget(&mut bench, &[0, 1]), [0]);
    let obligation = bench.newest("blocked", "x");
    bench.advance("11s");
    assert_eq!(forget(&mut bench, &[0, 1]), [1]);
    assert!(bench.engine.obligation(obligation).is_none());
    assert_eq!(bench.engine.obligations().count(), 0);
    // Timers of what is gone ring in vain.
    bench.advance("100h");
}

#[test]
fn numbers_are_never_given_again() {
    let mut bench = bench();
    bench.set("s", json!({"value": false}));
    submit(&mut bench, "a", "act", json!(0));
    bench.advance("11s");
    assert_eq!(forget(&mut bench, &[0]), [0]);
    assert_eq!(submit(&mut bench, "b", "act", json!(0)), 1);
    assert_eq!(bench.newest("b", "x"), ObligationId(1));
    let support = Input::Support {
        obligation: ObligationId(0),
    };
    assert_eq!(code(bench.input(support)), "no_obligation");
    bench.set("s", json!({"value": true}));
    submit(&mut bench, "c", "act", json!(0));
    bench.ask("c", "x");
    let first = bench.view("c", "x").sequence.unwrap();
    assert_eq!(forget(&mut bench, &[2]), [2]);
    submit(&mut bench, "d", "act", json!(0));
    assert_eq!(bench.view("d", "x").sequence, Some(first + 1));
}

#[test]
fn the_same_again_makes_nothing_and_other_content_is_a_conflict() {
    let mut bench = bench();
    submit(&mut bench, "r", "act", json!({"a": 1, "b": 2}));
    bench.ask("r", "x");
    assert_eq!(forget(&mut bench, &[0]), [0]);
    // The same value in other words.
    let again =
        r#"{"components":[{"payload":{"b":2.0,"a":1},"type":"act","id":"x"}],"response":"r"}"#;
    let input = |text: &str, owner: &str| Input::Submit {
        owner: owner.into(),
        text: text.into(),
        fallback_id: None,
    };
    let old = Handled::Submitted {
        response: 0,
        new: false,
    };
    assert_eq!(bench.input(input(again, "")), Ok(old));
    let other = text("r", "act", &json!({"a": 1, "b": 3})).to_string();
    assert_eq!(code(bench.input(input(&other, ""))), "response_conflict");
    assert_eq!(bench.engine.response_count(), 1);
    assert_eq!(bench.dispatched.len(), 1);
    // Of another owner it is another response.
    let made = Handled::Submitted {
        response: 1,
        new: true,
    };
    assert_eq!(bench.input(input(&other, "ann")), Ok(made));
}

#[test]
fn a_made_id_is_not_made_twice() {
    let mut bench = bench();
    let nameless = json!({"components": [{"id": "x", "type": "note", "payload": 0}]});
    bench
        .submit(json!({"response": "auto-1", "components": []}))
        .unwrap();
    bench.submit(nameless.clone()).unwrap();
    let second = bench.engine.response_id(1).unwrap().to_owned();
    bench.let_leave();
    assert_eq!(forget(&mut bench, &[0, 1]), [0, 1]);
    bench.submit(nameless).unwrap();
    let third = bench.engine.response_id(2).unwrap();
    assert!(third != second && third != "auto-1", "{third}");
}

#[test]
fn keys_and_unsettled_records_outlive_their_holder() {
    let mut bench = bench();
    submit(&mut bench, "p", "once", json!({"key": "k"}));
    bench.ask("p", "x");
    submit(&mut bench, "w", "pay", json!({"from": "A"}));
    bench.ask("w", "x");
    assert_eq!(forget(&mut bench, &[0, 1]), [0, 1]);
    submit(&mut bench, "q", "once", json!({"key": "k"}));
    assert_eq!(bench.stand("q", "x"), "withheld! once_used");
    submit(&mut bench, "v", "pay", json!({"from": "A"}));
    assert_eq!(bench.ask("v", "x"), Answer::Unsettled);
    bench.advance("1s");
    bench.set("balance/A", json!({"value": 99}));
    assert_eq!(bench.ask("v", "x"), Answer::Authorized);
}

#[test]
fn whatever_is_said_of_it_is_refused_and_changes_nothing() {
    let mut bench = bench();
    submit(&mut bench, "r", "act", json!(0));
    let token = bench.token("r", "x", 1);
    bench.answers.insert("arm".into(), Outcome::Refused);
    bench.ask("r", "x");
    assert_eq!(bench.phase("r", "x"), "failed");
    assert_eq!(forget(&mut bench, &[0]), [0]);
    let component = ComponentRef {
        response: 0,
        position: 0,
    };
    let (response, x) = (halo_core::ResponseName::from("r"), String::from("x"));
    let observe = Input::Observe {
        response: response.clone(),
        component: x.clone(),
        generation: Some(1),
        reply: Reply::Success,
    };
    assert_eq!(code(bench.input(observe)), "no_such_component");
    assert!(bench.contradictions().is_empty());
    let voice = bench.voice("r", "x", "ann", Voice::Approve);
    assert_eq!(code(voice), "no_such_component");
    assert_eq!(code(bench.withdraw("r", "x")), "no_such_component");
    assert_eq!(code(bench.roll("r", "x", None)), "no_such_component");
    let settled = bench.settle("r", "x", Settlement::Happened);
    assert_eq!(code(settled), "no_such_component");
    let asked = bench.ask_with("r", "x", None, Some(token), None);
    assert_eq!(asked, Answer::NoSuchInstance);
    assert_eq!(bench.look(component), Answer::NoSuchInstance);
    let emitted = bench.input(Input::Emit { component });
    assert_eq!(emitted, Ok(Handled::Answered(Answer::NoSuchInstance)));
    bench.finish(component, 1, Outcome::Accepted);
    bench.restart();
    assert_eq!(bench.dispatched.len(), 1);
}

#[test]
fn what_left_is_watched_for_nobody_once_its_dependents_ended() {
    let mut bench = bench();
    let components = json!([{"id": "a", "type": "act", "payload": 0},
        {"id": "n", "type": "note", "payload": 0, "requires": [{"id": "a", "phase": "retained"}]}]);
    bench
        .submit(json!({"response": "r", "components": components}))
        .unwrap();
    bench.ask("r", "a");
    bench.withdraw("r", "n").unwrap();
    assert_eq!(forget(&mut bench, &[0]), [0]);
    // The record that it read changes, and reaches nobody.
    bench.set("s", json!({"value": false}));
    bench.advance("1h");
    assert!(bench.engine.responses().next().is_none());
}

#[test]
fn nothing_of_it_is_left_on_any_list() {
    let mut bench = bench();
    let components = json!([{"id": "a", "type": "ticks", "payload": {"key": "k"}},
        {"id": "b", "type": "ticks", "payload": {"key": "other"}},
        {"id": "n", "type": "note", "payload": 0, "requires": [{"id": "a", "phase": "retained"}]}]);
    bench
        .submit(json!({"response": "r", "components": components}))
        .unwrap();
    bench.ask("r", "a");
    // Watched for the note, until that ends; and nobody looks again.
    bench.withdraw("r", "n").unwrap();
    bench.withdraw("r", "b").unwrap();
    assert_eq!(forget(&mut bench, &[0]), [0]);
    let saved = serde_json::to_value(bench.engine.save()).unwrap();
    let none = json!([]);
    assert_eq!(saved["clock_readers"], none);
    assert_eq!(saved["ledger"]["waiting"], none);
    assert_eq!(saved["responses"], none);
    assert_eq!(saved["obligations"], none);
    for slot in saved["state"]["slots"].as_array().unwrap() {
        assert_eq!(slot["readers"], none, "{slot}");
    }
    // One document for each record, and none of the response.
    assert_eq!(saved["documents"].as_array().unwrap().len(), 2);
}

#[test]
fn keys_that_no_provider_knows_do_not_fill_the_memory() {
    let mut bench = bench();
    submit(&mut bench, "kept", "pay", json!({"from": "kept"}));
    submit(&mut bench, "lives", "pay", json!({"from": "A"}));
    for round in 0..4 {
        let from = |number: u32| json!({"from": format!("{round}-{number}")});
        let numbers: Vec<u32> = (0..50)
            .map(|number| {
                submit(
                    &mut bench,
                    &format!("r{round}-{number}"),
                    "pay",
                    from(number),
                )
            })
            .collect();
        assert_eq!(forget(&mut bench, &numbers), numbers);
    }
    let saved = bench.engine.save();
    let slots = serde_json::to_value(&saved).unwrap()["state"]["slots"].clone();
    let slots = slots.as_array().unwrap();
    assert!(slots.len() <= 2 * 64, "{} of 202", slots.len());
    // What is in use was not touched: the key of a response that is kept, and the record that a live one reads.
    let with_key = |key: &str| slots.iter().filter(|slot| slot["key"] == key).count();
    assert_eq!((with_key("kept"), with_key("A")), (1, 1));
    assert_eq!(bench.ask("lives", "x"), Answer::Authorized);
    // A key that was given up is like one that never was.
    bench.set("balance/0-0", json!({"value": 1}));
    submit(&mut bench, "again", "pay", json!({"from": "0-0"}));
    assert_eq!(bench.ask("again", "x"), Answer::Authorized);
}

#[test]
fn keys_that_time_has_freed_do_not_fill_the_memory() {
    let mut bench = bench();
    submit(&mut bench, "kept", "briefly", json!({"key": "kept"}));
    bench.ask("kept", "x");
    bench.answers.insert("bank".into(), Outcome::Lost);
    submit(&mut bench, "doubt", "briefly", json!({"key": "doubt"}));
    bench.ask("doubt", "x");
    bench.answers.clear();
    for round in 0..4 {
        let numbers: Vec<u32> = (0..50)
            .map(|number| {
                let id = format!("r{round}-{number}");
                let payload = json!({"key": id.as_str()});
                let response = submit(&mut bench, &id, "briefly", payload);
                assert_eq!(bench.ask(&id, "x"), Answer::Authorized);
                response
            })
            .collect();
        assert_eq!(forget(&mut bench, &numbers), numbers);
        bench.advance("11s");
    }
    submit(&mut bench, "now", "briefly", json!({"key": "now"}));
    bench.ask("now", "x");
    let saved = serde_json::to_value(bench.engine.save()).unwrap();
    let once = saved["ledger"]["once"].as_array().unwrap();
    assert!(once.len() <= 2 * 64, "{} of 202", once.len());
    let taken = |key: &str| once.iter().filter(|entry| entry[1] == key).count();
    assert_eq!((taken("kept"), taken("doubt"), taken("now")), (1, 1, 1));
    submit(&mut bench, "s", "briefly", json!({"key": "doubt"}));
    assert_eq!(bench.stand("s", "x"), "withheld! once_used");
    submit(&mut bench, "t", "briefly", json!({"key": "now"}));
    assert_eq!(bench.stand("t", "x"), "withheld! once_used");
    submit(&mut bench, "u", "briefly", json!({"key": "r0-0"}));
    assert_eq!(bench.ask("u", "x"), Answer::Authorized);
}
