//! Whatever a catalog says and whatever arrives: no panic, no overflow, no long evaluation (P5).
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;
use halo_cel::{EvalError, Expect, Program, RecordTable};
use proptest::prelude::*;
use std::fmt::Write;
use support::{World, compile_for, shown, shown_in, sources, with};

/// Compiles and, where that works, evaluates, clones and drops, on a stack of 2 MiB.
fn survive(source: String) {
    let run = move || {
        if let Ok((program, table)) = compile_for(&source, Expect::Bool, true) {
            let world = World::new();
            let _ = with(&world, &program.clone(), &table, |program, inputs| {
                program.eval_bool(inputs)
            });
        }
    };
    let thread = std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(run);
    thread.unwrap().join().unwrap();
}

#[test]
fn p5_no_text_overflows_the_stack() {
    let units = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "!",
        "-",
        "- ",
        "~",
        "!(",
        "-(",
        "f(",
        "has(",
        "a[",
        "{a:",
        "[[",
        "a?",
        "?:",
        "a?a:",
        "payload.a||",
        "payload.a&&",
        "a+",
        ".a",
        "a<",
        "a==",
        "a in ",
        "[a]",
        ".a()",
        "[0]",
        "payload.all(x,",
        "\"",
        "'''",
        "\\",
        "//",
        "é",
        "1",
        "1.",
        "0x",
        ",",
        ":",
        "b'",
        "r'",
        "\n",
        "\0",
        "`",
        "&",
        "|",
        "=",
        "payload.a.map(x,x).",
    ];
    for unit in units {
        let body = unit.repeat(4096 / unit.len());
        survive(body.clone());
        survive(format!("payload.n{}", unit.repeat((4096 - 9) / unit.len())));
        survive(format!("{}payload.n", unit.repeat((4096 - 9) / unit.len())));
    }
    // As deep and as long as is allowed, together.
    for chain in [" + 1", ".a", "[0]", " < 1", ".a()", " || payload.n"] {
        for depth in [1, 40, 95] {
            for length in [1, 90, 250] {
                let inner = format!("payload.n{}", chain.repeat(length));
                survive(format!("{}{inner}{}", "(".repeat(depth), ")".repeat(depth)));
                survive(format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth)));
                survive(format!(
                    "{}{inner}{}",
                    "-(".repeat(depth),
                    ")".repeat(depth)
                ));
                survive(format!(
                    "{}{inner}{}",
                    "{1:".repeat(depth),
                    "}".repeat(depth)
                ));
            }
        }
    }
}

#[test]
fn p5_steps_are_bounded_and_no_logic_absorbs_it() {
    let list = format!("[{}]", vec!["1"; 20_000].join(","));
    let world = World::with_payload(&format!(
        r#"{{"list": {list}, "text": "{}"}}"#,
        "a".repeat(700_000)
    ));
    let over = "error: the evaluation takes more than 10000 steps";
    for source in [
        "payload.list.all(x, x > 0)",
        "payload.list.all(x, x > 0) || true",
        "payload.list.exists(x, x > 1)",
        "payload.list.map(x, x)",
        "payload.list.filter(x, true)",
        "payload.list == payload.list",
        "payload == payload",
        "2 in payload.list",
        "payload.list + payload.list",
        "payload.text.contains('b')",
        "payload.text.matches('b')",
        "payload.text == payload.text",
        "payload.text < payload.text",
        "size(payload.text)",
        "[payload.text].all(x, x == payload.text)",
    ] {
        assert_eq!(shown_in(&world, source), over, "{source}");
    }
    assert_eq!(shown_in(&world, "size(payload.list)"), "20000");
    assert_eq!(
        shown_in(&world, "size(payload.text + 'a')"),
        "error: `payload.text + 'a'` is longer than 65536 bytes"
    );
}

