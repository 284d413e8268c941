//! `halo digest`.

use crate::run::{Folder, halo, halo_with};
use serde_json::Value;

#[test]
fn digests_are_those_of_a_result() {
    let ran = halo(&[
        "digest",
        "--catalog",
        "examples/demo/catalog.yaml",
        "examples/demo/response.json",
        "--json",
    ]);
    assert_eq!(ran.code, 0);
    let digests = ran.json();
    let result = halo(&["demo", "--json"]).json();
    let of = |id: &str, list: &Value| {
        let found = list
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["id"] == id)
            .unwrap();
        found["digest"].as_str().unwrap().to_owned()
    };
    for id in ["rep", "range", "fly", "status"] {
        assert_eq!(
            of(id, &digests["components"]),
            of(id, &result["responses"][0]["components"]),
            "{id}"
        );
    }
    let ran = halo(&[
        "digest",
        "--catalog",
        "examples/demo/catalog.yaml",
        "examples/demo/response.json",
    ]);
    assert_eq!(ran.out.lines().count(), 4);
    ran.says(&["sha256:", "  fly  route"]);
}

#[test]
fn a_malformed_component_is_told_and_has_a_digest_where_there_can_be_one() {
    let text = r#"{"components": [{"id": "a", "type": "nope", "payload": 1}, {"id": "b", "type": "reply"}]}"#;
    let ran = halo_with(
        text.as_bytes(),
        &[
            "digest",
            "--catalog",
            "examples/first/catalog.yaml",
            "-",
            "--json",
        ],
    );
    assert_eq!(ran.code, 0);
    let document = ran.json();
    let components = document["components"].as_array().unwrap();
    assert!(components[0]["digest"].is_string());
    assert_eq!(components[0]["reasons"][0]["code"], "unknown_type");
    assert!(components[1]["digest"].is_null());
    assert_eq!(components[1]["reasons"][0]["code"], "bad_component");
}

#[test]
fn a_certificate_can_be_made_for_what_lacks_it() {
    let folder = Folder::new();
    // The catalog refuses malformed responses whole; the digest is needed to make the response well-formed.
    let catalog = folder.file(
        "catalog.yaml",
        concat!(
            "halo: v1\ncatalog: c\nversion: '1'\nmalformed: response\nadapters: {a: {}}\n",
            "issuers: {safety: {ed25519: 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo}}\n",
            "types: {act: {effect: action, adapter: a, certificate: {issuers: [safety]}}}\n"
        ),
    );
    let text = r#"{"components": [{"id": "a", "type": "act", "payload": {}}]}"#;
    let ran = halo_with(
        text.as_bytes(),
        &["digest", "--catalog", &catalog, "-", "--json"],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let document = ran.json();
    assert!(document["components"][0]["digest"].is_string());
    assert_eq!(
        document["components"][0]["reasons"][0]["code"],
        "certificate_missing"
    );
}

#[test]
fn a_response_refused_whole_has_none() {
    let ran = halo_with(
        b"[]",
        &[
            "digest",
            "--catalog",
            "examples/first/catalog.yaml",
            "-",
            "--json",
        ],
    );
    assert_eq!(ran.code, 1);
    assert_eq!(ran.json()["refused"][0]["code"], "bad_envelope");
}
