//! P1: which texts are values, and what is said about those that are not.
#![allow(clippy::unwrap_used, reason = "tests")]

use halo_canon::{Document, Fault, JsonError, Kind};

const DEPTH: u32 = 64;

fn parse(text: &str) -> Result<Document, JsonError> {
    Document::parse(text.as_bytes(), DEPTH)
}

fn canonical(text: &str) -> String {
    parse(text).unwrap().root().to_canonical()
}

fn fault(text: &str) -> Fault {
    parse(text).unwrap_err().fault
}

fn message(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn p1_accepts_every_kind_of_value() {
    let text = " { \"b\" : [ 1 , -2.5e3 , \"x\" , true , false , null , [ ] , { } ] , \"a\" : \"\" }\r\n\t";
    assert_eq!(
        canonical(text),
        r#"{"a":"","b":[1,-2500,"x",true,false,null,[],{}]}"#
    );
    for scalar in ["null", "true", "false", "0", "\"\""] {
        assert_eq!(canonical(scalar), scalar);
    }
}

#[test]
fn p1_refuses_what_rfc_8259_does_not_allow() {
    let bad = [
        "",
        " ",
        "nul",
        "nulll",
        "tru",
        "truefalse",
        "True",
        "+1",
        ".5",
        "1.",
        "1.e3",
        "-",
        "--1",
        "01",
        "-01",
        "00",
        "1e",
        "1e+",
        "1e-",
        "0x10",
        "1_000",
        "NaN",
        "Infinity",
        "-Infinity",
        "1 2",
        "1,",
        "[1,]",
        "[,1]",
        "[",
        "]",
        "[1",
        "[1 2]",
        "{",
        "}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{'a':1}",
        "{1:2}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "[1}",
        "{\"a\":1]",
        "\"",
        "\"a",
        "'a'",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\U0041\"",
        "\"\n\"",
        "\"\t\"",
        "\"\0\"",
        "\"\u{1f}\"",
        "// c\n1",
        "/* c */ 1",
        "\u{feff}1",
        "1\u{feff}",
        "\u{a0}1",
        "\u{c}1",
        "\u{b}1",
        "[1]x",
        "\"a\"\"b\"",
        "\u{2028}1",
    ];
    for text in bad {
        assert!(matches!(fault(text), Fault::Syntax(_)), "{text:?}");
    }
}

#[test]
fn p1_says_what_is_wrong_and_where() {
    let cases = [
        ("[1}", "line 1, column 3: expected `,` or `]`, found `}`"),
        (
            "{\"a\":1]",
            "line 1, column 7: expected `,` or `}`, found `]`",
        ),
        (
            "{\"é\":\n  tru}",
            "line 2, column 3: expected a value, found `t`",
        ),
        (
            "[\"é\" 1]",
            "line 1, column 6: expected `,` or `]`, found `1`",
        ),
        ("\"abc", "line 1, column 5: the text ends inside a string"),
        ("\"abc\\", "line 1, column 5: the text ends inside a string"),
        ("[1,", "line 1, column 4: the text ends inside an array"),
        ("{\"a\"", "line 1, column 5: the text ends inside an object"),
        ("-", "line 1, column 2: the text ends inside a number"),
        ("[-]", "line 1, column 3: expected a digit, found `]`"),
        (
            "[1.]",
            "line 1, column 4: expected a digit after the decimal point, found `]`",
        ),
        ("", "line 1, column 1: the text is empty"),
        ("  ", "line 1, column 3: the text ends before a value"),
        (
            "\u{feff}1",
            "line 1, column 1: the text begins with a byte order mark",
        ),
        (
            "\"a\nb\"",
            "line 1, column 3: expected an escape instead of a control character, found U+000A",
        ),
        (
            "\"\\x\"",
            "line 1, column 2: no JSON escape begins as `\\x\"` does",
        ),
        (
            "{a:1}",
            "line 1, column 2: expected a key or `}`, found `a`",
        ),
        (
            "{\"a\":1,}",
            "line 1, column 8: expected a key in quotes, found `}`",
        ),
        (
            "{\"a\" 1}",
            "line 1, column 6: expected `:` after the key, found `1`",
        ),
        (
            "1 2",
            "line 1, column 3: expected nothing after the value, found `2`",
        ),
        (
            "01",
            "line 1, column 2: expected no digit after a leading `0`, found `1`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(message(text), expected, "{text:?}");
    }
    assert_eq!(parse("{\"é\":\n  tru}").unwrap_err().offset, 9);
}

#[test]
fn p1_refuses_repeated_keys() {
    for text in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"b":2,"a":3}"#,
        r#"{"b":1,"a":2,"\u0061":3}"#,
        r#"[{"x":{"a":1,"b":2,"c":3,"a":4}}]"#,
    ] {
        assert_eq!(fault(text), Fault::DuplicateKey("a".to_owned()), "{text}");
    }
    assert_eq!(
        message("{\"a\":1,\n \"\\u0061\":2}"),
        "line 2, column 2: the key `a` stands twice in one object"
    );
    assert_eq!(parse(r#"{"\u0061":1,"b":0,"a":2}"#).unwrap_err().offset, 18);
    let many: String = (0..1000).map(|i| format!("\"k{i}\":0,")).collect();
    assert_eq!(
        fault(&format!("{{{many}\"k500\":1}}")),
        Fault::DuplicateKey("k500".to_owned())
    );
    assert!(parse(r#"{"a":{"a":{"a":1}},"A":2,"a ":3,"":4}"#).is_ok());
}

#[test]
fn p1_refuses_what_is_nested_too_deep() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(Document::parse(nested(3).as_bytes(), 3).is_ok());
    let error = Document::parse(nested(4).as_bytes(), 3).unwrap_err();
    assert_eq!(error.fault, Fault::TooDeep { limit: 3 });
    assert_eq!(error.offset, 3);
    assert!(Document::parse(b"1", 0).is_ok());
    assert!(Document::parse(b"[]", 0).is_err());
    assert!(Document::parse(br#"{"a":{"b":[]}}"#, 2).is_err());
    let depth = |text: &str| parse(text).unwrap().depth();
    assert_eq!(depth("1"), 0);
    assert_eq!(depth("[[],{\"a\":[1]}]"), 3);
}

#[test]
fn p1_depth_costs_no_stack() {
    let depth = 1_000_000;
    let text = "[".repeat(depth) + &"]".repeat(depth);
    let document = Document::parse(text.as_bytes(), u32::MAX).unwrap();
    assert_eq!(document.depth() as usize, depth);
    assert_eq!(document.root().depth() as usize, depth);
    assert_eq!(document.root().to_canonical(), text);
    let copy = document.root().to_document();
    assert!(copy == document);
    let objects = "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
    let document = Document::parse(objects.as_bytes(), u32::MAX).unwrap();
    assert_eq!(document.root().to_canonical(), objects);
    assert!(copy != document);
}

#[test]
fn p1_refuses_what_is_not_utf8() {
    let error = Document::parse(b"\"ab\xff\"", DEPTH).unwrap_err();
    assert_eq!((error.fault, error.offset), (Fault::NotUtf8, 3));
    // An overlong quote, a surrogate, and beyond U+10FFFF.
    for text in [
        &b"\"\xc0\xa2\""[..],
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xe2\x82\"",
    ] {
        assert_eq!(
            Document::parse(text, DEPTH).unwrap_err().fault,
            Fault::NotUtf8
        );
    }
}

#[test]
fn p1_refuses_lone_surrogate_escapes() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\udc00\ud800""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#"{"\udfff":1}"#,
        r#""\uD800\u0041""#,
    ] {
        assert_eq!(fault(text), Fault::LoneSurrogate, "{text}");
    }
    assert_eq!(parse(r#"["ab\ud800"]"#).unwrap_err().offset, 4);
}

#[test]
fn p1_unescapes() {
    let text = r#""\"\\\/\b\f\n\r\t\u0000\u0041\u00e9\uD83D\ude00\uffff é😀""#;
    let document = parse(text).unwrap();
    assert_eq!(
        document.root().as_str(),
        Some("\"\\/\u{8}\u{c}\n\r\t\0A\u{e9}\u{1f600}\u{ffff} é😀")
    );
    assert_eq!(
        document.root().to_canonical(),
        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000A\u{e9}\u{1f600}\u{ffff} é😀\""
    );
}

#[test]
fn p1_refuses_numbers_beyond_double_integers() {
    let fine = [
        ("9007199254740991", 9_007_199_254_740_991.0),
        ("-9007199254740991", -9_007_199_254_740_991.0),
        ("9007199254740991.0", 9_007_199_254_740_991.0),
        (
            "9007199254740991.000000000000000000000000",
            9_007_199_254_740_991.0,
        ),
        ("9007199254740990.9999", 9_007_199_254_740_991.0),
        ("9007199254740992e0", 9_007_199_254_740_992.0),
        ("1e300", 1e300),
        (
            "0.1000000000000000055511151231257827021181583404541015625",
            0.1,
        ),
    ];
    for (text, value) in fine {
        assert_eq!(parse(text).unwrap().root().as_f64(), Some(value), "{text}");
    }
    for text in [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740991.4",
        "9007199254740991.00000000000000000000000001",
        "9007199254740993",
        "10000000000000000",
        "123456789012345678901234567890",
        "-123456789012345678901234567890.5",
    ] {
        assert!(matches!(fault(text), Fault::Number(_)), "{text}");
    }
}

#[test]
fn p1_refuses_numbers_that_overflow() {
    for text in [
        "1e400",
        "-1e400",
        "1.8e308",
        "1e99999999999999999999",
        "0.1e310",
        "1.7976931348623159e308",
    ] {
        assert!(matches!(fault(text), Fault::Number(_)), "{text}");
    }
    assert_eq!(
        parse("1.7976931348623157e308").unwrap().root().as_f64(),
        Some(f64::MAX)
    );
}

#[test]
fn p1_refuses_numbers_that_become_zero() {
    let tiny = format!("0.{}1", "0".repeat(400));
    let long = format!("-0.{}1", "0".repeat(5000));
    for text in [
        "1e-400",
        "-1e-400",
        "2e-324",
        "1e-99999999999999999999",
        &tiny,
        &long,
        "0.00001e-330",
    ] {
        assert!(matches!(fault(text), Fault::Number(_)), "{text}");
    }
    assert_eq!(parse("5e-324").unwrap().root().as_f64(), Some(5e-324));
    for text in [
        "0",
        "-0",
        "0.0",
        "-0.0",
        "0e999",
        "-0e-999",
        "0.000e99999999999999999999",
    ] {
        let value = parse(text).unwrap().root().as_f64().unwrap();
        assert_eq!(value.to_bits(), 0, "{text}");
    }
}

#[test]
fn p1_reads_absurdly_long_numbers_right() {
    let zeros = "0".repeat(70_000);
    let one = |text: String| assert_eq!(parse(&text).unwrap().root().as_f64(), Some(1.0));
    one(format!("0.{zeros}1e70001"));
    one(format!("1{zeros}e-70000"));
    one(format!("0.9{}", "9".repeat(2000)));
    assert!(matches!(
        fault(&format!("1{zeros}e-7000000")),
        Fault::Number(_)
    ));
    // Halfway between two doubles, and a little more, decided by the last of 900 digits.
    let half = format!(
        "1.00000000000000011102230246251565404236316680908203125{}",
        "0".repeat(900)
    );
    one(half.clone());
    let above = parse(&format!("{half}1")).unwrap().root().as_f64();
    assert_eq!(above, Some(1.0 + f64::EPSILON));
    assert_eq!(
        fault(&"9".repeat(100)).to_string(),
        format!(
            "the number `{}…` has no exact or finite double",
            "9".repeat(40)
        )
    );
}

#[test]
fn nodes_of_other_documents_do_no_harm() {
    let large = parse("[1,2,3,[4,5]]").unwrap();
    let small = parse("true").unwrap();
    let node = large.root().node();
    assert!(small.at(node).is_null());
    assert!(matches!(
        large.at(small.root().node()).kind(),
        Kind::Number(_)
    ));
}

#[test]
fn members_and_elements_are_found() {
    let many: Vec<String> = (0..100).map(|i| format!("\"k{i}\":{i}")).collect();
    let document = parse(&format!("{{{}}}", many.join(","))).unwrap();
    let object = document.root().as_object().unwrap();
    assert_eq!(object.len(), 100);
    for i in 0..100 {
        assert_eq!(
            object.get(&format!("k{i}")).unwrap().as_f64(),
            Some(f64::from(i))
        );
    }
    assert!(object.get("k100").is_none() && object.get("").is_none());
    let small = parse(r#"{"b":[10,20],"a":null}"#).unwrap();
    assert!(small.root().get("a").unwrap().is_null());
    assert_eq!(
        small.root().get("b").unwrap().element(1).unwrap().as_f64(),
        Some(20.0)
    );
    assert!(small.root().get("b").unwrap().element(2).is_none());
    assert!(small.root().get("c").is_none() && small.root().element(0).is_none());
    let keys: Vec<_> = small
        .root()
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys, ["a", "b"]);
}
