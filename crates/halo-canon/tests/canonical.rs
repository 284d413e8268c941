//! P4: canonical bytes, against another implementation and the vectors of RFC 8785.
#![allow(clippy::unwrap_used, reason = "tests")]

use halo_canon::{Builder, Document, Fault, Kind, Value, write_number, write_string};
use proptest::prelude::*;
use serde_json::Value as Serde;

fn parse(text: &str) -> Document {
    Document::parse(text.as_bytes(), u32::MAX).unwrap()
}

fn number(value: f64) -> String {
    let mut out = Vec::new();
    write_number(&mut out, value);
    String::from_utf8(out).unwrap()
}

#[test]
fn p4_numbers_of_rfc_8785_appendix_b() {
    let vectors: [(u64, &str); 24] = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];
    for (bits, text) in vectors {
        assert_eq!(number(f64::from_bits(bits)), text, "{bits:016x}");
    }
}

#[test]
fn p4_the_example_of_rfc_8785() {
    let source = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let canonical = concat!(
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
        r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
    );
    assert_eq!(parse(source).root().to_canonical(), canonical);
    let source = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
        "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let document = parse(source);
    let object = document.root().as_object().unwrap();
    let keys: Vec<_> = object.iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["\r", "1", "\u{80}", "ö", "€", "😀", "\u{fb33}"]);
}

#[test]
fn p4_canonical_texts_are_read_back() {
    let document = parse("1e20");
    let canonical = document.root().to_canonical();
    assert_eq!(canonical, "100000000000000000000");
    assert!(Document::parse(canonical.as_bytes(), 1).is_err());
    assert!(Document::parse_canonical(canonical.as_bytes()).unwrap() == document);
    assert!(Document::parse_canonical(b"1e400").is_err());
}

/// Any finite double, with the odd ones often.
fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_filter("finite", |value| value.is_finite()),
        any::<i32>().prop_map(f64::from),
        (any::<i32>(), 0..12).prop_map(|(value, places)| f64::from(value) / 10_f64.powi(places)),
        (-((1_i64 << 53) - 1)..1_i64 << 53).prop_map(|value| value as f64),
        prop::sample::select(vec![
            0.0,
            -0.0,
            5e-324,
            f64::MAX,
            f64::MIN,
            f64::EPSILON,
            1e21,
            1e-7,
            1e22,
            9007199254740992.0
        ]),
    ]
}

/// Short texts of characters that matter to order and escapes.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,6}",
        ".{0,12}",
        prop::collection::vec(
            prop::sample::select(vec![
                'a',
                '"',
                '\\',
                '/',
                '\0',
                '\n',
                '\u{8}',
                '\u{c}',
                '\r',
                '\t',
                '\u{1f}',
                '\u{7f}',
                '\u{80}',
                'é',
                '\u{d7ff}',
                '\u{e000}',
                '\u{ffff}',
                '\u{10000}',
                '\u{10ffff}',
                '\u{2028}',
            ]),
            0..20
        )
        .prop_map(String::from_iter),
    ]
}

fn value() -> impl Strategy<Value = Serde> {
    let leaf = prop_oneof![
        Just(Serde::Null),
        any::<bool>().prop_map(Serde::from),
        double().prop_map(Serde::from),
        text().prop_map(Serde::from),
    ];
    leaf.prop_recursive(5, 60, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Serde::from),
            prop::collection::vec((text(), inner), 0..12)
                .prop_map(|members| Serde::Object(members.into_iter().collect())),
        ]
    })
}

/// JSON text of `value` with arbitrary spaces, escapes and member order, as `choices` have it.
fn spell(value: &Serde, choices: &mut impl Iterator<Item = u8>, out: &mut String) {
    space(choices, out);
    match value {
        Serde::String(text) => spell_string(text, choices, out),
        Serde::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                spell(item, choices, out);
            }
            space(choices, out);
            out.push(']');
        }
        Serde::Object(members) => {
            out.push('{');
            let mut members: Vec<_> = members.iter().collect();
            let shift = usize::from(choices.next().unwrap_or(0)) % members.len().max(1);
            members.rotate_left(shift);
            for (index, (key, item)) in members.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                space(choices, out);
                spell_string(key, choices, out);
                space(choices, out);
                out.push(':');
                spell(item, choices, out);
            }
            space(choices, out);
            out.push('}');
        }
        Serde::Number(number) => spell_number(number.as_f64().unwrap(), choices, out),
        other => out.push_str(&other.to_string()),
    }
    space(choices, out);
}

