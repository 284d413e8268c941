//! Whatever is read, reading answers; what it read and printed, it reads again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use halo_agentspec::{
    MAX_NESTING, Mode, STRICT_PREDICATES, policy, read,
    syntax::{
        Act, Base, Config, Enforcement, Invoke, Name, Number, Predicate, Rule, Span, Test, Value,
    },
};
use halo_catalog::Diagnostic;
use proptest::prelude::*;
use std::time::{Duration, Instant};

const MODES: [Mode; 2] = [Mode::Strict, Mode::Extended];

/// Rules, or findings that each have a place in the text.
fn answers(text: &str) -> Result<(), TestCaseError> {
    for mode in MODES {
        match read("t.rules", text, mode) {
            Ok(rules) => {
                round_trip(&rules, mode)?;
            }
            Err(found) => placed(text, &found)?,
        }
    }
    Ok(())
}

/// What is printed is read again, as the same.
fn round_trip(rules: &[Rule], mode: Mode) -> Result<(), TestCaseError> {
    let again = read("t.rules", &print(rules), mode);
    prop_assert_eq!(again.as_deref(), Ok(rules));
    Ok(())
}

fn placed(text: &str, found: &[Diagnostic]) -> Result<(), TestCaseError> {
    prop_assert!(!found.is_empty());
    let lines: Vec<&str> = text.split('\n').collect();
    for finding in found {
        let line = lines.get(finding.line as usize - 1);
        prop_assert!(line.is_some(), "{finding:?}");
        let columns = line.map_or(0, |line| line.chars().count());
        prop_assert!(finding.column as usize <= columns + 1, "{finding:?}");
    }
    Ok(())
}

fn print(rules: &[Rule]) -> String {
    rules.iter().map(|rule| format!("{rule}\n")).collect()
}

fn name(text: String) -> Name {
    Name {
        text,
        span: Span::default(),
    }
}

/// A word that is none of the language's, in either mode.
fn ident() -> impl Strategy<Value = String> {
    "[a-zA-Z_][a-zA-Z0-9_]{0,8}x9"
}

fn number() -> impl Strategy<Value = Number> {
    "[0-9]{1,4}|[0-9]{1,3}\\.[0-9]{0,3}|\\.[0-9]{1,3}".prop_map(Number)
}

fn text() -> impl Strategy<Value = String> {
    "[^\"]{0,6}"
}

fn invoke(value: BoxedStrategy<Value>) -> impl Strategy<Value = Invoke> {
    let arguments = prop::collection::vec((text(), value), 1..3);
    (ident(), arguments).prop_map(|(tool, arguments)| Invoke { tool, arguments })
}

fn value() -> BoxedStrategy<Value> {
    let keyed = |base: BoxedStrategy<Base>| {
        (base, prop::collection::vec(text(), 0..3)).prop_map(|(base, keys)| Value { base, keys })
    };
    let leaf = prop_oneof![
        text().prop_map(Base::Text),
        number().prop_map(Base::Number),
        ident().prop_map(Base::Name),
    ];
    keyed(leaf.boxed())
        .boxed()
        .prop_recursive(4, 12, 2, move |inner| {
            let base = invoke(inner.boxed()).prop_map(Base::Invoke);
            keyed(base.boxed()).boxed()
        })
        .boxed()
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        Just(Act::None),
        Just(Act::Skip),
        Just(Act::Stop),
        Just(Act::UserInspection),
        Just(Act::SelfReflect),
        invoke(value()).prop_map(Act::Invoke),
        (prop::collection::vec(ident(), 2..4), number())
            .prop_map(|(path, number)| Act::Config(Config { path, number })),
    ]
}

fn predicate(mode: Mode) -> impl Strategy<Value = Predicate> {
    let named = match mode {
        Mode::Strict => prop::sample::select(&STRICT_PREDICATES[..])
            .prop_map(str::to_owned)
            .boxed(),
        Mode::Extended => ident().boxed(),
    };
    let test = prop_oneof![
        any::<bool>().prop_map(Test::Constant),
        named.prop_map(Test::Named),
        (ident(), number()).prop_map(|(name, number)| Test::Measure(name, number)),
    ];
    (0..=MAX_NESTING as u32, test).prop_map(|(negations, test)| Predicate {
        negations,
        test,
        span: Span::default(),
    })
}

fn rule(mode: Mode) -> impl Strategy<Value = Rule> {
    let trigger = match mode {
        Mode::Strict => ident().boxed(),
        Mode::Extended => prop_oneof![
            ident(),
            "[a-z_]{1,4}x9([.-][a-z0-9_]{1,4}){1,3}",
            Just("any".to_owned())
        ]
        .boxed(),
    };
    let act = act().prop_map(|act| Enforcement {
        act,
        span: Span::default(),
    });
    (
        ident(),
        trigger,
        prop::collection::vec(predicate(mode), 1..4),
        prop::collection::vec(act, 1..3),
    )
        .prop_map(|(id, trigger, check, enforce)| Rule {
            id: name(id),
            trigger: name(trigger),
            check,
            enforce,
        })
}

