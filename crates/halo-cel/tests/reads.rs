//! What a program says that it reads, and declared paths (P6, P7).
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;
use halo_cel::{Expect, Index, PathSegment, RecordTable, parse_path};
use support::{compile_for, sources};

fn reads(source: &str) -> Vec<String> {
    let (program, table) = match compile_for(source, Expect::Bool, true) {
        Ok(compiled) => compiled,
        Err(errors) => panic!("{source}: {errors:?}"),
    };
    let describe = |read: &halo_cel::ReadPath| read.describe(&sources(), &table);
    program.reads().iter().map(describe).collect()
}

#[test]
fn p6_reads_are_listed_once_in_order_of_appearance() {
    let cases: [(&str, &[&str]); 9] = [
        ("payload.a == 1 && now > timestamp(payload.t)", &[]),
        (
            "state.traffic.value.a.b > 1 || state.map.epoch > 1 || state.traffic.value.a.b > 2",
            &["state.traffic.value.a.b", "state.map.epoch"],
        ),
        (
            "state.legs[payload.leg].value.open && state.legs[component.id].provenance == 'x'",
            &[
                "state.legs[payload.leg].value.open",
                "state.legs[component.id].provenance",
            ],
        ),
        (
            "state.map.value.recs[component.id].v == state.map.value['a b'][0]",
            &[
                "state.map.value.recs[component.id].v",
                "state.map.value[\"a b\"][0]",
            ],
        ),
        (
            "state.map.value.recs[payload.k + 'x'].v == 1",
            &["state.map.value.recs[*]"],
        ),
        (
            "state.map.value.recs[state.traffic.value.k].v == 1",
            &["state.map.value.recs[*]", "state.traffic.value.k"],
        ),
        (
            "has(state.map.value.active) && state.map.value.list.all(x, x.open)",
            &["state.map.value.active", "state.map.value.list"],
        ),
        (
            "state['s-0'].value.a == 1 && state.legs[payload['a']['b']].age < duration('1s')",
            &["state.s-0.value.a", "state.legs[payload.a.b].age"],
        ),
        (
            "has(state.map.value) && state.map.value == {}",
            &["state.map.value"],
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(reads(source), expected, "{source}");
    }
}

#[test]
fn p6_equal_records_share_a_slot() {
    let source = "state.legs[payload.a].value.x && state.legs[payload['a']].value.y && state.legs[payload.b].epoch > 1";
    let (program, table) = compile_for(source, Expect::Bool, true).unwrap();
    assert_eq!(program.slots(), [0, 1]);
    assert_eq!(table.records().len(), 2);
    assert_eq!(table.records()[1].describe(&sources()), "legs[payload.b]");
    assert_eq!(program.source(), source);
}

#[test]
fn p7_reading_the_clock_is_known() {
    let clock = |source: &str| {
        compile_for(source, Expect::Bool, true)
            .unwrap()
            .0
            .reads_clock()
    };
    assert!(clock("now > timestamp(payload.t)"));
    assert!(clock("state.traffic.age < duration('5s')"));
    assert!(!clock("state.traffic.observed_at > timestamp(payload.t)"));
    assert!(!clock("state.traffic.value.age == payload.now"));
}

/// The path again as text, by way of [`RecordRef`](halo_cel::RecordRef) and segments.
fn parsed(text: &str) -> String {
    match parse_path(text, &sources()) {
        Ok((record, segments)) => {
            let mut table = RecordTable::default();
            let slot = table.intern(record);
            let path = halo_cel::ReadPath { slot, segments };
            let described = path.describe(&sources(), &table);
            described.strip_prefix("state.").unwrap().to_string()
        }
        Err(error) => {
            let at = &text[error.span.start..error.span.end];
            format!("{} at `{at}`", error.message)
        }
    }
}

#[test]
fn p6_declared_paths_are_parsed() {
    for text in [
        "map.epoch",
        "traffic",
        "legs[payload.leg]",
        "legs[payload.leg].value.version",
        "legs[payload.a.b].value.recs[payload.k].v",
        "s-0.value.recs[payload.k].a-b",
        "legs[\"L3\"].value.a[0]",
        "map.value.recs[component.id]",
        "legs[component.response].value[component.digest]",
        "map.value[\"a b\"][\"q\\\"\\\\\"]",
        "map.value.é",
        "map.observed_at",
    ] {
        let expected = text.replace(".é", "[\"é\"]");
        assert_eq!(parsed(text), expected);
    }
    assert_eq!(parsed("legs['L3'].value"), "legs[\"L3\"].value");
    assert_eq!(
        parsed("legs[payload[\"a\"]['b c']].value"),
        "legs[payload.a[\"b c\"]].value"
    );
    let (record, segments) = parse_path("legs[payload.leg].value.a[3]", &sources()).unwrap();
    assert_eq!(
        (record.source, record.index),
        (2, Some(Index::Payload(vec!["leg".into()])))
    );
    assert_eq!(segments[2], PathSegment::Index(Index::Number(3)));
}

#[test]
fn p6_declared_paths_are_refused_with_their_place() {
    for (text, expected) in [
        ("", "expected a source, found the end at ``"),
        ("mapp.epoch", "unknown source `mapp` at `mapp`"),
        (
            "legs.value",
            "`legs` is a keyed source: it holds a record for each key at `legs`",
        ),
        (
            "map[payload.a].value",
            "`map` is not keyed: it holds one record at `map[payload.a]`",
        ),
        ("legs[0].value", "a key is a string at `[0]`"),
        ("legs[payload].value", "`payload` is no index at `payload`"),
        ("legs[payload.a + 'x']", "expected `]`, found ` ` at ` `"),
        (
            "legs[component.type]",
            "`component.type` is no index at `component.type`",
        ),
        (
            "legs[component.kind]",
            "`component` has no field `kind` at `component.kind`",
        ),
        ("legs[payload.a", "expected `]`, found the end at ``"),
        ("legs[\"a", "this string is never closed at `\"`"),
        (
            "legs[\"a\\x\"]",
            "only `\\\\`, `\\\"` and `\\'` are escapes in a path at `\\`",
        ),
        ("legs[payload[0]]", "expected a string, found `0` at `0`"),
        ("map.", "expected a field, found the end at ``"),
        ("map..epoch", "expected a field, found `.` at `.`"),
        ("map.epoch.x", "`map.epoch` has nothing below it at `.x`"),
        (
            "map.version",
            "a record has no field `version` at `.version`",
        ),
        (
            "map.value.a[99999999999]",
            "this index is too large at `99999999999`",
        ),
        ("map.value.é é", "expected `.` or `[`, found ` ` at ` `"),
        ("map.value.a[-1]", "`-1` is no index at `-1`"),
        (
            "legs[payload.a]['b']",
            "`legs[payload.a]` is a record: it has no index at `['b']`",
        ),
    ] {
        assert_eq!(parsed(text), expected, "{text}");
    }
}
