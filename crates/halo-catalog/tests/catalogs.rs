//! Catalogs that are fine: what they decode to.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "tests"
)]

mod common;

use halo_catalog::{Catalog, Decoded, Milestone, Severity, Temporal, decode, report, yaml};
use std::sync::Arc;

fn accepted(name: &str, decoded: Decoded) -> Arc<Catalog> {
    let errors: Vec<_> = decoded
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
    assert!(decoded.value.is_some(), "{name}");
    decoded.catalog.expect(name)
}

fn named(file: &str) -> Arc<Catalog> {
    let (name, text) = common::catalogs()
        .into_iter()
        .find(|(name, _)| name == file)
        .unwrap();
    accepted(&name, decode::catalog(&name, &text))
}

fn small(body: &str) -> Arc<Catalog> {
    let text = format!("halo: v1\ncatalog: c\nversion: \"1\"\n{body}");
    accepted("small", decode::catalog("small.yaml", &text))
}

#[test]
fn every_example_decodes() {
    for (name, text) in common::catalogs() {
        accepted(&name, decode::catalog(&name, &text));
    }
    for file in ["generated.jsonl", "live.jsonl"] {
        for (i, line) in common::lines(file).iter().enumerate() {
            let tree = yaml::parse(file, line).unwrap();
            let node = tree.get("scenario").unwrap().get("catalog").unwrap();
            let catalog = accepted(
                &format!("{file}:{}", i + 1),
                decode::catalog_node(file, line, node),
            );
            assert!(!report(&catalog).to_string().is_empty());
        }
    }
}

#[test]
fn scenarios_are_read_as_they_are() {
    for path in common::cases(".scenario.yaml") {
        let text = std::fs::read_to_string(&path).unwrap();
        let tree = yaml::parse("scenario", &text).unwrap();
        assert!(tree.to_document().is_ok(), "{}", path.display());
    }
}

#[test]
fn positions_follow_the_file() {
    let catalog = named("corridor.yaml");
    assert_eq!(
        (catalog.name.as_str(), catalog.version.as_str()),
        ("corridor", "7")
    );
    let sources: Vec<&str> = catalog.sources.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(sources, ["traffic", "map", "range", "block"]);
    assert_eq!(catalog.paths, ["operator", "status"]);
    assert!(catalog.adapters[0].given_sequences);
    let limited: Vec<bool> = catalog
        .sources
        .iter()
        .map(|s| s.has_freshness_limit)
        .collect();
    assert_eq!(limited, [true, false, true, false]);
    let route = &catalog.types[usize::from(catalog.type_index["route"])];
    assert!(route.is_action());
    // bind's map first, then traffic, which `fresh` and `support` share.
    let sources: Vec<u16> = route.records.iter().map(|r| r.source).collect();
    assert_eq!(sources, [1, 0]);
    assert_eq!(route.footprint, 2);
    assert_eq!(route.on_failure, Some(1));
    let cleared = &catalog.types[usize::from(catalog.type_index["cleared"])];
    assert!(cleared.certificate.as_ref().unwrap().required);
    let leg = &catalog.types[usize::from(catalog.type_index["leg"])];
    assert!(matches!(leg.temporal, Temporal::Interval(_)));
}

#[test]
fn defaults_are_those_of_the_format() {
    let catalog = small(
        "adapters: {a: {}}\nissuers: {i: {ed25519: A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg}}\n\
         routes: {r: {assignee: x}}\n\
         types: {t: {effect: action, adapter: a, certificate: {issuers: [i], route: r}, approval: {within: 1s}}}\n",
    );
    assert!(!catalog.malformed_refuses_response && !catalog.restart_invalidates);
    assert_eq!(catalog.clock_tolerance.to_string(), "500ms");
    assert_eq!(catalog.limits.components, 1024);
    assert_eq!(catalog.limits.prerequisites, 8192);
    let route = &catalog.routes[0];
    assert_eq!((route.ttl.nanos(), route.attempts), (60_000_000_000, 3));
    assert!(!route.scope_dependents && route.types.is_none() && route.refresh.is_none());
    let type_ = &catalog.types[0];
    assert!(type_.certificate.as_ref().unwrap().required);
    assert_eq!(type_.approval.unwrap().quorum, 1);
    assert!(matches!(type_.temporal, Temporal::Point));
}