fn space(choices: &mut impl Iterator<Item = u8>, out: &mut String) {
    out.push_str(["", "", "", " ", "\n", "\t\r\n  "][usize::from(choices.next().unwrap_or(0)) % 6]);
}

fn spell_number(value: f64, choices: &mut impl Iterator<Item = u8>, out: &mut String) {
    match choices.next().unwrap_or(0) % 3 {
        0 => out.push_str(&format!("{value:e}")),
        1 => out.push_str(&format!("{value:E}").replace('E', "E+").replace("+-", "-")),
        // Digits only, where P1 takes them.
        _ if value.abs() <= 9_007_199_254_740_991.0 => out.push_str(&format!("{value}")),
        _ => out.push_str(&format!("{value:e}")),
    }
}

fn spell_string(text: &str, choices: &mut impl Iterator<Item = u8>, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        let escape = choices.next().unwrap_or(0).is_multiple_of(4);
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            character if escape || character < ' ' => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
            character => out.push(character),
        }
    }
    out.push('"');
}

/// The same value, made by a builder.
fn build(value: Value<'_>, builder: &mut Builder) {
    match value.kind() {
        Kind::Null => builder.null(),
        Kind::Bool(value) => builder.bool(value),
        Kind::Number(value) => builder.number(value).unwrap(),
        Kind::String(text) => builder.string(text),
        Kind::Array(array) => {
            builder.begin_array();
            array.iter().for_each(|item| build(item, builder));
            builder.end_array();
        }
        Kind::Object(object) => {
            builder.begin_object();
            let members: Vec<_> = object.iter().collect();
            for (key, item) in members.into_iter().rev() {
                builder.key(key);
                build(item, builder);
            }
            builder.end_object().unwrap();
        }
    }
}

