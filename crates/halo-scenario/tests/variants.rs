//! A scenario names a variant, and gets it (docs/VARIANTS.md). What each lacks is tested in `halo-core`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use halo_scenario::{CatalogSource, Variant};
use std::{collections::BTreeSet, fs, path::Path};

fn text(variant: &str) -> String {
    format!(
        r#"
halo: v1
scenario: a late map change
{variant}
dispatch: manual
start: "2026-01-01T00:00:00Z"
catalog:
  halo: v1
  catalog: test
  version: "1"
  sources: {{map: {{}}}}
  paths: {{out: {{}}}}
  adapters: {{px4: {{}}}}
  types:
    route: {{effect: action, adapter: px4, payload: {{}}, bind: [map.epoch]}}
    status: {{effect: emit, path: out, payload: {{}}, requires: [{{type: route, phase: dispatched}}]}}
state: {{map: {{epoch: 1, value: 0}}}}
steps:
  - submit: {{response: r, components: [{{id: e3, type: route, payload: {{}}}}, {{id: e4, type: status, payload: {{}}, requires: [{{id: e3, phase: dispatched}}]}}]}}
  - set: {{map: {{epoch: 2, value: 0}}}}
  - dispatch: {{component: e3}}
"#
    )
}

fn left(variant: &str) -> Vec<String> {
    let scenario = halo_scenario::decode("test.scenario.yaml", &text(variant)).unwrap();
    let CatalogSource::Inline(decoded) = &scenario.catalog else {
        panic!("the catalog is inline");
    };
    let run = halo_scenario::run(&scenario, decoded.catalog.clone().unwrap());
    let effects = run.result.effects.into_iter();
    effects.map(|effect| effect.component).collect()
}

#[test]
fn a_scenario_gets_the_variant_that_it_names() {
    let none: [&str; 0] = [];
    assert_eq!(left(""), none);
    assert_eq!(left("variant: halo-full"), none);
    assert_eq!(left("variant: whole-response"), none);
    assert_eq!(left("variant: halo-admission"), ["e3", "e4"]);
    assert_eq!(left("variant: no-epoch-binding"), ["e3", "e4"]);
    assert_eq!(left("variant: no-bounds-binding"), none);
    assert_eq!(left("variant: independent-filter"), ["e4"]);
}

#[test]
fn an_unknown_variant_is_a_finding_with_the_known_ones() {
    let findings = halo_scenario::decode("test.scenario.yaml", &text("variant: none")).unwrap_err();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].line, 4);
    let hint = findings[0].hint.as_deref().unwrap_or("");
    assert!(
        Variant::ALL.iter().all(|known| hint.contains(known.name())),
        "{hint}"
    );
}

#[test]
fn the_schema_knows_every_variant() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let text = fs::read_to_string(folder.join("scenario.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    let listed = schema["properties"]["variant"]["enum"].as_array().unwrap();
    let listed: BTreeSet<&str> = listed.iter().map(|name| name.as_str().unwrap()).collect();
    let known: BTreeSet<&str> = Variant::ALL.iter().map(|variant| variant.name()).collect();
    assert_eq!(listed, known);
}
