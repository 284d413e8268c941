//! Expressions and what they give (P5, formats.md §1).
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;
use support::{World, shown, shown_in};

fn check(table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (source, expected) in table {
        let found = shown(source);
        let matches = match expected.strip_suffix('…') {
            Some(lead) => found.starts_with(lead),
            None => found == *expected,
        };
        if !matches {
            wrong.push(format!(
                "{source}\n  gives    {found}\n  expected {expected}"
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn p5_numbers_are_doubles() {
    check(&[
        ("7 / 2", "3.5"),
        ("1 + 0.5", "1.5"),
        ("payload.n + 1 == 4.0", "true"),
        ("1 == 1.0 && 1u == 1 && 0x10 == 16", "true"),
        ("payload.n / payload.amount", "0.15"),
        ("7 % 4", "3"),
        ("payload.neg % 4", "-3"),
        ("7.0 % 4u", "3"),
        ("7.5 % 2", "error: `7.5 % 2`: `%` takes whole numbers only"),
        ("1 / 0", "error: `1 / 0`: division by zero"),
        ("0 / 0", "error: `0 / 0`: division by zero"),
        ("1 % 0", "error: `1 % 0`: division by zero"),
        (
            "1e308 * 10",
            "error: `1e308 * 10`: the result is no finite number",
        ),
        ("-(payload.n)", "-3"),
        ("2 * 3 - 4 / 2 + 1", "5"),
        ("state.traffic.epoch + 0.5", "7.5"),
        ("9007199254740991", "9007199254740991"),
        (
            "9007199254740992",
            "refused: the integer `9007199254740992` is larger than 2^53 − 1",
        ),
        (
            "-9007199254740992",
            "refused: the integer `-9007199254740992` is larger than 2^53 − 1",
        ),
        (
            "99999999999999999999",
            "refused: the integer `99999999999999999999` is larger than 2^53 − 1",
        ),
    ]);
}

#[test]
fn p5_logic_absorbs_errors_as_cel_defines() {
    check(&[
        ("payload.missing || true", "true"),
        ("true || payload.missing", "true"),
        (
            "payload.missing || false",
            "error: `payload.missing` is missing",
        ),
        (
            "false || payload.missing",
            "error: `payload.missing` is missing",
        ),
        ("false && payload.missing", "false"),
        ("payload.missing && false", "false"),
        (
            "payload.missing && true",
            "error: `payload.missing` is missing",
        ),
        ("payload.n || true", "true"),
        ("payload.n && false", "false"),
        (
            "payload.n && true",
            "error: `payload.n` is a number, not a boolean",
        ),
        (
            "true && payload.n",
            "error: `payload.n` is a number, not a boolean",
        ),
        ("payload.a1 || payload.a2", "error: `payload.a1` is missing"),
        ("payload.yes ? 1 : payload.missing", "1"),
        ("payload.no ? payload.missing : 2", "2"),
        (
            "payload.n ? 1 : 2",
            "error: `payload.n` is a number, not a boolean",
        ),
        (
            "payload.missing ? 1 : 1",
            "error: `payload.missing` is missing",
        ),
        ("!payload.no && !(payload.n == 4)", "true"),
        (
            "!payload.n",
            "error: `payload.n` is a number, not a boolean",
        ),
        (
            "payload.yes && payload.yes && payload.yes && payload.no || payload.yes",
            "true",
        ),
    ]);
}

#[test]
fn p5_has_tests_the_field_only() {
    check(&[
        ("has(payload.n)", "true"),
        ("has(payload.nothing)", "true"),
        ("has(payload.missing)", "false"),
        (
            "has(payload.missing.x)",
            "error: `payload.missing` is missing",
        ),
        (
            "has(payload.n.x)",
            "error: `payload.n` is a number, not an object",
        ),
        (
            "has(payload.items.x)",
            "error: `payload.items` is a list, not an object",
        ),
        (
            "!has(payload.missing.x)",
            "error: `payload.missing` is missing",
        ),
        ("has(state.map.value.open)", "true"),
        ("has(state.map.value.shut)", "false"),
        (
            "has(state.block.value.active)",
            "error: no record `state.block`",
        ),
        (
            "!has(state.block.value.active)",
            "error: no record `state.block`",
        ),
        ("has(state.block.value)", "error: no record `state.block`"),
        ("has(state.map.value)", "true"),
        ("has(state.map.epoch)", "true"),
        ("has(state.legs[payload.leg].value.open)", "true"),
        (
            "has(state.legs[payload.missing].value.open)",
            "error: no record `state.legs[payload.missing]`",
        ),
        ("has(certificate.x)", "false"),
        ("has(component.id)", "true"),
        ("has({'a': 1}.a) && !has({'a': 1}.b)", "true"),
        ("has(payload.objects[0].id)", "true"),
        ("has(payload[\"map\"].a)", "true"),
        (
            "has(payload)",
            "refused: `has` takes the selection of a field",
        ),
        (
            "has(payload[\"map\"])",
            "refused: `has` takes the selection of a field",
        ),
    ]);
}

#[test]
fn p5_paths_name_what_is_missing() {
    check(&[
        ("payload.map.b.c[1]", "20"),
        ("payload[\"map\"][\"a-b\"]", "5"),
        ("payload.map[payload.nested.k]", "1"),
        ("payload.items[payload.nested.i]", "2"),
        ("payload.items[1.0]", "2"),
        (
            "payload.items[3]",
            "error: `payload.items[3]` is missing: 3 is no index of a list of 3",
        ),
        (
            "payload.items[-1]",
            "error: `payload.items[-1]` is missing: -1 is no index of a list of 3",
        ),
        (
            "payload.items[0.5]",
            "error: `payload.items[0.5]` is missing: 0.5 is no index of a list of 3",
        ),
        (
            "payload.items.x",
            "error: `payload.items`: a list is indexed by a number, not by a string",
        ),
        (
            "payload.map[0]",
            "error: `payload.map`: an object is indexed by a string, not by a number",
        ),
        (
            "payload.map[payload.leg]",
            "error: `payload.map[payload.leg]` is missing: there is no `L3`",
        ),
        ("payload.map.x.y", "error: `payload.map.x` is missing"),
        (
            "payload.n.x",
            "error: `payload.n` is a number, not an object",
        ),
        ("payload.n[0]", "error: `payload.n` is a number, not a list"),
        (
            "state.traffic.value.sep",
            "error: `state.traffic.value.sep` is missing",
        ),
        ("state.traffic.value.recs[payload.nested.k].v", "1"),
        ("state.legs[component.id].value.open", "false"),
        ("state.legs[\"L3\"].value.version", "4"),
        (
            "state.legs[\"L9\"].value.version",
            "error: no record `state.legs[\"L9\"]`",
        ),
        (
            "state.legs[payload.n].value.open",
            "error: no record `state.legs[payload.n]`",
        ),
        ("state.block.epoch", "error: no record `state.block`"),
        ("state.traffic.provenance", "\"radar\""),
        ("state.traffic.age == duration('5s')", "true"),
        ("now - state.traffic.observed_at", "5000000000ns"),
        (
            "component.id + component.type + component.response + component.digest",
            "\"c1router1sha256:00\"",
        ),
        ("certificate.level", "error: `certificate.level` is missing"),
        ("size(certificate)", "0"),
        ("[1, 2, 3][1]", "2"),
        (
            "[1, 2][2]",
            "error: `[1, 2][2]` is missing: 2 is no index of a list of 2",
        ),
        ("{'a': {'b': 3}}.a.b", "3"),
        ("{'a': payload}.a.map.b.c[0]", "10"),
        ("{1: 'x'}[1.0]", "\"x\""),
        ("{'a': 1}['b']", "error: `{'a': 1}['b']` is missing"),
        (
            "{'a': 1, 'a': 2}",
            "error: `{'a': 1, 'a': 2}` has the key `'a'` twice",
        ),
        (
            "{payload.items: 1}",
            "error: `payload.items` is a list, not a key of a map",
        ),
    ]);
}

#[test]
fn p5_claims_are_a_map() {
    let mut world = World::new();
    world.claims = Some(halo_canon::Document::parse(br#"{"level": 3}"#, 8).unwrap());
    assert_eq!(shown_in(&world, "certificate.level > 2"), "true");
    assert_eq!(shown_in(&world, "'level' in certificate"), "true");
    assert_eq!(shown_in(&world, "has(certificate.other)"), "false");
}

#[test]
fn p5_equality_is_deep_and_total() {
    check(&[
        ("1 == '1'", "false"),
        ("payload.n != 'a'", "true"),
        ("null == payload.nothing", "true"),
        ("payload.items == [1, 2, 3]", "true"),
        ("[1, 2, 3] == payload.items", "true"),
        ("payload.items == payload.items", "true"),
        ("payload.items == [1, 2]", "false"),
        (
            "payload.mixed == [1, 'a', null, true, [1], {'a': 1}]",
            "true",
        ),
        ("payload.objects[0] == {'v': 1, 'id': 'x'}", "true"),
        ("{'v': 1, 'id': 'x'} == payload.objects[0]", "true"),
        ("payload.objects[0] == payload.objects[1]", "false"),
        ("payload.objects[0] == {'v': 1}", "false"),
        ("payload.objects[0] == {'v': 1, 1: 'x'}", "false"),
        ("{'a': 1, 'b': 2} == {'b': 2, 'a': 1.0}", "true"),
        ("{'a': 1} == {'a': 2}", "false"),
        ("[] == {}", "false"),
        ("payload.map == payload.items", "false"),
        ("now == timestamp(now)", "true"),
        ("duration('60s') == duration('1m')", "true"),
        ("[[1], [2]] == [[1], [2.0]]", "true"),
        (
            "payload.missing == 1",
            "error: `payload.missing` is missing",
        ),
    ]);
}

#[test]
fn p5_ordering_is_within_a_kind() {
    check(&[
        ("1 < 1.5 && 2 >= 2.0 && !(2 > 2) && 1 <= 1", "true"),
        ("'a' < 'b' && 'Z' < 'a' && 'z' < 'é'", "true"),
        ("'\\U0001F600' > '\\uFFFD'", "true"),
        ("false < true", "true"),
        ("now > timestamp('2025-01-01T00:00:00Z')", "true"),
        ("duration('1s') < duration('1m')", "true"),
        (
            "payload.n < payload.leg",
            "error: `payload.n < payload.leg`: `<` does not take a number and a string",
        ),
        (
            "payload.items < payload.items",
            "error: `payload.items < payload.items`: `<` does not take a list and a list",
        ),
        (
            "payload.nothing < 1",
            "error: `payload.nothing < 1`: `<` does not take null and a number",
        ),
    ]);
}

#[test]
fn p5_strings_and_lists() {
    check(&[
        ("size('héllo')", "5"),
        ("payload.name.size()", "5"),
        (
            "size(payload.items) + size(payload.map) + size([1]) + size({})",
            "7",
        ),
        (
            "size(payload.n)",
            "error: `payload.n` is a number, which `size` does not take",
        ),
        ("'a' + payload.leg + 'b'", "\"aL3b\""),
        ("[1] + payload.words + [null]", "[1,\"a\",\"b\",null]"),
        (
            "payload.items + payload.n",
            "error: `payload.items + payload.n`: `+` does not take a list and a number",
        ),
        ("payload.name.contains('éll')", "true"),
        (
            "payload.name.startsWith('hé') && payload.name.endsWith('o')",
            "true",
        ),
        (
            "payload.n.contains('a')",
            "error: `payload.n` is a number, which `contains` does not take",
        ),
        (
            "payload.name.contains(payload.n)",
            "error: `payload.n` is a number, which `contains` does not take",
        ),
        ("payload.leg.matches('^L[0-9]+$')", "true"),
        ("matches(payload.leg, 'x')", "false"),
        (
            "payload.n.matches('x')",
            "error: `payload.n` is a number, which `matches` does not take",
        ),
        ("2 in payload.items && !(4 in payload.items)", "true"),
        ("{'a': 1} in payload.mixed && [1] in payload.mixed", "true"),
        (
            "'a' in payload.map && !('z' in payload.map) && !(1 in payload.map)",
            "true",
        ),
        ("1 in [2, 1] && 'k' in {'k': 0}", "true"),
        (
            "payload.nothing in payload.map",
            "error: `payload.nothing` is null, not a key of an object",
        ),
        (
            "1 in payload.n",
            "error: `payload.n` is a number, not a list or an object",
        ),
        (
            "\"a\\n\\x41\\u00e9\" == 'a\\nAé' && r'\\n' == '\\\\n'",
            "true",
        ),
    ]);
}

#[test]
fn p5_macros() {
    check(&[
        ("payload.items.all(x, x > 0)", "true"),
        ("payload.items.all(x, x > 1)", "false"),
        ("payload.mixed.all(x, x > 1)", "false"),
        (
            "payload.mixed.all(x, x > 0)",
            "error: `x > 0`: `>` does not take a string and a number",
        ),
        ("payload.items.exists(x, x == 3)", "true"),
        ("payload.mixed.exists(x, x > 0)", "true"),
        (
            "payload.mixed.exists(x, x > 1)",
            "error: `x > 1`: `>` does not take a string and a number",
        ),
        ("payload.items.exists_one(x, x > 2)", "true"),
        ("payload.items.exists_one(x, x > 1)", "false"),
        (
            "payload.mixed.exists_one(x, x > 0)",
            "error: `x > 0`: `>` does not take a string and a number",
        ),
        ("payload.items.map(x, x * 2)", "[2,4,6]"),
        ("payload.items.map(x, x > 1, x * 2)", "[4,6]"),
        (
            "payload.objects.filter(o, o.v > 1)",
            "[{\"id\":\"y\",\"v\":2}]",
        ),
        ("payload.objects.map(o, o.id) == ['x', 'y']", "true"),
        ("payload.map.map(k, k)", "[\"a\",\"a-b\",\"b\"]"),
        ("{'k': 1}.all(k, k == 'k')", "true"),
        ("[].all(x, x) && ![].exists(x, x)", "true"),
        ("[1, 'a'].filter(x, x == 'a')", "[\"a\"]"),
        ("[[1, 2], [3]].map(x, size(x))", "[2,1]"),
        (
            "payload.n.all(x, x)",
            "error: `payload.n` is a number, not a list or an object",
        ),
        (
            "payload.items.all(x, x)",
            "error: `x` is a number, not a boolean",
        ),
        (
            "payload.objects.all(o, has(o.id)) && payload.objects.exists(o, o['id'] == 'y')",
            "true",
        ),
        (
            "payload.items.map(x, x)[1] + payload.items.filter(x, x > 1).map(y, y)[0]",
            "refused: `filter` stands within another loop",
        ),
    ]);
}

#[test]
fn p5_conversions() {
    check(&[
        ("string(1.0) + string(0.5) + string(-0.0)", "\"10.50\""),
        ("string(true) + string('x')", "\"truex\""),
        ("string(now)", "\"2026-01-01T00:00:00Z\""),
        ("string(duration('1h1.5s'))", "\"3601.5s\""),
        ("double('1.5') + double(2) + double(payload.digits)", "45.5"),
        ("double('NaN')", "error: `'NaN'` is \"NaN\", not a number"),
        ("double('inf')", "error: `'inf'` is \"inf\", not a number"),
        ("int(-1.9)", "-1"),
        ("int('42') + int(payload.digits)", "84"),
        ("int('1.5')", "error: `'1.5'` is \"1.5\", not an integer"),
        ("int('')", "error: `''` is \"\", not an integer"),
        (
            "int('9007199254740993')",
            "error: `'9007199254740993'` is \"9007199254740993\", not an integer",
        ),
        ("bool('true') && !bool('false') && bool(true)", "true"),
        ("bool('yes')", "error: `'yes'` is \"yes\", not a boolean"),
        ("dyn(1) + 1", "2"),
        ("timestamp(payload.until) - now", "10000000000ns"),
        ("timestamp('9')", "error: `'9'` is no instant: …"),
        (
            "timestamp(payload.n)",
            "error: `payload.n` is a number, which `timestamp` does not take",
        ),
        ("duration(payload.span)", "5400000000000ns"),
        (
            "duration('x')",
            "error: `'x'` is \"x\", not a duration such as `1h30m`",
        ),
    ]);
}

#[test]
fn p5_time() {
    check(&[
        ("now + duration('1h')", "2026-01-01T01:00:00Z"),
        ("duration('1h') + now", "2026-01-01T01:00:00Z"),
        ("now - duration('1s')", "2025-12-31T23:59:59Z"),
        (
            "duration('1h') - duration('90m') + duration('0')",
            "-1800000000000ns",
        ),
        (
            "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
            "error: `timestamp('9999-12-31T23:59:59Z') + duration('1s')` is out of range",
        ),
        (
            "duration('87000000h') + duration('87000000h')",
            "error: `duration('87000000h') + duration('87000000h')` is out of range",
        ),
        (
            "now.getFullYear() + now.getMonth() + now.getDate() + now.getDayOfMonth() + now.getDayOfWeek()",
            "2031",
        ),
        ("(now + duration('3h4m5s6ms')).getHours()", "3"),
        (
            "duration('90m').getHours() + duration('90m').getMinutes() + duration('2s').getMilliseconds()",
            "2091",
        ),
        ("state.traffic.observed_at.getSeconds()", "55"),
        (
            "payload.n.getHours()",
            "refused: `getHours` takes a timestamp or a duration; this is a JSON value",
        ),
    ]);
}

#[test]
fn p5_one_meaning_for_a_number_however_spelled() {
    let templates = [
        "payload.v == 1",
        "payload.v == 1.0",
        "payload.v + 1 == 2",
        "payload.v - 0.5 == 0.5",
        "payload.v * 3u == 3",
        "payload.v / 2 == 0.5",
        "payload.v % 2 == 1",
        "-payload.v == -1",
        "payload.v < 2 && payload.v >= 1",
        "payload.v in [1]",
        "payload.list[payload.v] == 'b'",
        "string(payload.v) == '1'",
        "int(payload.v) == 1",
        "double(payload.v) == 1.0",
        "[payload.v] == [1.0]",
        "{'a': payload.v} == {'a': 1}",
        "[0].all(x, x < payload.v)",
        "{payload.v: 'x'}[1.0] == 'x'",
        "payload == {'v': 1, 'list': ['a', 'b']}",
    ];
    for spelling in ["1", "1.0", "1e0", "10e-1", "0.1E1", "1.00"] {
        let world = World::with_payload(&format!(r#"{{"v": {spelling}, "list": ["a", "b"]}}"#));
        for template in templates {
            assert_eq!(
                shown_in(&world, template),
                "true",
                "{template} with {spelling}"
            );
        }
    }
}
