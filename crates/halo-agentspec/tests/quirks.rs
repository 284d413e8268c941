//! What the interpreter shares with the reference although one would not expect it, and where it deliberately differs.
//!
//! The numbers are those of `docs/AGENTSPEC.md`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use halo_agentspec::{
    Mode,
    interpret::{Action, Decision, Fault, Registry, Ruling, decide, triggered},
    read,
    syntax::Rule,
};
use halo_canon::Document;

fn rules(text: &str) -> Vec<Rule> {
    read("t.rules", text, Mode::Extended).unwrap()
}

/// One rule with this check and these enforcements, for the tool `t`.
fn rule(check: &str, enforce: &str) -> Vec<Rule> {
    rules(&format!(
        "rule @r trigger t check {check} enforce {enforce} end"
    ))
}

fn json(text: &str) -> Document {
    Document::parse(text.as_bytes(), 16).unwrap()
}

/// `yes`, `no`, `fails`, and `big`, which looks at the input and at the state.
fn registry() -> Registry<f64> {
    let mut registry = Registry::default();
    registry.insert("yes", |_, _, _| Ok(true));
    registry.insert("no", |_, _, _| Ok(false));
    registry.insert("fails", |_, _, _| Err("the host is down".to_owned()));
    registry.insert("asked_to", |user, _, _| Ok(user.contains("please")));
    registry.insert("big", |_, input, limit: &f64| {
        let amount = input.and_then(|input| input.get("amount"));
        let amount = amount.and_then(halo_canon::Value::as_f64);
        amount
            .map(|amount| amount > *limit)
            .ok_or_else(|| "no amount".to_owned())
    });
    registry
}

fn decided(rules: &[Rule], name: &str, input: &str, reflections: u32) -> Decision {
    let input = json(input);
    let action = Action::Tool {
        name,
        input: input.root(),
    };
    let registry = registry();
    decide(
        rules,
        action,
        reflections,
        &registry.bind("please", action, &100.0),
    )
}

fn ruling(rules: &[Rule]) -> Ruling {
    decided(rules, "t", "{}", 0).ruling
}

#[test]
fn q1_any_chain_of_negations_is_one() {
    for (check, holds) in [
        ("true", true),
        ("false", false),
        ("!true", false),
        ("!false", true),
        ("!!true", false),
        ("!!false", true),
        ("!!!true", false),
        ("!!!!no", true),
        ("!!yes", false),
    ] {
        let expected = match holds {
            true => Ruling::Stop,
            false => Ruling::Continue,
        };
        assert_eq!(ruling(&rule(check, "stop")), expected, "{check}");
    }
}

#[test]
fn q2_checks_go_left_to_right_until_one_does_not_hold() {
    assert_eq!(ruling(&rule("yes no fails", "stop")), Ruling::Continue);
    assert_eq!(ruling(&rule("yes no nowhere", "stop")), Ruling::Continue);
    assert_eq!(ruling(&rule("no speed(3)", "stop")), Ruling::Continue);
    assert!(matches!(
        ruling(&rule("yes fails no", "stop")),
        Ruling::Fault(_)
    ));
}

#[test]
fn q3_the_last_enforcement_wins() {
    assert_eq!(ruling(&rule("true", "stop none")), Ruling::Continue);
    assert_eq!(ruling(&rule("true", "none stop")), Ruling::Stop);
    assert_eq!(ruling(&rule("true", "stop skip")), Ruling::Skip);
}

