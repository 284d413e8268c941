//! Every variant lacks its mechanism and no other (docs/VARIANTS.md). A probe watches one mechanism; the table says in
//! which variants it must see the mechanism gone, and in all others it must see it at work.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    reason = "tests"
)]

mod common;
#[path = "variants/probes.rs"]
mod probes;
#[path = "variants/world.rs"]
mod world;

use halo_core::{
    AdmissionPolicy, Answer, Engine, PolicyQuestion, PolicyState, PolicyVerdict, Seed, Variant,
};
use probes::{PROBES, Probe};
use serde_json::json;
use std::sync::Arc;
use world::*;

#[test]
fn every_variant_lacks_its_mechanism_and_no_other() {
    run_probes(|_| true);
}

#[test]
fn a_restored_variant_is_the_same_variant() {
    RESTORED.set(true);
    // A restored engine knows no earlier token.
    run_probes(|name| !name.contains("token"));
}

fn run_probes(wanted: fn(&str) -> bool) {
    let mut wrong = Vec::new();
    for probe in PROBES.iter().filter(|probe| wanted(probe.name)) {
        for variant in Variant::ALL {
            let gone = probe.gone.iter().find(|(of, _)| of == variant);
            let wanted = gone.map_or(probe.works, |(_, seen)| seen);
            let seen = (probe.run)(*variant);
            if seen != wanted {
                let name = variant.name();
                wrong.push(format!("{}, {name}: {seen}, expected {wanted}", probe.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Were a mechanism not taken out, no probe could tell: so each variant has one that does.
#[test]
fn every_variant_is_told_apart_from_every_other() {
    let seen = |variant: Variant| -> Vec<&str> {
        let of = |probe: &Probe| {
            let gone = probe.gone.iter().find(|(of, _)| *of == variant);
            gone.map_or(probe.works, |(_, seen)| *seen)
        };
        PROBES.iter().map(of).collect()
    };
    for (index, variant) in Variant::ALL.iter().enumerate() {
        for other in &Variant::ALL[index + 1..] {
            assert_ne!(seen(*variant), seen(*other), "{variant:?} and {other:?}");
        }
    }
}

#[test]
fn names_are_those_of_the_table() {
    let names: Vec<&str> = Variant::ALL.iter().map(|variant| variant.name()).collect();
    assert_eq!(
        names,
        [
            "halo-full",
            "whole-response",
            "global-snapshot",
            "independent-filter",
            "local-unbound",
            "no-dependency",
            "halo-admission",
            "no-final-check",
            "no-epoch-binding",
            "no-bounds-binding"
        ]
    );
    for variant in Variant::ALL {
        assert_eq!(Variant::named(variant.name()), Some(*variant));
        assert_eq!(serde_json::to_value(variant).unwrap(), variant.name());
    }
    assert_eq!(Variant::named("halo"), None);
    assert_eq!(Variant::default(), Variant::HaloFull);
}

/// A snapshot of a variant makes no engine: what drives an `Engine` cannot get a weaker one.
#[test]
fn no_engine_comes_from_a_variants_snapshot() {
    for variant in Variant::ALL {
        let bench = bench(*variant);
        let catalogs = vec![bench.engine.catalog().clone()];
        let saved = bench.engine.save();
        let restored = Engine::restore(saved, catalogs, Seed::new([1; 32]));
        assert_eq!(
            restored.is_ok(),
            *variant == Variant::HaloFull,
            "{variant:?}"
        );
    }
}

/// Denies what the payload says, and everything where a record says so.
#[derive(Debug)]
struct Rules;

impl AdmissionPolicy for Rules {
    fn judge(
        &self,
        components: &[PolicyQuestion<'_>],
        state: &dyn PolicyState,
    ) -> Vec<PolicyVerdict> {
        let closed = state
            .record("other")
            .is_some_and(|record| record.value.as_f64() == Some(9.0));
        let verdict = |one: &PolicyQuestion<'_>| match one.payload.get("deny") {
            None if !(closed && one.is_action) => PolicyVerdict::Keep,
            _ => PolicyVerdict::Deny {
                rule: "house".into(),
                text: "not today".into(),
            },
        };
        components.iter().map(verdict).collect()
    }
}

#[test]
fn a_policy_can_only_deny() {
    let mut bench = bench(Variant::HaloFull);
    bench.engine.set_policy(Arc::new(Rules));
    let components = json!([
        {"id": "n", "type": "note", "payload": {"text": "x"}},
        {"id": "m", "type": "note", "payload": {}},
        {"id": "a", "type": "act", "payload": {"deny": 1}},
        {"id": "b", "type": "act", "payload": {}},
        {"id": "d", "type": "done", "payload": {}, "requires": [{"id": "a", "phase": "dispatched"}]}]);
    submit(&mut bench, components);
    assert_eq!(bench.stand("r", "n"), "retained");
    assert_eq!(bench.stand("r", "m"), "withheld! payload_schema");
    assert_eq!(bench.stand("r", "a"), "withheld! predicate:house");
    assert_eq!(bench.stand("r", "d"), "withheld prerequisite_excluded:a");
    // It has its say at admission; what comes later is the gate's business.
    set(&mut bench, "other", json!({"value": 9}));
    assert_eq!(bench.ask("r", "b"), Answer::Authorized);
    bench
        .submit(json!({"response": "s", "components": [one("act")]}))
        .unwrap();
    assert_eq!(bench.stand("s", "a"), "withheld! predicate:house");
    // What the catalog does not support, no policy saves.
    set(&mut bench, "other", json!({"value": 1}));
    support_goes(&mut bench);
    bench
        .submit(json!({"response": "t", "components": [one("act")]}))
        .unwrap();
    assert_eq!(bench.stand("t", "a"), "withheld predicate:ok");
}
