//! What probes act on: a catalog, a state, and what may change in it.

use crate::common::{Bench, catalog};
use halo_core::{Answer, Variant};
use serde_json::{Value, json};
use std::cell::Cell;

pub(crate) const CATALOG: &str = r#"
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
    pub(crate) static RESTORED: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn bench(variant: Variant) -> Bench {
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

pub(crate) fn submit(bench: &mut Bench, components: Value) {
    bench
        .submit(json!({"response": "r", "components": components}))
        .unwrap();
}

pub(crate) fn one(kind: &str) -> Value {
    json!({"id": "a", "type": kind, "payload": {}})
}

/// Submits one action, changes something, asks the gate. Whether it left.
pub(crate) fn leaves_after(variant: Variant, kind: &str, change: fn(&mut Bench)) -> bool {
    let mut bench = bench(variant);
    submit(&mut bench, json!([one(kind)]));
    change(&mut bench);
    bench.ask("r", "a") == Answer::Authorized
}

/// The same with the change between the spending of the token and the last look.
pub(crate) fn leaves_in_the_last_moment(
    variant: Variant,
    kind: &str,
    change: fn(&mut Bench),
) -> bool {
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

pub(crate) fn set(bench: &mut Bench, address: &str, record: Value) {
    assert_eq!(bench.set(address, record), None);
}

pub(crate) fn epoch_moves(bench: &mut Bench) {
    set(bench, "map", json!({"epoch": 2, "value": {}}));
}

pub(crate) fn bounds_move(bench: &mut Bench) {
    set(bench, "zone", json!({"value": {"id": "z2"}}));
}

pub(crate) fn provenance_moves(bench: &mut Bench) {
    set(
        bench,
        "link",
        json!({"epoch": 1, "provenance": "p2", "value": 0}),
    );
}

pub(crate) fn support_goes(bench: &mut Bench) {
    set(bench, "ok", json!({"value": false}));
}

pub(crate) fn something_else_moves(bench: &mut Bench) {
    set(bench, "other", json!({"value": 2}));
}

pub(crate) fn a_sample_comes_again(bench: &mut Bench) {
    bench.advance("10ms");
    set(bench, "other", json!({"value": 1}));
}

pub(crate) fn age_comes(bench: &mut Bench) {
    bench.advance("6s");
}

pub(crate) fn bound_field_goes(bench: &mut Bench) {
    set(bench, "zone", json!({"value": {}}));
}

pub(crate) fn phase_of(variant: Variant, components: Value, id: &str) -> String {
    let mut bench = bench(variant);
    submit(&mut bench, components);
    bench.phase("r", id).to_owned()
}