#[test]
fn q4_text_that_starts_with_the_event_triggers_too() {
    let waits = rules("rule @r trigger send_mail check true enforce stop end");
    let input = |text: &str| decided(&waits, "other", text, 0).ruling;
    assert_eq!(input(r#"" \n send mail to bob""#), Ruling::Stop);
    assert_eq!(input(r#""\u001c\u0085send mailbox""#), Ruling::Stop);
    assert_eq!(input(r#""send_mail to bob""#), Ruling::Continue);
    assert_eq!(input(r#""please send mail""#), Ruling::Continue);
}

#[test]
fn q5_continue_goes_on_to_the_next_rule_and_allowed_is_the_default() {
    let list = rules(
        "rule @a trigger t check true enforce none end
         rule @b trigger t check no enforce stop end
         rule @c trigger u check true enforce stop end
         rule @d trigger t check true enforce skip end
         rule @e trigger t check true enforce stop end",
    );
    let decision = decided(&list, "t", "{}", 0);
    assert_eq!((decision.ruling, decision.rule), (Ruling::Skip, Some(3)));
    let decision = decided(&list, "v", "{}", 0);
    assert_eq!((decision.ruling, decision.rule), (Ruling::Continue, None));
}

#[test]
fn q6_reflection_ends_in_skip() {
    let list = rule("true", "llm_self_reflect");
    for (reflections, expected) in [
        (0, Ruling::SelfReflect),
        (3, Ruling::SelfReflect),
        (4, Ruling::Skip),
        (u32::MAX, Ruling::Skip),
    ] {
        assert_eq!(decided(&list, "t", "{}", reflections).ruling, expected);
    }
    let list = rules("rule @r trigger finish check true enforce llm_self_reflect end");
    let registry = registry();
    let bound = registry.bind("", Action::Finish, &0.0);
    assert_eq!(
        decide(&list, Action::Finish, 0, &bound).ruling,
        Ruling::Skip
    );
}

#[test]
fn q7_events_but_finish_are_names_of_tools() {
    let list = rules("rule @r trigger before_action check true enforce stop end");
    assert_eq!(ruling(&list), Ruling::Continue);
    assert_eq!(
        decided(&list, "before_action", "{}", 0).ruling,
        Ruling::Stop
    );
}

#[test]
fn q8_predicates_see_the_request_the_input_and_the_state() {
    let list = rule("asked_to big", "stop");
    assert_eq!(
        decided(&list, "t", r#"{"amount": 101}"#, 0).ruling,
        Ruling::Stop
    );
    assert_eq!(
        decided(&list, "t", r#"{"amount": 100}"#, 0).ruling,
        Ruling::Continue
    );
    assert!(matches!(ruling(&list), Ruling::Fault(Fault::Failed { .. })));
}

#[test]
fn d1_rules_of_one_text_are_rules_of_their_own() {
    // The reference takes the event of the last, keeps the first `false`, and enforces the last.
    let list = rules(
        "rule @a trigger t check no enforce stop end
         rule @b trigger u check yes enforce skip end",
    );
    assert_eq!(decided(&list, "t", "{}", 0).ruling, Ruling::Continue);
    let decision = decided(&list, "u", "{}", 0);
    assert_eq!((decision.ruling, decision.rule), (Ruling::Skip, Some(1)));
}

#[test]
fn d2_input_that_is_no_text_triggers_by_name_only() {
    let list = rules("rule @r trigger send check true enforce stop end");
    for input in ["{}", "null", "[\"send\"]", "1", "true"] {
        assert_eq!(
            decided(&list, "t", input, 0).ruling,
            Ruling::Continue,
            "{input}"
        );
        assert_eq!(
            decided(&list, "send", input, 0).ruling,
            Ruling::Stop,
            "{input}"
        );
    }
}

#[test]
fn d3_a_finish_meets_only_rules_for_it() {
    let list = rules(
        "rule @a trigger t check true enforce stop end
         rule @b trigger finish check true enforce skip end",
    );
    assert!(!triggered(&list[0], Action::Finish));
    let registry = registry();
    let decision = decide(
        &list,
        Action::Finish,
        0,
        &registry.bind("", Action::Finish, &0.0),
    );
    assert_eq!((decision.ruling, decision.rule), (Ruling::Skip, Some(1)));
}

#[test]
fn d4_what_cannot_be_judged_is_withheld_with_the_reason() {
    for check in [
        "fails",
        "!fails",
        "nowhere",
        "!nowhere",
        "speed(3)",
        "!speed(3)",
    ] {
        let ruling = ruling(&rule(check, "none"));
        let Ruling::Fault(fault) = ruling else {
            panic!("{check}: {ruling:?}");
        };
        let name = check.trim_start_matches('!').trim_end_matches("(3)");
        assert!(fault.to_string().contains(&format!("`{name}")), "{fault}");
    }
    let fault = Fault::Failed {
        predicate: "fails".to_owned(),
        error: "the host is down".to_owned(),
    };
    assert_eq!(ruling(&rule("fails", "stop")), Ruling::Fault(fault));
}

#[test]
fn d5_what_is_not_implemented_is_withheld_wherever_it_stands() {
    for enforce in [
        "invoke_action(t, {\"a\": 1})",
        "a: b = 1",
        "a: b = 1 stop",
        "stop a: b = 1",
    ] {
        let ruling = ruling(&rule("true", enforce));
        assert!(
            matches!(ruling, Ruling::Fault(Fault::Unsupported { .. })),
            "{enforce}"
        );
    }
    assert_eq!(ruling(&rule("false", "a: b = 1")), Ruling::Continue);
}

#[test]
fn d6_a_person_is_asked_last() {
    let list = rules(
        "rule @a trigger t check true enforce user_inspection end
         rule @b trigger t check big enforce stop end
         rule @c trigger t check true enforce user_inspection end",
    );
    let decision = decided(&list, "t", r#"{"amount": 7}"#, 0);
    assert_eq!(decision.ruling, Ruling::Continue);
    assert_eq!(decision.inspections, [0, 2]);
    let decision = decided(&list, "t", r#"{"amount": 700}"#, 0);
    assert_eq!((decision.ruling, decision.rule), (Ruling::Stop, Some(1)));
}

#[test]
fn d7_any_waits_for_everything() {
    let list = rules("rule @r trigger any check true enforce stop end");
    assert_eq!(ruling(&list), Ruling::Stop);
    assert!(triggered(&list[0], Action::Finish));
}
