//! The same expressions by the `cel` crate's own interpreter, where the two languages agree: doubles, text, logic with its
//! errors, equality, macros.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;
use cel::{Context, Value};
use halo_cel::Expect;
use proptest::prelude::*;
use support::{World, compile_for, show, with};

/// No whole numbers: to cel they would be integers, which it does not mix with doubles.
const PAYLOAD: &str = r#"{
    "d": 0.5, "e": 1.5, "t": true, "f": false, "s": "ab", "n": null, "l": [0.5, 1.5, 2.5], "w": ["a", "b"],
    "x": [0.5, "a", null, true], "m": {"a": 0.5, "b": "ab"}, "o": [{"a": 0.5}, {"a": 1.5}]
}"#;

fn leaf() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "payload.d",
        "payload.e",
        "payload.t",
        "payload.f",
        "payload.s",
        "payload.n",
        "payload.l",
        "payload.w",
        "payload.x",
        "payload.m",
        "payload.o",
        "payload.m.a",
        "payload.missing",
        "payload.d.x",
        "payload.o[0].a",
        "payload.w[1]",
        "payload.w[7]",
        "0.5",
        "-1.5",
        "2.25",
        "'a'",
        "'ab'",
        "''",
        "true",
        "false",
        "null",
        "[]",
        "[0.5]",
        "['a', 'b']",
        "x",
        "x",
        "x.a",
    ])
    .prop_map(str::to_string)
}

fn expression() -> impl Strategy<Value = String> {
    leaf().prop_recursive(4, 30, 3, |inner| {
        let binary = prop::sample::select(vec!["+", "-", "*", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "&&", "||", "in"]);
        let looped = prop::sample::select(vec!["all", "exists", "exists_one", "filter", "map"]);
        let text = prop::sample::select(vec!["contains", "startsWith", "endsWith"]);
        prop_oneof![
            4 => (inner.clone(), binary, inner.clone()).prop_map(|(l, op, r)| format!("(dyn({l}) {op} dyn({r}))")),
            1 => inner.clone().prop_map(|x| format!("!dyn({x})")),
            1 => inner.clone().prop_map(|x| format!("(-dyn({x}))")),
            1 => inner.clone().prop_map(|x| format!("(size(dyn({x})) > 1)")),
            3 => (inner.clone(), looped, inner.clone()).prop_map(|(l, f, b)| format!("dyn({l}).{f}(x, dyn({b}))")),
            1 => (inner.clone(), text, inner.clone()).prop_map(|(l, f, r)| format!("dyn({l}).{f}(dyn({r}))")),
            2 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, a, b)| format!("(dyn({c}) ? {a} : {b})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            1 => inner.clone().prop_map(|a| format!("has(dyn({a}).a)")),
            1 => inner.prop_map(|a| format!("dyn({a}).a")),
        ]
    })
}

fn theirs(source: &str, payload: &Value) -> Result<String, String> {
    let program = cel::Program::compile(source).unwrap();
    let mut context = Context::default();
    context.add_variable_from_value("payload", payload.clone());
    match program.execute(&context) {
        Ok(value) => Ok(show_theirs(&value)),
        Err(error) => Err(error.to_string()),
    }
}

fn show_theirs(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Float(number) => number.to_string(),
        Value::String(text) => format!("{text:?}"),
        Value::List(list) => {
            let texts: Vec<String> = list.iter().map(show_theirs).collect();
            format!("[{}]", texts.join(","))
        }
        Value::Map(map) => {
            let mut texts: Vec<String> = map
                .map
                .iter()
                .map(|(key, value)| format!("{:?}:{}", key.to_string(), show_theirs(value)))
                .collect();
            texts.sort();
            format!("{{{}}}", texts.join(","))
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn p5_the_cel_crate_agrees(source in expression()) {
        let source = format!("dyn({source})");
        let Ok((program, table)) = compile_for(&source, Expect::Bool, true) else {
            // Loops in loops, or `x` without a loop.
            return Ok(());
        };
        let world = World::with_payload(PAYLOAD);
        let payload = cel::to_value(world.payload.root().to_serde()).unwrap();
        let ours = with(&world, &program, &table, |program, inputs| program.eval(inputs).map(|value| show(&value)));
        match (ours, theirs(&source, &payload)) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs, "{}", source),
            (Err(_), Err(_)) => {}
            // The crate takes a map after a list; CEL has no such overload.
            (Err(error), Ok(_)) if error.0.contains("does not take a list and an object") => {}
            (ours, theirs) => prop_assert!(false, "{source}\n  ours {ours:?}\n  theirs {theirs:?}"),
        }
    }
}
