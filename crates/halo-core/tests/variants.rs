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

use common::{Bench, catalog};
use halo_core::{
    AdmissionPolicy, Answer, Engine, PolicyQuestion, PolicyState, PolicyVerdict, Seed, Variant,
};
use serde_json::{Value, json};
use std::{cell::Cell, sync::Arc};

const CATALOG: &str = r#"
halo: v1
catalog: test
version: "1"
sources: {map: {}, zone: {}, link: {}, ok: {}, fuel: {}, other: {}}
paths: {out: {}}
adapters: {arm: {}}
routes: {fix: {assignee: ops, ttl: 1h, attempts: 9, refresh: []}}
types:
  note: {effect: emit, path: out, payload: {type: object, required: [text]}}
  gauge: {effect: emit, path: out, payload: {}, support: [{id: fuel, cel: "state.fuel.value > 10.0", route: fix}]}
  epoch: {effect: action, adapter: arm, payload: {}, bind: [{path: map.epoch, route: fix}], allows: [{type: note, phase: emitted}]}
  zoned: {effect: action, adapter: arm, payload: {}, bind: [{path: zone.value.id, route: fix}]}
  linked: {effect: action, adapter: arm, payload: {}, bind: [{path: link.provenance, route: fix}]}
  act: {effect: action, adapter: arm, payload: {}, support: [{id: ok, cel: "state.ok.value", route: fix}]}
  timed: {effect: action, adapter: arm, payload: {}, fresh: {fuel: {max_age: 5s, route: fix}}}
  asked: {effect: action, adapter: arm, payload: {}, approval: {within: 1h, route: fix}}
  done:
    effect: emit
    path: out
    payload: {}
    requires: [{type: act, phase: dispatched}]
    allows: [{type: asked, phase: dispatched}]
  after: {effect: action, adapter: arm, payload: {}, allows: [{type: act, phase: retained}]}
"#;

thread_local! {
    /// Whether probes go on with a restored engine after every input.
    static RESTORED: Cell<bool> = const { Cell::new(false) };
}

fn bench(variant: Variant) -> Bench {
    let mut bench = Bench::of(catalog(CATALOG), variant);
    bench.restored = RESTORED.get();
    let refused = bench.set_all(&[
        ("map", json!({"epoch": 1, "value": {}})),
        ("zone", json!({"value": {"id": "z1"}})),
        ("link", json!({"provenance": "p1", "value": 0})),
        ("ok", json!({"value": true})),
        ("fuel", json!({"value": 50.0})),
        ("other", json!({"value": 1})),
    ]);
    assert_eq!(refused, []);
    bench
}

fn submit(bench: &mut Bench, components: Value) {
    bench
        .submit(json!({"response": "r", "components": components}))
        .unwrap();
}

fn one(kind: &str) -> Value {
    json!({"id": "a", "type": kind, "payload": {}})
}

/// Submits one action, changes something, asks the gate. Whether it left.
fn leaves_after(variant: Variant, kind: &str, change: fn(&mut Bench)) -> bool {
    let mut bench = bench(variant);
    submit(&mut bench, json!([one(kind)]));
    change(&mut bench);
    bench.ask("r", "a") == Answer::Authorized
}

/// The same with the change between the spending of the token and the last look.
fn leaves_in_the_last_moment(variant: Variant, kind: &str, change: fn(&mut Bench)) -> bool {
    let mut bench = bench(variant);
    submit(&mut bench, json!([one(kind)]));
    bench.hold_spends = true;
    assert_eq!(bench.ask("r", "a"), Answer::Authorized, "armed");
    change(&mut bench);
    let at = bench.at("r", "a");
    let answer = bench.look(at);
    assert_eq!(
        bench.dispatched.len(),
        usize::from(answer == Answer::Authorized)
    );
    answer == Answer::Authorized
}

fn set(bench: &mut Bench, address: &str, record: Value) {
    assert_eq!(bench.set(address, record), None);
}

