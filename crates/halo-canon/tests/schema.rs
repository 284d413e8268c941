//! Schemas over our documents.
#![allow(clippy::unwrap_used, reason = "tests")]

use halo_canon::{Document, Schema, SchemaError};

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
    let schema = compile(r##"{"type":["array","object"],"items":{"$ref":"#"},"properties":{"a":{"$ref":"#"}},"propertyNames":{"$ref":"#/$defs/n"},"$defs":{"n":{"anyOf":[{"$ref":"#/$defs/n"},true]}}}"##).unwrap();
    let nested = |depth: usize| document(&("[".repeat(depth) + &"]".repeat(depth)));
    assert!(schema.is_valid(nested(512).root()));
    for depth in [513, 10_000, 1_000_000] {
        let value = nested(depth);
        assert!(!schema.is_valid(value.root()));
        assert!(
            schema
                .explain(value.root())
                .unwrap()
                .message
                .contains("512")
        );
        // A part that is not deep itself is judged as any other.
        let wide = document(&format!("[[],{}]", value.root().to_canonical()));
        assert!(schema.is_valid(wide.root().element(0).unwrap()));
    }
    let objects = document(&("{\"a\":".repeat(512) + "[]" + &"}".repeat(511) + "}"));
    assert!(!schema.is_valid(objects.root()));
    assert!(schema.is_valid(objects.root().get("a").unwrap()));
    assert!(schema.explain(objects.root().get("a").unwrap()).is_none());
    assert!(valid(r##"{"$ref":"#"}"##, "1"));
    assert!(valid(
        r##"{"propertyNames":{"$ref":"#"}}"##,
        "{\"a\":1,\"\":2}"
    ));
}
