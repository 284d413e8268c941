//! What does not compile, and what is said about it (P5, P6, P27).
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;
use halo_cel::{Expect, MAX_SOURCE_BYTES};
use support::{compile_for, refused};

fn check(table: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (source, message, hint) in table {
        let (found, found_hint) = refused(source);
        if found != *message || !found_hint.contains(hint) {
            wrong.push(format!(
                "{source}\n  message {found}\n  hint    {found_hint}"
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn p6_reads_that_cannot_be_listed_are_refused() {
    check(&[
        ("state == 1", "`state` as a whole is no value", "`traffic`"),
        (
            "state[payload.leg].value",
            "the source must be named by a literal, so that reads can be listed",
            "state.SOURCE",
        ),
        (
            "state.trafic.value.x",
            "unknown source `trafic`",
            "did you mean `traffic`?",
        ),
        (
            "state.weather.value",
            "unknown source `weather`",
            "the sources are `traffic`, `map`",
        ),
        (
            "state.legs.value.open",
            "`legs` is a keyed source: it holds a record for each key",
            "state.legs[KEY]",
        ),
        (
            "state.legs",
            "`legs` is a keyed source: it holds a record for each key",
            "payload.a.b",
        ),
        (
            "state.traffic[payload.leg].value",
            "`traffic` is not keyed: it holds one record",
            "state.traffic.value",
        ),
        (
            "state.legs[payload.leg + 'x'].value.open",
            "this key is computed, so the reads cannot be listed",
            "component.digest",
        ),
        (
            "state.legs[component.type].value.open",
            "this key is computed, so the reads cannot be listed",
            "component.digest",
        ),
        (
            "state.legs[payload].value.open",
            "this key is computed, so the reads cannot be listed",
            "payload.a.b",
        ),
        (
            "state.legs[3].value.open",
            "this key is computed, so the reads cannot be listed",
            "string literal",
        ),
        (
            "payload.words.all(w, state.legs[w].value.open)",
            "this key is computed, so the reads cannot be listed",
            "string literal",
        ),
        (
            "state.traffic == 1",
            "`state.traffic` is a record, not a value",
            "`epoch`",
        ),
        (
            "state.legs[payload.leg] == 1",
            "`state.legs[payload.leg]` is a record, not a value",
            ".value",
        ),
        (
            "state.traffic.separation_m > 1",
            "a record has no field `separation_m`",
            "did you mean `state.traffic.value.separation_m`?",
        ),
        (
            "state.traffic.epcoh > 1",
            "a record has no field `epcoh`",
            "did you mean `state.traffic.epoch`?",
        ),
        (
            "state.legs['L3']['value'].open",
            "`state.legs['L3']` is a record: it has no index",
            ".value",
        ),
        (
            "has(state.traffic)",
            "`state.traffic` is a record, not a value",
            ".value",
        ),
        (
            "traffic.value > 1",
            "unknown variable `traffic`",
            "state.traffic.value",
        ),
        (
            "state.traffic.epoch.x == 1",
            "a number has nothing below it",
            "",
        ),
    ]);
}

#[test]
fn p5_only_what_exists_is_named() {
    check(&[
        (
            "paylod.x == 1",
            "unknown variable `paylod`",
            "did you mean `payload`?",
        ),
        (
            "foo == 1",
            "unknown variable `foo`",
            "the variables are `payload`, `component`, `state`",
        ),
        (
            "component.kind == 'x'",
            "`component` has no field `kind`",
            "`type`",
        ),
        (
            "component == 1",
            "`component` as a whole is no value",
            "`digest`",
        ),
        (
            "type(payload) == 1",
            "unknown function `type`",
            "the functions are `has`",
        ),
        (
            "payload.x.startswith('a')",
            "unknown function `startswith`",
            "did you mean `startsWith`?",
        ),
        (
            "payload.x.existsOne(y, y)",
            "unknown function `existsOne`",
            "did you mean `exists_one`?",
        ),
        (
            "startsWith(payload.x, 'a')",
            "`startsWith` is not called like this",
            "text.startsWith(part)",
        ),
        ("size() == 1", "`size` does not take 0 arguments", "size(x)"),
        (
            "now.getHours('UTC') == 1",
            "`getHours` does not take 1 arguments",
            "in UTC",
        ),
        ("b'x' == b'x'", "bytes literals do not exist here", ""),
        (
            "Foo{a: 1} == 1",
            "message literals such as `Foo{…}` do not exist here",
            "",
        ),
        ("payload.?a == 1", "unsupported syntax '.?'", ""),
        (
            "payload.matches(payload.x)",
            "the pattern of `matches` must be a string literal",
            "catalog loads",
        ),
        (
            "payload.matches('(')",
            "the pattern does not compile: error: unclosed group",
            "RE2",
        ),
        (
            "payload.matches('(?=a)')",
            "the pattern does not compile: error: look-around, including look-ahead and look-behind, is not supported",
            "",
        ),
        (
            "payload.matches('(a{1000}){1000}')",
            "the pattern does not compile: Compiled regex exceeds size limit of 262144 bytes.",
            "",
        ),
        (
            "payload.items.all(now, now > 1)",
            "`now` is a variable already",
            "",
        ),
        (
            "payload.items.all(payload, true)",
            "`payload` is a variable already",
            "",
        ),
        (
            "payload.items.all(x.y, true)",
            "a loop variable is a plain name",
            "",
        ),
        ("all(x, true)", "`all` needs a list before it", ""),
        (
            "payload.items.all(x)",
            "`all` does not take 1 arguments",
            "",
        ),
        (
            "payload.items.all(x, payload.items.exists(y, y == x))",
            "`exists` stands within another loop",
            "bounded",
        ),
        ("payload = 1", "unexpected character `=`", "`==`"),
        (
            "payload.a &&",
            "the expression ends here, where more is expected",
            "",
        ),
        ("", "the expression ends here, where more is expected", ""),
        (
            ".payload.a == 1",
            "unknown variable `.payload`",
            "did you mean `payload`?",
        ),
    ]);
}

#[test]
fn p5_certain_type_errors_are_found_at_load() {
    check(&[
        ("1", "gives a number, not a boolean", ""),
        ("payload.n + 1", "gives a number, not a boolean", ""),
        ("'a'", "gives a string, not a boolean", ""),
        (
            "payload.a + payload.b",
            "gives a number or a string or a list, not a boolean",
            "",
        ),
        ("state.traffic.epoch", "gives a number, not a boolean", ""),
        ("now", "gives a timestamp, not a boolean", ""),
        ("payload.items.map(x, x)", "gives a list, not a boolean", ""),
        (
            "payload.yes ? 1 : 'a'",
            "gives a number or a string, not a boolean",
            "",
        ),
        (
            "'a' + 1 == 'a1'",
            "`+` does not take a string and a number",
            "string(…)",
        ),
        ("!5", "`!` takes booleans; this is a number", ""),
        ("1 && true", "`&&` takes booleans; this is a number", ""),
        ("now > 5", "`>` does not take a timestamp and a number", ""),
        (
            "now < payload.until",
            "`<` does not take a timestamp and a JSON value",
            "timestamp(…)",
        ),
        (
            "state.traffic.age < 5",
            "`<` does not take a duration and a number",
            "duration(",
        ),
        (
            "state.traffic.age < '5s'",
            "`<` does not take a duration and a string",
            "duration(",
        ),
        ("-'a' == 'a'", "`-` takes a number; this is a string", ""),
        (
            "1 in 'abc'",
            "`in` looks in a list or an object; this is a string",
            "contains",
        ),
        (
            "size(1) == 1",
            "`size` takes a string or a list or an object; this is a number",
            "",
        ),
        ("5[0] == 1", "a number has nothing below it", ""),
        (
            "now.hours == 1",
            "a timestamp has nothing below it",
            "getHours",
        ),
        ("payload.x[now] == 1", "a timestamp is no index", ""),
        (
            "null ? true : false",
            "`?` takes booleans; this is null",
            "",
        ),
        (
            "payload.items.all(x, x + 1)",
            "`all` takes booleans; this is a number",
            "",
        ),
        (
            "'a'.all(x, true)",
            "`all` takes a list or an object; this is a string",
            "",
        ),
    ]);
}

#[test]
fn p5_all_errors_are_reported_with_their_place() {
    let source = "'é' == paylod.x && state.trafic.value > 1 && !5";
    let errors = compile_for(source, Expect::Bool, true).unwrap_err();
    let places: Vec<&str> = errors
        .iter()
        .map(|error| &source[error.span.start..error.span.end])
        .collect();
    assert_eq!(places, ["paylod", "state.trafic", "5"]);
}

#[test]
fn p27_without_state_only_payload_and_component() {
    let refused = |source: &str| {
        compile_for(source, Expect::String, false)
            .unwrap_err()
            .remove(0)
    };
    for name in ["state.traffic.value", "now", "certificate.x"] {
        let error = refused(name);
        assert!(error.message.contains("not in scope"), "{}", error.message);
        assert!(error.hint.unwrap().contains("`payload` and `component`"));
    }
    assert!(
        refused("traffic")
            .hint
            .unwrap()
            .ends_with("the variables are `payload`, `component`")
    );
    assert!(compile_for("payload.invoice", Expect::String, false).is_ok());
    assert!(
        compile_for(
            "component.response + '/' + component.id",
            Expect::String,
            false
        )
        .is_ok()
    );
    assert_eq!(refused("1").message, "gives a number, not a string");
    assert_eq!(
        refused("payload.a == 1").message,
        "gives a boolean, not a string"
    );
}

#[test]
fn p5_an_instant_is_a_timestamp_or_text() {
    for source in [
        "timestamp(payload.until)",
        "payload.until",
        "state.map.value.until",
        "now + duration('1s')",
        "'2026-01-01T00:00:00Z'",
    ] {
        assert!(
            compile_for(source, Expect::Instant, true).is_ok(),
            "{source}"
        );
    }
    let errors = compile_for("payload.a - 1", Expect::Instant, true).unwrap_err();
    assert_eq!(
        errors[0].message,
        "gives a number, not a string or a timestamp"
    );
}

#[test]
fn p5_a_program_that_does_not_compile_interns_nothing() {
    let sources = support::sources();
    let mut table = halo_cel::RecordTable::default();
    let environment = halo_cel::Environment {
        sources: &sources,
        state: true,
    };
    let source = "state.map.value.a && state.legs[payload.leg].value.b && nonsense";
    assert!(halo_cel::Program::compile(source, environment, Expect::Bool, &mut table).is_err());
    assert!(table.records().is_empty());
}

#[test]
fn p5_the_source_is_bounded() {
    let long = format!("payload.x == '{}'", "a".repeat(MAX_SOURCE_BYTES));
    assert!(refused(&long).0.contains("the limit is 4096"));
    assert!(
        refused(&format!("{}true", "true || ".repeat(300)))
            .0
            .contains("more than 512 nodes")
    );
    assert!(
        compile_for(
            &format!("{}true", "true || ".repeat(200)),
            Expect::Bool,
            true
        )
        .is_ok()
    );
    let deep = format!("{}true{}", "(".repeat(90), ")".repeat(90));
    assert!(compile_for(&deep, Expect::Bool, true).is_ok());
    let deeper = format!("{}true{}", "(".repeat(97), ")".repeat(97));
    assert!(refused(&deeper).0.contains("nested deeper than 96"));
    let chain = format!("payload.a{} == 1", " + 1".repeat(100));
    assert!(refused(&chain).0.contains("nested deeper than 96"));
    let macros = "payload.a.all(x, x) && ".repeat(50) + "true";
    assert!(refused(&macros).0.contains("more than 512 nodes"));
}