fn epoch_moves(bench: &mut Bench) {
    set(bench, "map", json!({"epoch": 2, "value": {}}));
}

fn bounds_move(bench: &mut Bench) {
    set(bench, "zone", json!({"value": {"id": "z2"}}));
}

fn provenance_moves(bench: &mut Bench) {
    set(
        bench,
        "link",
        json!({"epoch": 1, "provenance": "p2", "value": 0}),
    );
}

fn support_goes(bench: &mut Bench) {
    set(bench, "ok", json!({"value": false}));
}

fn something_else_moves(bench: &mut Bench) {
    set(bench, "other", json!({"value": 2}));
}

fn a_sample_comes_again(bench: &mut Bench) {
    bench.advance("10ms");
    set(bench, "other", json!({"value": 1}));
}

fn age_comes(bench: &mut Bench) {
    bench.advance("6s");
}

fn bound_field_goes(bench: &mut Bench) {
    set(bench, "zone", json!({"value": {}}));
}

fn phase_of(variant: Variant, components: Value, id: &str) -> String {
    let mut bench = bench(variant);
    submit(&mut bench, components);
    bench.phase("r", id).to_owned()
}

/// A probe: its name, what it does, what it sees where its mechanism works, and where it must see something else.
struct Probe {
    name: &'static str,
    run: fn(Variant) -> String,
    works: &'static str,
    gone: &'static [(Variant, &'static str)],
}

use Variant::{
    GlobalSnapshot, HaloAdmission, HaloFull, IndependentFilter, LocalUnbound, NoBoundsBinding,
    NoDependency, NoEpochBinding, NoFinalCheck, WholeResponse,
};

fn left(left: bool) -> String {
    if left { "leaves" } else { "stays" }.to_owned()
}

