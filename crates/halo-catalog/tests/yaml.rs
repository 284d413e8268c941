//! The YAML reader: what scalars mean, where nodes stand, what is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use halo_catalog::yaml::{self, Data, Yaml};
use std::time::Instant;

fn tree(text: &str) -> Yaml {
    yaml::parse("t.yaml", text).unwrap_or_else(|found| panic!("{text}: {found:#?}"))
}

fn json(text: &str) -> String {
    tree(text).to_document().unwrap().root().to_canonical()
}

#[test]
fn plain_scalars_follow_the_core_schema() {
    for (written, meant) in [
        ("null", "null"),
        ("Null", "null"),
        ("NULL", "null"),
        ("~", "null"),
        ("nUll", "\"nUll\""),
        ("true", "true"),
        ("True", "true"),
        ("FALSE", "false"),
        ("tRue", "\"tRue\""),
        ("on", "\"on\""),
        ("off", "\"off\""),
        ("yes", "\"yes\""),
        ("no", "\"no\""),
        ("y", "\"y\""),
        ("12", "12"),
        ("+5", "5"),
        ("-5", "-5"),
        ("007", "7"),
        ("-0", "0"),
        ("0o17", "15"),
        ("0x1f", "31"),
        ("0x1F", "31"),
        ("0x", "\"0x\""),
        ("0o8", "\"0o8\""),
        ("-0x1", "\"-0x1\""),
        ("1_000", "\"1_000\""),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("5.", "5"),
        ("5.e2", "500"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("1e", "\"1e\""),
        (".", "\".\""),
        ("-", "[null]"),
        ("+", "\"+\""),
        ("1.2.3", "\"1.2.3\""),
        ("12:30", "\"12:30\""),
        ("2026-01-01", "\"2026-01-01\""),
        ("\"1\"", "\"1\""),
        ("'null'", "\"null\""),
        ("\"\"", "\"\""),
        ("sha256:ab", "\"sha256:ab\""),
    ] {
        assert_eq!(json(written), meant, "{written}");
    }
}

#[test]
fn numbers_keep_their_literal() {
    for (written, literal) in [
        ("5.", "5.0"),
        (".5", "0.5"),
        ("+5", "5"),
        ("0x1f", "31"),
        ("1.50", "1.50"),
    ] {
        match tree(written).data {
            Data::Number(found) => assert_eq!(found, literal),
            other => panic!("{written}: {other:?}"),
        }
    }
}

#[test]
fn keys_are_scalars_by_their_text() {
    assert_eq!(
        json("{1: a, true: b, null: c, 1.0: d, '<<': e}"),
        r#"{"1":"a","1.0":"d","<<":"e","null":"c","true":"b"}"#
    );
}

#[test]
fn block_scalars_and_lists_are_read() {
    assert_eq!(
        json("a: |\n  x\n  y\nb: >-\n  x\n  y\nc:\n- 1\n- [2, {d: }]\n"),
        r#"{"a":"x\ny\n","b":"x y","c":[1,[2,{"d":null}]]}"#
    );
}

#[test]
fn json_is_read_as_json() {
    assert_eq!(
        json("{\"a\\/b\":\t\"\\ud83d\\ude00\",\n\t\"c\": [1E2, -0.0]}"),
        "{\"a/b\":\"😀\",\"c\":[100,0]}"
    );
    let tree = tree("{\"z\": 1,\n \"a\": {\"ä\": \"x\", \"b\": 2}}");
    let Data::Mapping(entries) = &tree.data else {
        panic!("no mapping")
    };
    // In file order, with places.
    assert_eq!(entries[0].0.text, "z");
    let b = tree.get("a").unwrap().get("b").unwrap();
    assert_eq!((b.mark.line, b.mark.column, b.mark.len), (2, 23, 1));
}

#[test]
fn marks_count_characters_and_bytes() {
    let text = "# größe\nä: ü # ö\nk: 'é'\nl: [ö, \"ß\"]\r\nm: x y \n";
    let tree = tree(text);
    let place = |key: &str| {
        let mark = tree.get(key).unwrap().mark;
        (
            mark.line,
            mark.column,
            &text[mark.offset..mark.offset + mark.len],
        )
    };
    assert_eq!(place("ä"), (2, 4, "ü"));
    assert_eq!(place("k"), (3, 4, "'é'"));
    assert_eq!(place("m"), (5, 4, "x y"));
    let Data::Sequence(items) = &tree.get("l").unwrap().data else {
        panic!("no list")
    };
    assert_eq!((items[1].mark.line, items[1].mark.column), (4, 8));
}

#[test]
fn depth_is_bounded_without_recursion() {
    for (open, close) in [("[", "]"), ("{a: ", "}")] {
        let nested = |n: usize| format!("{}1{}", open.repeat(n), close.repeat(n));
        assert!(yaml::parse("t.yaml", &nested(128)).is_ok());
        for n in [129, 100_000] {
            let found = yaml::parse("t.yaml", &nested(n)).unwrap_err();
            assert!(found[0].message.contains("nested deeper"), "{found:?}");
        }
    }
    let found = yaml::parse("t.yaml", &"- ".repeat(100_000)).unwrap_err();
    assert!(found[0].message.contains("nested deeper"), "{found:?}");
}

#[test]
fn a_number_that_no_double_holds_is_a_fault_with_its_place() {
    let tree = tree("a: [1, 9007199254740993]");
    let (mark, _) = tree.to_document().unwrap_err();
    assert_eq!((mark.line, mark.column), (1, 8));
}

/// Twice the text takes about twice the time. Quadratic would take four times.
#[test]
fn reading_is_linear() {
    let line = |i: usize| format!("  - {{submit: {{id: c{i}, text: \"größe {i}\", note: }}}}\n");
    let block = |n: usize| format!("steps:\n{}", (0..n).map(line).collect::<String>());
    let item = |i: usize| format!("{{\"id\":\"ö{i}\",\"n\":{i}}},");
    let json = |n: usize| format!("[{}0]", (0..n).map(item).collect::<String>());
    let flow = |n: usize| format!("x: [{}0]", (0..n).map(item).collect::<String>());
    let empty = |n: usize| (0..n).map(|i| format!("k{i}:\n")).collect::<String>();
    let time = |text: &str| {
        let start = Instant::now();
        tree(text);
        start.elapsed().as_secs_f64()
    };
    let makers: [&dyn Fn(usize) -> String; 4] = [&block, &json, &flow, &empty];
    for (i, make) in makers.into_iter().enumerate() {
        let (small, large) = (make(5_000), make(40_000));
        let small = (0..3).map(|_| time(&small)).fold(f64::MAX, f64::min);
        let large = time(&large);
        assert!(large < small * 32.0 + 0.05, "{i}: {small} then {large}");
    }
}