#[test]
fn what_is_written_or_only_makes_ready_is_no_footprint() {
    let catalog = small(
        "sources: {seen: {}, written: {}, both: {}, ready: {}}\nadapters: {a: {}}\n\
         routes: {r: {assignee: x, ready: \"state.ready.value.ok && state.seen.value.ok\"}}\n\
         types:\n  t: {effect: action, adapter: a, writes: [both, written], fresh: {both: 1s}, \
         support: [{id: s, cel: state.seen.value.ok, route: r}]}\n  u: {effect: action, adapter: a}\n",
    );
    let type_ = &catalog.types[0];
    let sources: Vec<u16> = type_.records.iter().map(|r| r.source).collect();
    assert_eq!(sources, [2, 0, 1, 3]);
    assert_eq!(type_.footprint, 2);
    let written: Vec<u16> = type_.writes.iter().map(|w| w.slot).collect();
    assert_eq!(written, [0, 2]);
    assert!(type_.ready[0].is_some());
    // A type that can't take the route has no use for its condition.
    assert!(catalog.types[1].ready[0].is_none());
    assert_eq!(catalog.types[1].footprint, 0);
}

#[test]
fn only_predicates_and_horizons_read_the_clock() {
    let catalog = small(
        "sources: {m: {}}\nadapters: {a: {}}\ntypes:\n\
         \x20 t: {effect: action, adapter: a, fresh: {m: 1s}}\n\
         \x20 u: {effect: action, adapter: a, support: [{id: s, cel: 'state.m.age < duration(\"1s\")'}]}\n\
         \x20 v: {effect: action, adapter: a, temporal: {mode: interval, end: now, valid_until: state.m.observed_at}}\n",
    );
    let clock: Vec<bool> = catalog.types.iter().map(|t| t.reads_clock).collect();
    assert_eq!(clock, [false, true, true]);
}

#[test]
fn the_first_rule_that_matches_counts() {
    let catalog = small(
        "paths: {p: {}}\nadapters: {a: {}}\ntypes:\n\
         \x20 act: {effect: action, adapter: a}\n\
         \x20 say: {effect: emit, path: p, requires: [{type: act, phase: observed, support: until_left}], \
         allows: [{type: act, phase: dispatched}, {type: \"*\", phase: observed}]}\n",
    );
    let say = &catalog.types[1];
    assert!(
        say.prerequisite_rule(0, Milestone::Observed)
            .unwrap()
            .until_left
    );
    assert!(
        !say.prerequisite_rule(0, Milestone::Dispatched)
            .unwrap()
            .until_left
    );
    assert!(
        !say.prerequisite_rule(1, Milestone::Observed)
            .unwrap()
            .until_left
    );
    assert!(say.prerequisite_rule(1, Milestone::Retained).is_none());
}

#[test]
fn two_texts_with_one_meaning_are_one_catalog() {
    let one = small("limits: {depth: 32}\nsources: {m: {}}\ntypes: {}\n");
    let json = r#"{"types": {}, "version": "1", "catalog": "c", "halo": "v1",
        "sources": {"m": {}}, "limits": {"depth": 3.2e1}}"#;
    let two = accepted("json", decode::catalog("c.json", json));
    assert_eq!(one.content, two.content);
    let other = small("limits: {depth: 33}\nsources: {m: {}}\ntypes: {}\n");
    assert_ne!(one.content, other.content);
}

#[test]
fn shorthands_mean_the_same() {
    let catalog = small(
        "sources: {m: {}}\nadapters: {a: {}}\ntypes:\n\
         \x20 t: {effect: action, adapter: a, fresh: {m: 1h}, once: payload.x, bind: [m.epoch]}\n\
         \x20 u: {effect: action, adapter: a, fresh: {m: {max_age: 1h}}, once: {key: payload.x}, bind: [{path: m.epoch}]}\n",
    );
    for type_ in &catalog.types {
        assert_eq!(type_.fresh[0].max_age.to_string(), "1h");
        assert!(type_.fresh[0].route.is_none());
        let once = type_.once.as_ref().unwrap();
        assert_eq!((once.key.source(), once.for_), ("payload.x", None));
        assert_eq!(type_.bind[0].text, "m.epoch");
    }
}

#[test]
fn the_report_says_where_each_failure_leads() {
    let catalog = named("corridor.yaml");
    let report = report(&catalog);
    let route = report.types.iter().find(|t| t.type_ == "route").unwrap();
    assert_eq!(
        route.reads,
        [
            "state.map.epoch",
            "state.traffic.age",
            "state.traffic.value.separation_m"
        ]
    );
    let text = route.to_string();
    assert_eq!(
        text,
        "\
route acts through px4
  reads     state.map.epoch
            state.traffic.age
            state.traffic.value.separation_m
  binds     map.epoch
  fresh     traffic for 500ms
  recovers  bound map.epoch → replan
            fresh traffic → refresh_traffic
            support separation → replan
            failure → replan
"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["types"][0]["leaves"]["kind"], "emit");
}