const PROBES: &[Probe] = &[
    Probe {
        name: "partial retention at admission",
        run: |variant| {
            let mut bench = bench(variant);
            set(&mut bench, "fuel", json!({"value": 5.0}));
            submit(
                &mut bench,
                json!([{"id": "n", "type": "note", "payload": {"text": "x"}}, {"id": "g", "type": "gauge", "payload": {}}]),
            );
            bench.stand("r", "n")
        },
        works: "retained",
        gone: &[(WholeResponse, "withheld prerequisite_excluded:g")],
    },
    Probe {
        name: "partial retention beside a malformed component",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([{"id": "n", "type": "note", "payload": {"text": "x"}}, {"id": "m", "type": "note", "payload": {}}]),
            );
            bench.stand("r", "n")
        },
        works: "retained",
        gone: &[(WholeResponse, "withheld prerequisite_excluded:m")],
    },
    Probe {
        name: "partial retention after an event",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([{"id": "n", "type": "note", "payload": {"text": "x"}}, {"id": "g", "type": "gauge", "payload": {}}]),
            );
            set(&mut bench, "fuel", json!({"value": 5.0}));
            bench.stand("r", "n")
        },
        works: "retained",
        gone: &[
            (WholeResponse, "invalidated prerequisite_excluded:g"),
            (GlobalSnapshot, "withheld! witness_changed:snapshot"),
        ],
    },
    Probe {
        name: "partial retention at the gate",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([{"id": "n", "type": "note", "payload": {"text": "x"}}, {"id": "a", "type": "epoch", "payload": {}}]),
            );
            epoch_moves(&mut bench);
            bench.ask("r", "a");
            bench.stand("r", "n")
        },
        works: "retained",
        gone: &[
            (WholeResponse, "invalidated prerequisite_excluded:a"),
            (GlobalSnapshot, "withheld! witness_changed:snapshot"),
        ],
    },
    Probe {
        name: "partial retention before anything leaves",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([{"id": "n", "type": "note", "payload": {"text": "x"}},
                    {"id": "a", "type": "epoch", "payload": {}, "requires": [{"id": "n", "phase": "emitted"}]}]),
            );
            epoch_moves(&mut bench);
            bench.emit("r", "n");
            bench.stand("r", "n")
        },
        works: "emitted",
        gone: &[
            (WholeResponse, "invalidated prerequisite_excluded:a"),
            (GlobalSnapshot, "withheld! witness_changed:snapshot"),
        ],
    },
    Probe {
        name: "partial retention in the last look",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([{"id": "n", "type": "act", "payload": {}}, {"id": "a", "type": "zoned", "payload": {}}]),
            );
            bench.hold_spends = true;
            bench.ask("r", "n");
            bounds_move(&mut bench);
            let at = bench.at("r", "n");
            left(bench.look(at) == Answer::Authorized)
        },
        works: "leaves",
        gone: &[(WholeResponse, "stays"), (GlobalSnapshot, "stays")],
    },
    Probe {
        name: "what left is not rolled back",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([{"id": "n", "type": "note", "payload": {"text": "x"}}, {"id": "a", "type": "act", "payload": {}}]),
            );
            bench.emit("r", "n");
            support_goes(&mut bench);
            bench.stand("r", "n")
        },
        works: "emitted",
        gone: &[],
    },
    Probe {
        name: "footprint of an action",
        run: |variant| left(leaves_after(variant, "act", something_else_moves)),
        works: "leaves",
        gone: &[(GlobalSnapshot, "stays")],
    },
    Probe {
        name: "footprint in the last look",
        run: |variant| {
            left(leaves_in_the_last_moment(
                variant,
                "act",
                something_else_moves,
            ))
        },
        works: "leaves",
        gone: &[(GlobalSnapshot, "stays")],
    },
    Probe {
        name: "a newer sample of the same is no change",
        run: |variant| left(leaves_after(variant, "act", a_sample_comes_again)),
        works: "leaves",
        gone: &[],
    },
    Probe {
        name: "closure at admission",
        run: |variant| {
            let mut bench = bench(variant);
            support_goes(&mut bench);
            submit(
                &mut bench,
                json!([one("act"), {"id": "d", "type": "done", "payload": {}, "requires": [{"id": "a", "phase": "dispatched"}]}]),
            );
            bench.stand("r", "d")
        },
        works: "withheld prerequisite_excluded:a",
        gone: &[(IndependentFilter, "retained"), (NoDependency, "retained")],
    },
    Probe {
        name: "closure after an event",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([one("act"), {"id": "b", "type": "after", "payload": {}, "requires": [{"id": "a", "phase": "retained"}]}]),
            );
            support_goes(&mut bench);
            left(bench.ask("r", "b") == Answer::Authorized)
        },
        works: "stays",
        gone: &[
            (IndependentFilter, "leaves"),
            (NoDependency, "leaves"),
            // Its parent's loss goes unnoticed.
            (HaloAdmission, "leaves"),
        ],
    },
    Probe {
        name: "a parent's failure takes its dependents",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([one("act"), {"id": "d", "type": "done", "payload": {}, "requires": [{"id": "a", "phase": "dispatched"}]}]),
            );
            bench
                .answers
                .insert("arm".into(), halo_core::Outcome::Refused);
            bench.ask("r", "a");
            bench.phase("r", "d").to_owned()
        },
        works: "invalidated",
        gone: &[(IndependentFilter, "retained"), (NoDependency, "retained")],
    },
    Probe {
        name: "readiness",
        run: |variant| {
            phase_of(
                variant,
                json!([one("act"), {"id": "d", "type": "done", "payload": {}, "requires": [{"id": "a", "phase": "dispatched"}]}]),
                "d",
            )
        },
        works: "pending",
        gone: &[(IndependentFilter, "retained"), (NoDependency, "retained")],
    },
    Probe {
        name: "readiness comes with the parent's phase",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([one("act"), {"id": "d", "type": "done", "payload": {}, "requires": [{"id": "a", "phase": "dispatched"}]}]),
            );
            bench.let_leave();
            bench.phase("r", "d").to_owned()
        },
        works: "emitted",
        gone: &[],
    },
    Probe {
        name: "references to what is not there",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([one("act"), {"id": "d", "type": "done", "payload": {}, "requires": [{"id": "x", "phase": "dispatched"}]}]),
            );
            bench.stand("r", "d")
        },
        works: "withheld! missing_reference mandatory_prerequisite_missing",
        gone: &[(NoDependency, "retained")],
    },
    Probe {
        name: "cycles",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([{"id": "d", "type": "done", "payload": {}, "requires": [{"id": "d", "phase": "emitted"}]}]),
            );
            bench.phase("r", "d").to_owned()
        },
        works: "withheld",
        gone: &[(NoDependency, "retained")],
    },
    Probe {
        name: "payload schemas",
        run: |variant| {
            phase_of(
                variant,
                json!([{"id": "n", "type": "note", "payload": {}}]),
                "n",
            )
        },
        works: "withheld",
        gone: &[],
    },
    Probe {
        name: "support at admission",
        run: |variant| {
            let mut bench = bench(variant);
            support_goes(&mut bench);
            submit(&mut bench, json!([one("act")]));
            bench.stand("r", "a")
        },
        works: "withheld predicate:ok",
        gone: &[],
    },
    Probe {
        name: "freshness at admission",
        run: |variant| {
            let mut bench = bench(variant);
            age_comes(&mut bench);
            submit(&mut bench, json!([one("timed")]));
            bench.stand("r", "a")
        },
        works: "withheld stale:fuel",
        gone: &[],
    },
    Probe {
        name: "reconsideration on an update",
        run: |variant| {
            let mut bench = bench(variant);
            submit(&mut bench, json!([one("act")]));
            support_goes(&mut bench);
            bench.phase("r", "a").to_owned()
        },
        works: "withheld",
        gone: &[(HaloAdmission, "retained")],
    },
    Probe {
        name: "reconsideration when time passes",
        run: |variant| {
            let mut bench = bench(variant);
            submit(&mut bench, json!([one("timed")]));
            age_comes(&mut bench);
            bench.phase("r", "a").to_owned()
        },
        works: "withheld",
        gone: &[(HaloAdmission, "retained")],
    },
    Probe {
        name: "reconsideration of a parent that left",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([one("act"), {"id": "q", "type": "asked", "payload": {}},
                    {"id": "d", "type": "done", "payload": {}, "requires":
                        [{"id": "a", "phase": "dispatched"}, {"id": "q", "phase": "dispatched"}]}]),
            );
            bench.ask("r", "a");
            support_goes(&mut bench);
            bench.phase("r", "d").to_owned()
        },
        works: "invalidated",
        gone: &[
            (IndependentFilter, "retained"),
            (NoDependency, "retained"),
            (HaloAdmission, "pending"),
            (GlobalSnapshot, "withheld"),
        ],
    },
    Probe {
        name: "a stale action's status follows it",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([one("act"), {"id": "d", "type": "done", "payload": {}, "requires": [{"id": "a", "phase": "dispatched"}]}]),
            );
            support_goes(&mut bench);
            bench.let_leave();
            bench.phase("r", "d").to_owned()
        },
        works: "invalidated",
        gone: &[
            (IndependentFilter, "emitted"),
            (NoDependency, "emitted"),
            (HaloAdmission, "emitted"),
            (GlobalSnapshot, "withheld"),
        ],
    },
    Probe {
        name: "support at the gate",
        run: |variant| left(leaves_after(variant, "act", support_goes)),
        works: "stays",
        gone: &[(HaloAdmission, "leaves")],
    },
    Probe {
        name: "freshness at the gate",
        run: |variant| left(leaves_after(variant, "timed", age_comes)),
        works: "stays",
        gone: &[(HaloAdmission, "leaves")],
    },
    Probe {
        name: "bound epoch at the gate",
        run: |variant| left(leaves_after(variant, "epoch", epoch_moves)),
        works: "stays",
        gone: &[
            (HaloAdmission, "leaves"),
            (LocalUnbound, "leaves"),
            (NoEpochBinding, "leaves"),
        ],
    },
    Probe {
        name: "bound value at the gate",
        run: |variant| left(leaves_after(variant, "zoned", bounds_move)),
        works: "stays",
        gone: &[
            (HaloAdmission, "leaves"),
            (LocalUnbound, "leaves"),
            (NoBoundsBinding, "leaves"),
        ],
    },
    Probe {
        name: "bound provenance at the gate",
        run: |variant| left(leaves_after(variant, "linked", provenance_moves)),
        works: "stays",
        gone: &[
            (HaloAdmission, "leaves"),
            (LocalUnbound, "leaves"),
            (NoBoundsBinding, "leaves"),
        ],
    },
    Probe {
        name: "a bound field must still be there",
        run: |variant| left(leaves_after(variant, "zoned", bound_field_goes)),
        works: "stays",
        gone: &[(HaloAdmission, "leaves")],
    },
    Probe {
        name: "a bound field must be there at admission",
        run: |variant| {
            let mut bench = bench(variant);
            bound_field_goes(&mut bench);
            submit(&mut bench, json!([one("zoned")]));
            bench.stand("r", "a")
        },
        works: "withheld state_missing:zone.value.id",
        gone: &[],
    },
    Probe {
        name: "support in the last look",
        run: |variant| left(leaves_in_the_last_moment(variant, "act", support_goes)),
        works: "stays",
        gone: &[(HaloAdmission, "leaves"), (NoFinalCheck, "leaves")],
    },
    Probe {
        name: "bound epoch in the last look",
        run: |variant| left(leaves_in_the_last_moment(variant, "epoch", epoch_moves)),
        works: "stays",
        gone: &[
            (HaloAdmission, "leaves"),
            (NoFinalCheck, "leaves"),
            (LocalUnbound, "leaves"),
            (NoEpochBinding, "leaves"),
        ],
    },
    Probe {
        name: "bound value in the last look",
        run: |variant| left(leaves_in_the_last_moment(variant, "zoned", bounds_move)),
        works: "stays",
        gone: &[
            (HaloAdmission, "leaves"),
            (NoFinalCheck, "leaves"),
            (LocalUnbound, "leaves"),
            (NoBoundsBinding, "leaves"),
        ],
    },
    Probe {
        name: "a prerequisite's phase in the last look",
        run: |variant| {
            let mut bench = bench(variant);
            submit(
                &mut bench,
                json!([one("act"), {"id": "b", "type": "after", "payload": {}, "requires": [{"id": "a", "phase": "retained"}]}]),
            );
            bench.hold_spends = true;
            bench.ask("r", "b");
            bench.withdraw("r", "a").unwrap();
            let at = bench.at("r", "b");
            left(bench.look(at) == Answer::Authorized)
        },
        works: "stays",
        gone: &[(IndependentFilter, "leaves"), (NoDependency, "leaves")],
    },
    Probe {
        name: "the witness names what is bound",
        run: |variant| {
            let binding = |change: fn(&mut Bench)| {
                let mut bench = bench(variant);
                change(&mut bench);
                submit(&mut bench, json!([one("epoch")]));
                bench.view("r", "a").binding.unwrap()
            };
            let same = binding(epoch_moves) == binding(|_| {});
            if same { "same" } else { "other" }.to_owned()
        },
        works: "other",
        gone: &[(LocalUnbound, "same"), (NoEpochBinding, "same")],
    },
    Probe {
        name: "the witness names bound values",
        run: |variant| {
            let binding = |change: fn(&mut Bench)| {
                let mut bench = bench(variant);
                change(&mut bench);
                submit(&mut bench, json!([one("zoned")]));
                bench.view("r", "a").binding.unwrap()
            };
            let same = binding(bounds_move) == binding(|_| {});
            if same { "same" } else { "other" }.to_owned()
        },
        works: "other",
        gone: &[(LocalUnbound, "same"), (NoBoundsBinding, "same")],
    },
    Probe {
        name: "the catalog in force at the gate",
        run: |variant| {
            left(leaves_after(variant, "act", |bench| {
                let next = CATALOG.replace("version: \"1\"", "version: \"2\"");
                bench.engine.replace_catalog(catalog(&next));
            }))
        },
        works: "stays",
        gone: &[(HaloAdmission, "leaves")],
    },
    Probe {
        name: "a restart launders no drift",
        run: |variant| {
            let mut bench = bench(variant);
            submit(&mut bench, json!([one("epoch")]));
            epoch_moves(&mut bench);
            bench.restart();
            bench.phase("r", "a").to_owned()
        },
        works: "withheld",
        gone: &[
            (HaloAdmission, "retained"),
            (LocalUnbound, "retained"),
            (NoEpochBinding, "retained"),
        ],
    },
    Probe {
        name: "a token serves once",
        run: |variant| {
            let mut bench = bench(variant);
            submit(&mut bench, json!([one("act")]));
            bench.ask("r", "a");
            bench.ask_token("r", "a", 1).name().to_owned()
        },
        works: "token_consumed",
        gone: &[],
    },
    Probe {
        name: "a token from before a restart is revoked",
        run: |variant| {
            let mut bench = bench(variant);
            submit(&mut bench, json!([one("act")]));
            bench.restart();
            bench.ask_token("r", "a", 1).name().to_owned()
        },
        works: "token_revoked",
        gone: &[],
    },
    Probe {
        name: "another payload is another action",
        run: |variant| {
            let mut bench = bench(variant);
            submit(&mut bench, json!([one("act")]));
            let answer = bench.ask_with("r", "a", Some(json!({"x": 1})), None, None);
            answer.name().to_owned()
        },
        works: "binding_mismatch",
        gone: &[],
    },
    Probe {
        name: "approval is waited for",
        run: |variant| {
            let mut bench = bench(variant);
            submit(&mut bench, json!([one("asked")]));
            bench.ask("r", "a").name().to_owned()
        },
        works: "approval_missing",
        gone: &[],
    },
    Probe {
        name: "a rejection ends it",
        run: |variant| {
            let mut bench = bench(variant);
            submit(&mut bench, json!([one("asked")]));
            let text = "no".to_owned();
            bench
                .voice("r", "a", "ann", halo_core::Voice::Reject { text })
                .unwrap();
            bench.phase("r", "a").to_owned()
        },
        works: "withheld",
        gone: &[],
    },
    Probe {
        name: "fresh readmission",
        run: |variant| {
            let mut bench = bench(variant);
            support_goes(&mut bench);
            submit(&mut bench, json!([one("act")]));
            set(&mut bench, "ok", json!({"value": true}));
            bench.support("r", "a").unwrap();
            bench.candidates("r", "a", json!([one("act")])).unwrap();
            let view = bench.view("r", "a");
            format!(
                "{}#{} {:?}",
                view.phase.name(),
                view.generation,
                view.sequence
            )
        },
        works: "retained#2 Some(1)",
        gone: &[],
    },
];

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
    assert_eq!(Variant::default(), HaloFull);
}

/// A snapshot of a variant makes no engine: what drives an `Engine` cannot get a weaker one.
#[test]
fn no_engine_comes_from_a_variants_snapshot() {
    for variant in Variant::ALL {
        let bench = bench(*variant);
        let catalogs = vec![bench.engine.catalog().clone()];
        let saved = bench.engine.save();
        let restored = Engine::restore(saved, catalogs, Seed::new([1; 32]));
        assert_eq!(restored.is_ok(), *variant == HaloFull, "{variant:?}");
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
    let mut bench = bench(HaloFull);
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