proptest! {
    #[test]
    fn p4_canonical_bytes_are_those_of_another_implementation(
        value in value(),
        choices in prop::collection::vec(any::<u8>(), 200),
    ) {
        let mut source = String::new();
        spell(&value, &mut choices.into_iter().cycle(), &mut source);
        let document = parse(&source);
        let canonical = document.root().to_canonical();
        prop_assert_eq!(&canonical, &serde_json_canonicalizer::to_string(&value).unwrap());
        let again = Document::parse_canonical(canonical.as_bytes()).unwrap();
        prop_assert!(again == document);
        prop_assert_eq!(again.root().to_canonical(), canonical.clone());
        let serde = document.root().to_serde();
        prop_assert_eq!(&serde_json_canonicalizer::to_string(&serde).unwrap(), &canonical);
        let mut builder = Builder::new();
        build(document.root(), &mut builder);
        let built = builder.finish().unwrap();
        prop_assert!(built == document);
        prop_assert_eq!(built.root().to_canonical(), canonical);
        prop_assert_eq!(built.depth(), document.depth());
    }

    #[test]
    fn p4_numbers_are_written_as_the_shortest_decimal(value in double(), digits in 1_i64..100_000_000_000_000_000, places in 0..24) {
        let decimal: f64 = format!("{digits}e-{places}").parse().unwrap();
        for value in [value, decimal, -decimal, decimal.next_up(), decimal.next_down(), (digits % 100_000) as f64 / 1e7] {
            let mut buffer = ryu_js::Buffer::new();
            prop_assert_eq!(number(value), buffer.format_finite(value));
        }
    }

    #[test]
    fn p4_every_part_is_a_document(value in value(), choices in prop::collection::vec(any::<u8>(), 200)) {
        let mut source = String::new();
        spell(&value, &mut choices.into_iter().cycle(), &mut source);
        let document = parse(&source);
        let mut left = vec![document.root()];
        while let Some(part) = left.pop() {
            let copy = part.to_document();
            prop_assert!(copy.root() == part && part == copy.root());
            prop_assert_eq!(copy.root().to_canonical(), part.to_canonical());
            prop_assert_eq!(copy.depth(), part.depth());
            let mut builder = Builder::new();
            builder.value(part);
            prop_assert!(builder.finish().unwrap() == copy);
            left.extend(part.as_array().into_iter().flat_map(|array| array.iter()));
            if let Some(object) = part.as_object() {
                for (key, member) in object.iter() {
                    prop_assert!(object.get(key) == Some(member));
                    prop_assert!(copy.root().get(key) == Some(member));
                    left.push(member);
                }
            }
        }
    }

    #[test]
    fn p4_equal_exactly_when_canonical_bytes_are(a in value(), b in value()) {
        let read = |value: &Serde| Document::parse_canonical(value.to_string().as_bytes()).unwrap();
        let (left, right) = (read(&a), read(&b));
        prop_assert_eq!(left == right, left.root().to_canonical() == right.root().to_canonical());
    }

    #[test]
    fn p1_numbers_are_read_as_the_nearest_double(value in double(), digits in "[0-9]{1,20}", places in 0usize..30) {
        let read = |text: &str| Document::parse(text.as_bytes(), 1).ok().and_then(|d| d.root().as_f64());
        prop_assert_eq!(read(&format!("{value:e}")), Some(value));
        prop_assert_eq!(read(&number(value).replace("e+", "e")), (value.abs() < 9_007_199_254_740_992.0 || number(value).contains('e')).then_some(value));
        let digits = digits.trim_start_matches('0');
        let text = format!("0.{}{digits}1", "0".repeat(places));
        prop_assert_eq!(read(&text), Some(text.parse::<f64>().unwrap()));
        let text = format!("{}.{}", if digits.is_empty() { "0" } else { digits }, "50".repeat(places + 1));
        let value: f64 = text.parse().unwrap();
        if value < 9e15 {
            prop_assert_eq!(read(&text), Some(value));
        }
    }

    #[test]
    fn p1_any_bytes_are_read_as_serde_json_reads_them(bytes in prop::collection::vec(
        prop::sample::select(br#"{}[]:,"\u0019eE.+-ntrulfas d8"#.to_vec()), 0..16))
    {
        // What serde_json takes and P1 refuses are repeated keys and certain numbers.
        let ours = Document::parse(&bytes, 128);
        match (serde_json::from_slice::<Serde>(&bytes), ours) {
            (Ok(theirs), Ok(ours)) => prop_assert_eq!(
                ours.root().to_canonical(),
                serde_json_canonicalizer::to_string(&theirs).unwrap()
            ),
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) => prop_assert!(
                matches!(error.fault, Fault::DuplicateKey(_) | Fault::Number(_)), "{}", error
            ),
            (Err(error), Ok(_)) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn p4_strings_are_escaped_as_serde_json_does(text in text()) {
        let mut out = Vec::new();
        write_string(&mut out, &text);
        prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
    }
}

#[test]
fn p1_builder_obeys_the_same_rules() {
    let mut builder = Builder::new();
    builder.begin_object();
    for key in ["b", "a", "b"] {
        builder.key(key);
        builder.null();
    }
    assert_eq!(
        builder.end_object(),
        Err(Fault::DuplicateKey("b".to_owned()))
    );
    assert_eq!(
        builder.finish().unwrap_err(),
        Fault::DuplicateKey("b".to_owned())
    );
    for literal in [
        "9007199254740992",
        "1e400",
        "1e-400",
        "01",
        "",
        "1 ",
        "x",
        "+1",
        "0x1",
    ] {
        assert!(Builder::new().literal(literal).is_err(), "{literal}");
    }
    for number in [f64::NAN, f64::INFINITY] {
        assert!(Builder::new().number(number).is_err());
    }
    let mut builder = Builder::new();
    builder.begin_array();
    builder.literal("-0").unwrap();
    builder.number(-0.0).unwrap();
    builder.literal("1.50").unwrap();
    builder.end_array();
    assert_eq!(builder.finish().unwrap().root().to_canonical(), "[0,0,1.5]");
}

#[test]
fn builder_reports_calls_that_do_not_fit() {
    let wrong: [fn(&mut Builder); 9] = [
        |_| {},
        |b| {
            b.null();
            b.null();
        },
        Builder::begin_array,
        Builder::end_array,
        |b| b.key("a"),
        |b| {
            b.begin_object();
            b.null();
            let _ = b.end_object();
        },
        |b| {
            b.begin_object();
            b.key("a");
            let _ = b.end_object();
        },
        |b| {
            b.begin_object();
            b.key("a");
            b.key("b");
            let _ = b.end_object();
        },
        |b| {
            b.begin_array();
            let _ = b.end_object();
        },
    ];
    for (index, calls) in wrong.into_iter().enumerate() {
        let mut builder = Builder::new();
        calls(&mut builder);
        assert!(matches!(builder.finish(), Err(Fault::Syntax(_))), "{index}");
    }
}