/// Pieces that texts are made of, so that arbitrary ones come near to rules.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rule",
        "@",
        "a",
        "trigger",
        "any",
        "t",
        ".",
        "-",
        "check",
        "true",
        "!",
        "is_fragile",
        "p",
        "(",
        "1.5",
        ")",
        "enforce",
        "stop",
        "invoke_action",
        ",",
        "{",
        "\"k\"",
        ":",
        "}",
        "[",
        "]",
        "=",
        "end",
        " ",
        "\n",
        "//",
        "&",
        "é",
        "\"",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn arbitrary_text_is_answered(text in ".{0,200}") {
        answers(&text)?;
    }

    #[test]
    fn text_of_known_pieces_is_answered(text in pieces()) {
        answers(&text)?;
    }

    #[test]
    fn cut_and_corrupted_rules_are_answered(
        rules in prop::collection::vec(rule(Mode::Extended), 1..3),
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let printed = print(&rules);
        let mut bytes = printed.clone().into_bytes();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        answers(&String::from_utf8_lossy(&bytes))?;
        let cut = String::from_utf8_lossy(&printed.as_bytes()[..cut.index(printed.len())]).into_owned();
        answers(&cut)?;
        // In a policy too.
        let text = String::from_utf8_lossy(&bytes);
        let quoted = serde_json::to_string(&text).unwrap();
        let policy = format!("{{\"halo\": \"v1\", \"policy\": \"p\", \"rules\": [{{\"text\": {quoted}}}]}}");
        let decoded = policy::decode("p.json", &policy, &|_| Err("no".to_owned()), None);
        if decoded.policy.is_none() {
            placed(&policy, &decoded.diagnostics)?;
        }
    }

    #[test]
    fn what_is_printed_is_read_again(
        strict in prop::collection::vec(rule(Mode::Strict), 0..4),
        extended in prop::collection::vec(rule(Mode::Extended), 0..4),
    ) {
        round_trip(&strict, Mode::Strict)?;
        // What strict mode reads, extended mode reads too, as the same.
        round_trip(&strict, Mode::Extended)?;
        round_trip(&extended, Mode::Extended)?;
    }
}

/// Read in both modes within a time that no quadratic reader keeps.
fn hostile(text: &str) -> Vec<Diagnostic> {
    let begin = Instant::now();
    let found = MODES.map(|mode| read("t.rules", text, mode).unwrap_err());
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
    for found in &found {
        assert!((1..=200).contains(&found.len()), "{} findings", found.len());
    }
    found.into_iter().next().unwrap()
}

#[test]
fn hostile_texts_are_refused_in_bounds() {
    let in_check = |check: &str| format!("rule @a trigger t check {check} enforce stop end");
    let found = hostile(&in_check(&format!("{}true", "!".repeat(1_000_000))));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "more than 64 `!` in a chain");
    for repeated in [
        "&",
        "& ",
        "\"",
        "é x ",
        "rule ",
        "rule @a end ",
        "a.b ",
        "1.",
        "@",
        "trigger check ",
    ] {
        hostile(&repeated.repeat(250_000 / repeated.len()));
        hostile(&in_check(&repeated.repeat(250_000 / repeated.len())));
    }
    hostile(&"rule @a trigger t check true enforce stop end ".repeat(20_000));
    hostile(&" ".repeat(1 << 21));
}

#[test]
fn deep_nesting_is_refused_and_the_bound_is_read() {
    let nested = |depth: usize| {
        let open = "invoke_action(t, {\"a\": ".repeat(depth);
        let close = "})".repeat(depth);
        format!("rule @a trigger t check true enforce {open}1{close} end")
    };
    for mode in MODES {
        assert!(read("t", &nested(MAX_NESTING), mode).is_ok());
    }
    let found = hostile(&nested(MAX_NESTING + 1));
    assert_eq!(
        found[0].message,
        "expected no deeper nesting, found `invoke_action`"
    );
    hostile(&nested(30_000));
    // Keys are a list and not nested.
    let keys = "[\"k\"]".repeat(100_000);
    let text =
        format!("rule @a trigger t check true enforce invoke_action(t, {{\"a\": b{keys}}}) end");
    let rules = read("t", &text, Mode::Strict).unwrap();
    assert_eq!(read("t", &print(&rules), Mode::Strict).unwrap(), rules);
}

#[test]
fn a_text_of_the_most_rules_is_read() {
    let rule = "rule @a trigger t check true enforce stop end\n";
    assert_eq!(
        read("t", &rule.repeat(4096), Mode::Strict).unwrap().len(),
        4096
    );
    assert!(read("t", &rule.repeat(4097), Mode::Strict).is_err());
}
