//! Schemas over our documents.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::LazyLock;

use halo_canon::{Document, Schema, SchemaError};
use proptest::prelude::*;
use serde_json::Value as Serde;

fn document(text: &str) -> Document {
    Document::parse(text.as_bytes(), u32::MAX).unwrap()
}

fn compile(text: &str) -> Result<Schema, SchemaError> {
    Schema::compile(document(text).root())
}

fn valid(schema: &str, value: &str) -> bool {
    let value = document(value);
    let schema = compile(schema).unwrap();
    let valid = schema.is_valid(value.root());
    assert_eq!(schema.explain(value.root()).is_none(), valid);
    valid
}

#[test]
fn one_number_has_one_meaning_in_schemas() {
    for one in ["1", "1.0", "1e0", "10e-1"] {
        for other in ["1", "1.0", "1e0"] {
            assert!(valid(&format!("{{\"const\":{one}}}"), other));
            assert!(valid(
                &format!("{{\"enum\":[0,[{one}]]}}"),
                &format!("[{other}]")
            ));
            assert!(!valid(
                "{\"uniqueItems\":true}",
                &format!("[{one},{other}]")
            ));
        }
        assert!(valid(
            "{\"type\":\"integer\",\"minimum\":1.0,\"maximum\":1}",
            one
        ));
    }
    assert!(!valid(
        "{\"uniqueItems\":true}",
        &format!("[{}1,1e0]", "2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,")
    ));
    assert!(valid("{\"type\":\"integer\",\"multipleOf\":1e20}", "3e20"));
    assert!(!valid("{\"type\":\"integer\"}", "1.5"));
    assert!(valid("{\"multipleOf\":0.01}", "4.35"));
}

