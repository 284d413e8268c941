//! What each mode reads, and what each says about what it does not read.
//!
//! `grammar.txt` holds bad texts, each followed by what must be said about it. `UPDATE=1` rewrites it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::render;
use halo_agentspec::{Mode, STRICT_PREDICATES, read};
use std::fmt::Write as _;

/// A rule with one part given, the others sound.
fn rule(part: &str, text: &str) -> String {
    let or = |name: &str, sound: &str| match name == part {
        true => text.to_owned(),
        false => sound.to_owned(),
    };
    format!(
        "rule @{} trigger {} check {} enforce {} end",
        or("id", "r"),
        or("trigger", "t"),
        or("check", "true"),
        or("enforce", "stop")
    )
}

/// Part, text, whether strict mode takes it, whether extended mode does.
const TABLE: [(&str, &str, bool, bool); 75] = [
    ("id", "a", true, true),
    ("id", "_a1", true, true),
    ("id", "rules", true, true),
    ("id", "rule", false, false),
    ("id", "stop", false, false),
    ("id", "is_fragile", false, true),
    ("id", "1a", false, false),
    ("id", "a-b", false, false),
    ("id", "a.b", false, false),
    ("id", "é", false, false),
    ("trigger", "tool", true, true),
    ("trigger", "finish", true, true),
    ("trigger", "state_change", true, true),
    ("trigger", "before_action", true, true),
    ("trigger", "after_action", true, true),
    ("trigger", "any", false, true),
    ("trigger", "anything", true, true),
    ("trigger", "a.b", false, true),
    ("trigger", "a-b.c-d", false, true),
    ("trigger", "a .b", false, false),
    ("trigger", "a.", false, false),
    ("trigger", "is_fragile", false, true),
    ("trigger", "stop", false, true),
    ("trigger", "check", false, false),
    ("trigger", "", false, false),
    ("check", "true", true, true),
    ("check", "false", true, true),
    ("check", "True", false, false),
    ("check", "!true", true, true),
    ("check", "! ! true", true, true),
    ("check", "!", false, false),
    ("check", "is_fragile", true, true),
    ("check", "!is_fragile read_io", true, true),
    ("check", "is_destructive", false, true),
    ("check", "true & true", false, false),
    ("check", "true, true", false, false),
    ("check", "speed(3)", true, true),
    ("check", "speed(3.)", true, true),
    ("check", "speed(.5)", true, true),
    ("check", "speed(0.5)", true, true),
    ("check", "speed(1.2.3)", false, false),
    ("check", "speed(x)", false, false),
    ("check", "speed()", false, false),
    ("check", "speed(-1)", false, false),
    ("check", "is_fragile(1)", false, true),
    ("check", "", false, false),
    ("check", "true // because", false, false),
    ("check", "true // because\n", false, true),
    ("check", "true # because\n", false, false),
    ("check", "stop", false, false),
    ("check", "any", false, false),
    ("enforce", "none", true, true),
    ("enforce", "skip", true, true),
    ("enforce", "user_inspection", true, true),
    ("enforce", "llm_self_reflect", true, true),
    ("enforce", "llm_self_examine", false, false),
    ("enforce", "stop skip none", true, true),
    ("enforce", "", false, false),
    ("enforce", "stops", false, false),
    ("enforce", "a: b = 1", true, true),
    ("enforce", "a:b:c=.5", true, true),
    ("enforce", "a = 1", false, false),
    ("enforce", "a: b = x", false, false),
    ("enforce", "invoke_action(t, {\"a\": 1})", true, true),
    (
        "enforce",
        "invoke_action(t, {\"a\": \"x y\", \"b\": c})",
        true,
        true,
    ),
    (
        "enforce",
        "invoke_action(t, {\"a\": b[\"c\"][\"d\"]})",
        true,
        true,
    ),
    (
        "enforce",
        "invoke_action(t, {\"a\": invoke_action(u, {\"b\": 1})[\"c\"]})",
        true,
        true,
    ),
    ("enforce", "invoke_action(t.u, {\"a\": 1})", false, true),
    ("enforce", "invoke_action(t, {})", false, false),
    ("enforce", "invoke_action(t, {a: 1})", false, false),
    ("enforce", "invoke_action(t, {\"a\": 1,})", false, false),
    ("enforce", "invoke_action(t)", false, false),
    ("enforce", "invoke_action(t, {\"a\": true})", false, false),
    (
        "enforce",
        "invoke_action(t, {\"a\": \"http://x\"})",
        true,
        true,
    ),
    ("enforce", "invoke_action(t, {\"a\": \"x})", false, false),
];

#[test]
fn each_mode_reads_its_language() {
    for (part, text, strict, extended) in TABLE {
        let text = rule(part, text);
        for (mode, takes) in [(Mode::Strict, strict), (Mode::Extended, extended)] {
            let read = read("t", &text, mode);
            assert_eq!(read.is_ok(), takes, "{mode:?}: {text}: {read:?}");
            assert!(
                read.map_or_else(|found| !found.is_empty(), |_| true),
                "{text}"
            );
        }
    }
}

#[test]
fn the_closed_list_is_the_closed_list() {
    let text = rule("check", &STRICT_PREDICATES.join(" "));
    assert_eq!(read("t", &text, Mode::Strict).unwrap()[0].check.len(), 36);
    let mut names = STRICT_PREDICATES.to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 36);
}

#[test]
fn words_are_the_longest_that_there_are() {
    let text = "rule@a trigger stopper check true!is_fragile enforce skip end\
                rule@b trigger t check true enforce none end";
    // `endrule` is one word, so the first rule does not end.
    assert!(read("t", text, Mode::Strict).is_err());
    let text = text.replace("endrule", "end rule");
    let rules = read("t", &text, Mode::Strict).unwrap();
    assert_eq!(rules.len(), 2);
    assert_eq!(rules[0].trigger.text, "stopper");
    assert_eq!(rules[0].check.len(), 2);
}

#[test]
fn no_rule_is_a_text_too() {
    for text in ["", " \r\n\t"] {
        assert_eq!(read("t", text, Mode::Strict).unwrap(), []);
    }
    assert_eq!(read("t", "// nothing", Mode::Extended).unwrap(), []);
}

#[test]
fn every_fault_is_reported_with_its_place() {
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grammar.txt");
    let text = std::fs::read_to_string(FILE).unwrap();
    let (mut updated, mut wrong) = (String::new(), String::new());
    for case in text.split("=== ").skip(1) {
        let (head, rest) = case.split_once('\n').unwrap();
        let (input, expected) = rest.split_once("---\n").unwrap();
        let mode = match head.starts_with("strict") {
            true => Mode::Strict,
            false => Mode::Extended,
        };
        let diagnostics = read("t.rules", input, mode).unwrap_err();
        for d in &diagnostics {
            let line = input.lines().nth(d.line as usize - 1).unwrap_or_default();
            let rest: String = line.chars().skip(d.column as usize - 1).collect();
            let excerpt = d.text.trim_end_matches('…');
            assert!(
                rest.starts_with(excerpt),
                "{head}: {d:?} is not at `{rest}`"
            );
        }
        let found = render(&diagnostics);
        if found != expected {
            writeln!(wrong, "{head}: expected\n{expected}found\n{found}").unwrap();
        }
        write!(updated, "=== {head}\n{input}---\n{found}").unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(FILE, updated).unwrap();
    } else {
        assert!(wrong.is_empty(), "{wrong}");
    }
}