#[test]
fn p5_a_large_pattern_costs_more() {
    let world = World::with_payload(&format!(r#"{{"t": "{}"}}"#, "a".repeat(60_000)));
    assert_eq!(shown_in(&world, "payload.t.matches('^[a-z]+$')"), "true");
    let over = "error: the evaluation takes more than 10000 steps";
    assert_eq!(
        shown_in(&world, "payload.t.matches('^(\\\\w\\\\w)+b$')"),
        over
    );
}

#[test]
fn p5_strings_do_not_grow_without_bound() {
    let piece = "a".repeat(900);
    // Thirty copies are paid for; what a hundred would take is refused by the steps before the length matters.
    let source = format!("['{piece}'].map(x, {}x)", "x + ".repeat(30));
    assert!(shown(&format!("size({source}[0]) > 0")).starts_with("true"));
    let world = World::with_payload(&format!(r#"{{"t": "{}"}}"#, "a".repeat(30_000)));
    let grown = shown_in(&world, "payload.t + payload.t + payload.t");
    assert!(grown.contains("longer than 65536 bytes"), "{grown}");
}

#[test]
fn p5_deep_values_are_compared_without_overflow() {
    let deep = |depth: usize| {
        format!(
            r#"{{"a": {}{}, "b": {}{}}}"#,
            "[".repeat(depth),
            "]".repeat(depth),
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    let run = move || {
        let world = World::with_payload(&deep(200));
        assert_eq!(shown_in(&world, "payload.a == payload.b"), "true");
        let world = World::with_payload(&deep(5_000));
        assert_eq!(
            shown_in(&world, "payload.a == payload.b"),
            "error: values nested too deep to compare"
        );
    };
    std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

/// Random texts of what expressions are made of.
fn text() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "payload",
        "state",
        "component",
        "now",
        "certificate",
        "traffic",
        "legs",
        "map",
        "value",
        "epoch",
        "age",
        "n",
        "a",
        "x",
        "items",
        "leg",
        ".",
        ".",
        ".",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ",",
        ":",
        "?",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "&&",
        "||",
        " in ",
        "1",
        "0",
        "2.5",
        "1e308",
        "'a'",
        "\"é\"",
        "r'\\'",
        "b'x'",
        "true",
        "false",
        "null",
        "has",
        "all",
        "exists",
        "exists_one",
        "filter",
        "size",
        "string",
        "int",
        "matches",
        "timestamp",
        "duration",
        "getHours",
        " ",
        "\n",
        "é",
        "`",
        "'",
        "\"\"\"",
        "\\",
        "9007199254740993",
        "0x",
        "//",
        "dyn",
        "_",
        ".?",
        "[?",
        "in",
    ]);
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

/// Random expressions that mostly compile.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "payload.n",
        "payload.leg",
        "payload.items",
        "payload.map",
        "payload.nothing",
        "payload.missing",
        "payload.mixed",
        "payload.until",
        "payload",
        "state.traffic.value",
        "state.legs[payload.leg].value.open",
        "state.block.epoch",
        "state.traffic.age",
        "now",
        "certificate",
        "component.id",
        "1",
        "0",
        "2.5",
        "-3",
        "1e308",
        "'a'",
        "''",
        "true",
        "false",
        "null",
        "[]",
        "{}",
        "duration('1h')",
        "timestamp('2026-01-01T00:00:00Z')",
    ])
    .prop_map(str::to_string);
    leaf.prop_recursive(5, 60, 3, |inner| {
        let binary = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||", "in",
        ]);
        let unary = prop::sample::select(vec![
            "!",
            "-",
            "size",
            "string",
            "int",
            "double",
            "bool",
            "timestamp",
            "duration",
            "dyn",
        ]);
        let looped = prop::sample::select(vec!["all", "exists", "exists_one", "filter", "map"]);
        prop_oneof![
            (inner.clone(), binary, inner.clone())
                .prop_map(|(l, op, r)| format!("(dyn({l}) {op} dyn({r}))")),
            (unary, inner.clone()).prop_map(|(f, x)| format!("{f}(dyn({x}))")),
            (inner.clone(), looped, inner.clone())
                .prop_map(|(l, f, b)| format!("dyn({l}).{f}(x, dyn({b}) == x)")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(c, a, b)| format!("(dyn({c}) ? {a} : {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{'k': {a}, 'l': {b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("dyn({a})[dyn({b})]")),
            inner.prop_map(|a| format!("has(dyn({a}).k)")),
        ]
    })
}

fn evaluate(program: &Program, table: &RecordTable) -> Result<String, EvalError> {
    with(&World::new(), program, table, |program, inputs| {
        let value = program.eval(inputs).map(|value| support::show(&value));
        let _ = program.eval_bool(inputs);
        let _ = program.eval_string(inputs);
        let _ = program.eval_instant(inputs);
        value
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn p5_no_text_panics(source in text()) {
        match compile_for(&source, Expect::Bool, true) {
            Ok((program, table)) => {
                let _ = evaluate(&program, &table);
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(source.get(error.span.start..error.span.end).is_some(), "{error:?}");
                    prop_assert_ne!(&error.message, "the parser failed on this expression");
                }
            }
        }
    }

    #[test]
    fn p5_any_unicode_is_survived(source in "\\PC{0,60}") {
        let _ = compile_for(&source, Expect::Bool, true);
        let _ = halo_cel::parse_path(&source, &sources());
    }

    #[test]
    fn p5_evaluation_is_deterministic_and_ends(source in expression()) {
        let wrapped = format!("dyn({source})");
        if let Ok((program, table)) = compile_for(&wrapped, Expect::Bool, true) {
            let first = evaluate(&program, &table);
            prop_assert_eq!(&first, &evaluate(&program, &table));
            // What it reads is all that it can ask for.
            for slot in program.slots() {
                prop_assert!(usize::from(*slot) < table.records().len());
            }
        }
    }

    #[test]
    fn p6_paths_survive_a_round_trip(path in "(map|traffic|legs\\[payload\\.[a-z]{1,3}\\])\\.value(\\.[a-zé-]{1,4}|\\[[0-9]{1,3}\\]|\\[component\\.id\\]|\\['[ a-z\\.]{0,3}'\\]){0,5}") {
        let (record, segments) = halo_cel::parse_path(&path, &sources()).unwrap();
        let mut text = record.describe(&sources());
        for segment in &segments {
            write!(text, "{segment}").unwrap();
        }
        let (again, segments_again) = halo_cel::parse_path(&text, &sources()).unwrap();
        prop_assert_eq!(record, again);
        prop_assert_eq!(segments.len(), segments_again.len());
    }
}