#[test]
fn violations_name_the_place() {
    let schema = compile(r#"{"properties":{"a":{"items":{"type":"string"}}}}"#).unwrap();
    let value = document(r#"{"a":["x",1]}"#);
    let violation = schema.explain(value.root()).unwrap();
    assert_eq!(
        violation.to_string(),
        "1 is not of type \"string\" (at `/a/1`)"
    );
    let long = document(&format!("{{\"a\":[[\"{}\"]]}}", "x".repeat(10_000)));
    assert!(schema.explain(long.root()).unwrap().message.len() < 300);
}

#[test]
fn bad_schemas_are_refused() {
    let error = compile(r#"{"properties":{"a":{"type":"strin"}}}"#).unwrap_err();
    assert_eq!(error.pointer, "/properties/a/type");
    for schema in [
        "1",
        "\"object\"",
        r#"{"minLength":-1}"#,
        r#"{"pattern":"("}"#,
        r#"{"pattern":"(a)\\1"}"#,
        r#"{"pattern":"((a{1000}){1000}){1000}"}"#,
        r##"{"$ref":"#/$defs/none"}"##,
        r#"{"$ref":"https://example.com/schema"}"#,
        r#"{"$ref":"file:///etc/passwd"}"#,
        r#"{"$ref":"other.json"}"#,
        r#"{"$schema":"https://example.com/meta"}"#,
        r#"{"$schema":1}"#,
        r#"{"required":"a"}"#,
    ] {
        assert!(compile(schema).is_err(), "{schema}");
    }
    assert!(compile("true").is_ok() && compile("{}").is_ok());
    let deep = "{\"not\":".repeat(65) + "true" + &"}".repeat(65);
    assert!(compile(&deep).is_err());
    let large = format!("{{\"const\":\"{}\"}}", "x".repeat(70_000));
    assert!(compile(&large).is_err());
}

#[test]
fn recursion_is_bounded() {
    let schema = compile(r##"{"type":["array","object"],"items":{"$ref":"#"}}"##).unwrap();
    let nested = |depth: usize| document(&("[".repeat(depth) + &"]".repeat(depth)));
    assert!(schema.is_valid(nested(512).root()));
    for depth in [513, 10_000, 1_000_000] {
        let value = nested(depth);
        assert!(!schema.is_valid(value.root()));
        let violation = schema.explain(value.root()).unwrap();
        assert!(violation.message.contains("512"));
        // A part that is not deep itself is judged as any other.
        let wide = document(&format!("[[],{}]", value.root()));
        assert!(schema.is_valid(wide.root().element(0).unwrap()));
    }
    // References that lead back to the same value.
    assert!(valid(r##"{"$ref":"#"}"##, "1"));
    assert!(valid(
        r##"{"propertyNames":{"$ref":"#"}}"##,
        "{\"a\":1,\"\":2}"
    ));
    let names = r##"{"propertyNames":{"$ref":"#/$defs/n"},"$defs":{"n":{"anyOf":[{"$ref":"#/$defs/n"},true]}}}"##;
    assert!(valid(names, "{\"a\":1}"));
}

#[test]
fn stack_is_bounded() {
    let chain = |hops: usize| {
        let defs: Vec<String> = (1..=hops)
            .map(|hop| {
                format!(
                    "\"d{hop}\":{{\"anyOf\":[{{\"type\":\"null\"}},{{\"$ref\":\"#/$defs/d{}\"}}]}}",
                    hop + 1
                )
            })
            .collect();
        let last = format!(
            "\"d{}\":{{\"items\":{{\"$ref\":\"#/$defs/d1\"}}}}",
            hops + 1
        );
        compile(&format!(
            "{{\"$defs\":{{{},{last}}},\"$ref\":\"#/$defs/d1\"}}",
            defs.join(",")
        ))
        .unwrap()
    };
    let nested = |depth: usize| document(&("[".repeat(depth) + &"]".repeat(depth)));
    let ordinary = chain(10);
    assert!(ordinary.is_valid(nested(64).root()) && ordinary.explain(nested(64).root()).is_none());
    for hops in [100, 1000] {
        let schema = chain(hops);
        assert!(schema.is_valid(nested(1).root()));
        assert!(!schema.is_valid(nested(512).root()));
        assert!(
            schema
                .explain(nested(512).root())
                .unwrap()
                .message
                .contains("too deep")
        );
    }
}

/// Schemas that between them use every group of keywords.
const SCHEMAS: [&str; 16] = [
    r#"{"type":"integer","minimum":-2,"exclusiveMaximum":3}"#,
    r#"{"type":["number","null"],"multipleOf":0.5}"#,
    r#"{"enum":[1,"a",null,[1],{"a":1}]}"#,
    r#"{"const":{"a":[1,2.5,"b"]}}"#,
    r#"{"type":"string","minLength":1,"maxLength":3,"pattern":"^[ab\u00e9]+$"}"#,
    r#"{"uniqueItems":true,"minItems":1,"maxItems":20}"#,
    r#"{"prefixItems":[{"type":"number"}],"items":{"type":["string","object"]},"contains":{"const":"a"},"maxContains":2}"#,
    r#"{"required":["a","b"],"properties":{"a":{"type":"number"}},"additionalProperties":{"type":"string"}}"#,
    r#"{"patternProperties":{"^a":{"type":"number"}},"propertyNames":{"maxLength":2},"minProperties":1,"maxProperties":3}"#,
    r#"{"dependentRequired":{"a":["b"]},"dependentSchemas":{"b":{"required":["c"]}}}"#,
    r#"{"oneOf":[{"type":"object"},{"required":["a"]},{"minItems":2}]}"#,
    r#"{"anyOf":[{"type":"array"},{"not":{"required":["b"]}}],"allOf":[{"not":{"const":1}}]}"#,
    r#"{"if":{"required":["a"]},"then":{"properties":{"a":{"type":"integer"}}},"else":{"unevaluatedProperties":false}}"#,
    r#"{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":{"type":"null"}}"#,
    r##"{"$defs":{"t":{"type":["array","number"],"items":{"$ref":"#/$defs/t"}}},"$ref":"#/$defs/t"}"##,
    r#"{"prefixItems":[true],"unevaluatedItems":{"type":"string"}}"#,
];

static COMPILED: LazyLock<Vec<(&str, Schema, jsonschema::Validator)>> = LazyLock::new(|| {
    let theirs =
        |schema| jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    SCHEMAS
        .map(|schema| (schema, compile(schema).unwrap(), theirs(schema)))
        .into()
});

fn value() -> impl Strategy<Value = Serde> {
    let leaf = prop_oneof![
        Just(Serde::Null),
        any::<bool>().prop_map(Serde::from),
        (-3..4).prop_map(Serde::from),
        (-6..7).prop_map(|halves| Serde::from(f64::from(halves) / 2.0)),
        prop::sample::select(vec!["", "a", "b", "aé", "aaaa", "ééé", "😀"]).prop_map(Serde::from),
    ];
    leaf.prop_recursive(3, 30, 6, |inner| {
        let key = prop::sample::select(vec!["a", "b", "c", "ab", "abc", "é"]);
        let member = (key.prop_map(str::to_owned), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..20).prop_map(Serde::from),
            prop::collection::vec(member, 0..5)
                .prop_map(|members| Serde::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn schemas_judge_as_they_do_over_serde_json(values in prop::collection::vec(value(), 10)) {
        for (schema, ours, theirs) in COMPILED.iter() {
            for value in &values {
                let document = document(&value.to_string());
                let valid = theirs.is_valid(value);
                prop_assert_eq!(ours.is_valid(document.root()), valid, "{} {}", schema, value);
                let violation = ours.explain(document.root());
                prop_assert_eq!(violation.is_none(), valid);
                let places: Vec<_> = theirs.iter_errors(value).map(|e| e.instance_path().to_string()).collect();
                if let Some(violation) = violation {
                    prop_assert!(places.contains(&violation.pointer), "{} {:?}", violation, places);
                }
            }
        }
    }
}
