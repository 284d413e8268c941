//! P5–P8: local support, its footprint, its times, and the state that it reads.

use crate::common::{Bench, catalog};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ed25519_dalek::{Signer, SigningKey};
use halo_core::Answer;
use serde_json::{Value, json};

/// Every kind of check, each with a route.
fn everything() -> String {
    let key = URL_SAFE_NO_PAD.encode(SigningKey::from_bytes(&[1; 32]).verifying_key().as_bytes());
    format!(
        r#"
halo: v1
catalog: test
version: "1"
sources: {{s: {{}}, f: {{}}, w: {{keyed: true}}}}
adapters: {{arm: {{}}}}
issuers: {{safety: {{ed25519: "{key}"}}}}
routes: {{fix: {{assignee: ops, ttl: 1h}}, other: {{assignee: ops, ttl: 1h}}}}
types:
  act:
    effect: action
    adapter: arm
    payload: {{type: object}}
    bind: [{{path: s.value.bound, route: fix}}]
    fresh: {{f: {{max_age: 1s, route: fix}}}}
    certificate: {{issuers: [safety], route: fix}}
    temporal: {{mode: interval, end: "timestamp(payload.end)", valid_until: "state.s.value.until", route: fix}}
    ttl: {{max: 10s, route: fix}}
    approval: {{within: 5s, route: fix}}
    writes: ["w[payload.row]"]
    support:
      - {{id: first, cel: "state.s.value.first", route: fix}}
      - {{id: second, cel: "state.s.value.second", route: fix}}
"#
    )
}

fn certificate(bench: &Bench, digest: &str, from_ms: i64, to_ms: i64, claims: Value) -> Value {
    let mut certificate = json!({"issuer": "safety", "digest": digest, "not_before": bench.instant(from_ms),
        "expires": bench.instant(to_ms), "claims": claims});
    let text = serde_json::to_string(&certificate).unwrap();
    let signature = SigningKey::from_bytes(&[1; 32]).sign(text.as_bytes());
    certificate["signature"] = json!(URL_SAFE_NO_PAD.encode(signature.to_bytes()));
    certificate
}

fn digest(id: &str, type_: &str, payload: &Value) -> String {
    let document = halo_canon::Document::parse(payload.to_string().as_bytes(), 16).unwrap();
    halo_core::component_digest(id, type_, document.root(), &[]).to_string()
}

#[test]
fn p05_all_failures_in_the_order_of_the_rule() {
    let mut bench = Bench::new(&everything());
    bench.set("s", json!({"value": {"bound": 1, "until": bench.instant(60_000), "first": true, "second": true}}));
    bench.set("f", json!({"value": 0}));
    let payload = json!({"end": bench.instant(1_000), "row": "r1"});
    let certificate = certificate(&bench, &digest("a", "act", &payload), 0, 3_000, json!({}));
    bench
        .submit(json!({"response": "r", "components": [
            {"id": "a", "type": "act", "payload": payload, "certificate": certificate}]}))
        .unwrap();
    assert_eq!(bench.stand("r", "a"), "pending", "waits for its approval");
    // Everything breaks in one instant.
    bench.now = bench.now.plus(halo_canon::Duration::from_millis(11_000));
    let update = json!({"value": {"until": bench.instant(-60_000), "first": 1, "second": false}});
    bench
        .engine
        .handle(
            halo_canon::Instant::parse(crate::common::START).unwrap(),
            halo_core::Input::Update {
                records: vec![("s".into(), update.to_string().as_str().into())],
            },
        )
        .unwrap();
    bench.drain();
    // That update alone, at the old time, breaks what does not depend on time.
    assert_eq!(
        bench.stand("r", "a"),
        "withheld state_missing:s.value.bound horizon predicate_error:first predicate:second"
    );
    // A second one, admitted late, with nothing left in order: not even its row.
    let payload = json!({"end": bench.instant(1_000), "row": 5});
    let certificate =
        self::certificate(&bench, &digest("a", "act", &payload), -9_000, 0, json!({}));
    bench
        .submit(json!({"response": "late", "components": [
            {"id": "a", "type": "act", "payload": payload, "certificate": certificate}]}))
        .unwrap();
    assert_eq!(
        bench.stand("late", "a"),
        "withheld! state_missing:s.value.bound stale:f certificate_expired horizon \
         predicate_error:writes predicate_error:first predicate:second",
        "an index that is absent has no route"
    );
}

#[test]
fn p05_waiting_and_approval_stand_between_horizon_and_predicates() {
    let text = everything().replace("certificate: {issuers: [safety], route: fix}\n", "\n");
    let mut bench = Bench::new(&text);
    let ok = json!({"value": {"bound": 1, "until": bench.instant(600_000), "first": true, "second": true}});
    bench.set("s", ok);
    bench.set("f", json!({"value": 0}));
    let act =
        json!({"id": "a", "type": "act", "payload": {"end": bench.instant(1_000), "row": "r1"}});
    bench
        .submit(json!({"response": "r", "components": [act]}))
        .unwrap();
    bench.now = bench.now.plus(halo_canon::Duration::from_millis(11_000));
    bench.tick();
    assert_eq!(
        bench.stand("r", "a"),
        "withheld stale:f expired approval_expired"
    );
}

#[test]
fn p05_a_certificate_is_in_time_from_not_before_until_before_expires() {
    let text = everything()
        .replace("    approval: {within: 5s, route: fix}\n", "")
        .replace(
            "fresh: {f: {max_age: 1s, route: fix}}",
            "fresh: {f: {max_age: 1h, route: fix}}",
        );
    let mut bench = Bench::new(&text);
    let ok = json!({"value": {"bound": 1, "until": bench.instant(600_000), "first": true, "second": true}});
    bench.set("s", ok);
    bench.set("f", json!({"value": 0}));
    let payload = json!({"end": bench.instant(1_000), "row": "r1"});
    let digest = digest("a", "act", &payload);
    let submit = |bench: &mut Bench, response: &str, from: i64, to: i64| {
        let certificate = certificate(bench, &digest, from, to, json!({}));
        let act = json!({"id": "a", "type": "act", "payload": payload, "certificate": certificate});
        bench
            .submit(json!({"response": response, "components": [act]}))
            .unwrap();
        bench.stand(response, "a")
    };
    assert_eq!(submit(&mut bench, "from-now", 0, 1_000), "retained");
    assert_eq!(
        submit(&mut bench, "not-yet", 1, 1_000),
        "withheld certificate_expired"
    );
    assert_eq!(
        submit(&mut bench, "until-now", -1, 0),
        "withheld certificate_expired"
    );
    bench.now = bench
        .now
        .plus(halo_canon::Duration::from_millis(1_000))
        .plus(halo_canon::Duration::from_nanos(-1));
    bench.advance("0ms");
    assert_eq!(bench.stand("from-now", "a"), "retained");
    bench.tick();
    assert_eq!(bench.stand("from-now", "a"), "withheld certificate_expired");
}

#[test]
fn p02_a_certificate_vouches_for_one_component_of_one_response() {
    let text = everything().replace("    approval: {within: 5s, route: fix}\n", "");
    let mut bench = Bench::new(&text);
    let ok = json!({"value": {"bound": 1, "until": bench.instant(600_000), "first": true, "second": true}});
    bench.set("s", ok);
    bench.set("f", json!({"value": 0}));
    let payload = json!({"end": bench.instant(1_000), "row": "r1"});
    let good = certificate(
        &bench,
        &digest("a", "act", &payload),
        0,
        60_000,
        json!({"n": 1}),
    );
    let mut number = 0;
    let mut verdict = |bench: &mut Bench, certificate: Value| {
        number += 1;
        let act = json!({"id": "a", "type": "act", "payload": payload, "certificate": certificate});
        let response = format!("r{number}");
        bench
            .submit(json!({"response": response, "components": [act]}))
            .unwrap();
        bench.stand(&response, "a")
    };
    assert_eq!(verdict(&mut bench, good.clone()), "retained");
    for (member, value) in [
        ("digest", json!(digest("b", "act", &payload))),
        ("issuer", json!("nobody")),
        ("claims", json!({"n": 2})),
        ("expires", json!(bench.instant(90_000))),
        ("response", json!("r-other")),
        ("extra", json!(1)),
        ("signature", json!("AAAA")),
        ("signature", json!(null)),
    ] {
        let mut bad = good.clone();
        bad[member] = value;
        assert_eq!(
            verdict(&mut bench, bad),
            "withheld! certificate_invalid",
            "{member}"
        );
    }
    let act = json!({"id": "a", "type": "act", "payload": payload});
    bench
        .submit(json!({"response": "none", "components": [act]}))
        .unwrap();
    assert_eq!(bench.stand("none", "a"), "withheld! certificate_missing");
}

const SMALL: &str = r#"
halo: v1
catalog: test
version: "1"
clock_tolerance: 500ms
sources:
  s: {}
  f: {value: {type: object, required: [v]}}
  k: {keyed: true}
paths: {out: {}}
adapters: {arm: {}}
routes: {fix: {assignee: ops}}
types:
  bound: {effect: action, adapter: arm, payload: {}, bind: [{path: s.value.x, absent: allowed}]}
  fresh: {effect: action, adapter: arm, payload: {}, fresh: {f: {max_age: 1s, route: fix}}}
  keyed:
    effect: action
    adapter: arm
    payload: {}
    support: [{id: open, cel: "state.k[payload.key].value.open", route: fix}]
  has: {effect: action, adapter: arm, payload: {}, support: [{id: has, cel: "has(state.s.value.x)"}]}
  nothas: {effect: action, adapter: arm, payload: {}, support: [{id: has, cel: "!has(state.s.value.x)"}]}
  aged: {effect: action, adapter: arm, payload: {}, support: [{id: age, cel: "state.s.age <= duration('2s')"}]}
  horizon:
    effect: action
    adapter: arm
    payload: {}
    temporal: {mode: interval, end: "timestamp(payload.end)", valid_until: "state.s.value.until", guard: 200ms}
  point: {effect: action, adapter: arm, payload: {}, fresh: {f: {max_age: 1s, route: fix}}, temporal: {mode: point}}
  waits: {effect: action, adapter: arm, payload: {}, ttl: {max: 5s, route: fix}}
"#;

fn one(bench: &mut Bench, response: &str, type_: &str, payload: Value) -> String {
    let component = json!({"id": "a", "type": type_, "payload": payload});
    bench
        .submit(json!({"response": response, "components": [component]}))
        .unwrap();
    bench.stand(response, "a")
}

#[test]
fn p05_absence_itself_is_bound_where_it_is_allowed() {
    let mut bench = Bench::new(SMALL);
    assert_eq!(one(&mut bench, "r", "bound", json!(0)), "retained");
    // The record appears, the field does not: nothing changed.
    bench.set("s", json!({"value": {}}));
    assert_eq!(bench.stand("r", "a"), "retained");
    bench.set("s", json!({"value": {"x": null}}));
    assert_eq!(bench.ask("r", "a"), Answer::WitnessChanged);
    assert_eq!(bench.stand("r", "a"), "withheld! witness_changed:s.value.x");
}

#[test]
fn p05_errors_fail_like_any_check_and_never_pass() {
    let mut bench = Bench::new(SMALL);
    // `has(e.f)` with an absent record is an error, negated or not.
    assert_eq!(
        one(&mut bench, "h0", "has", json!(0)),
        "withheld! predicate_error:has"
    );
    assert_eq!(
        one(&mut bench, "n0", "nothas", json!(0)),
        "withheld! predicate_error:has"
    );
    bench.set("s", json!({"value": {}}));
    assert_eq!(
        one(&mut bench, "h1", "has", json!(0)),
        "withheld! predicate:has"
    );
    assert_eq!(one(&mut bench, "n1", "nothas", json!(0)), "retained");
    bench.set("s", json!({"value": {"x": 0}}));
    assert_eq!(one(&mut bench, "h2", "has", json!(0)), "retained");
    // A non-boolean result, a missing field, an index that is no text.
    bench.set("k/K", json!({"value": {"open": 1}}));
    assert_eq!(
        one(&mut bench, "k0", "keyed", json!({"key": "K"})),
        "withheld predicate_error:open"
    );
    assert_eq!(
        one(&mut bench, "k1", "keyed", json!({"key": 7})),
        "withheld predicate_error:open"
    );
    assert_eq!(
        one(&mut bench, "k2", "keyed", json!({})),
        "withheld predicate_error:open"
    );
    // An error in a horizon's expressions is `horizon`.
    assert_eq!(
        one(&mut bench, "z", "horizon", json!({"end": "soon"})),
        "withheld! horizon"
    );
}

#[test]
fn p06_another_keys_record_is_outside_the_footprint() {
    let mut bench = Bench::new(SMALL);
    bench.set("k/L1", json!({"value": {"open": true}}));
    bench.set("k/L2", json!({"value": {"open": true}}));
    one(&mut bench, "r", "keyed", json!({"key": "L1"}));
    let before = format!("{:?}", bench.view("r", "a"));
    let records = bench.records.len();
    bench.set("k/L2", json!({"value": {"open": false}}));
    bench.set("f", json!({"value": {"v": 1}}));
    assert_eq!(format!("{:?}", bench.view("r", "a")), before);
    assert_eq!(
        bench.records.len(),
        records + 2,
        "the two updates and no decision"
    );
    bench.set("k/L1", json!({"value": {"open": false}}));
    assert_eq!(bench.stand("r", "a"), "withheld predicate:open");
}

#[test]
fn p06_reads_that_cannot_be_listed_are_a_catalog_error() {
    let text = SMALL.replace(
        "state.k[payload.key].value.open",
        "state.k[payload.a + payload.b].value.open",
    );
    assert!(halo_catalog::decode::catalog("c", &text).catalog.is_none());
    catalog(SMALL);
}

#[test]
fn p07_equality_with_the_limit_is_fresh() {
    let mut bench = Bench::new(SMALL);
    bench.set("f", json!({"value": {"v": 1}}));
    one(&mut bench, "r", "fresh", json!(0));
    bench.advance("1s");
    assert_eq!(bench.stand("r", "a"), "retained");
    bench.tick();
    assert_eq!(bench.stand("r", "a"), "withheld stale:f");
}

#[test]
fn p07_a_record_from_the_tolerated_future_gains_no_time() {
    let mut bench = Bench::new(SMALL);
    assert_eq!(
        bench.set(
            "f",
            json!({"observed_at": bench.instant(500), "value": {"v": 1}})
        ),
        None
    );
    one(&mut bench, "r", "fresh", json!(0));
    bench.advance("1s");
    assert_eq!(bench.stand("r", "a"), "retained");
    bench.tick();
    assert_eq!(
        bench.stand("r", "a"),
        "withheld stale:f",
        "its age counts from its acceptance"
    );
}

#[test]
fn p07_a_record_is_as_old_as_it_was_observed() {
    let mut bench = Bench::new(SMALL);
    bench.set(
        "f",
        json!({"observed_at": bench.instant(-999), "value": {"v": 1}}),
    );
    one(&mut bench, "r", "fresh", json!(0));
    bench.advance("1ms");
    assert_eq!(bench.stand("r", "a"), "retained");
    // A newer sample in time keeps it.
    bench.set("f", json!({"value": {"v": 1}}));
    bench.advance("1s");
    assert_eq!(bench.stand("r", "a"), "retained");
    bench.tick();
    assert_eq!(bench.stand("r", "a"), "withheld stale:f");
}

#[test]
fn p07_interval_needs_its_end_and_guard_before_valid_until() {
    let mut bench = Bench::new(SMALL);
    bench.set("s", json!({"value": {"until": bench.instant(10_000)}}));
    let end = |bench: &Bench, ms: i64| json!({"end": bench.instant(ms)});
    let (in_time, equal) = (end(&bench, 9_799), end(&bench, 9_800));
    assert_eq!(one(&mut bench, "in-time", "horizon", in_time), "retained");
    assert_eq!(
        one(&mut bench, "equal", "horizon", equal),
        "withheld! horizon",
        "equality fails"
    );
    bench.ask("in-time", "a");
    assert_eq!(
        bench.dispatched[0].valid_until().unwrap().to_string(),
        bench.instant(10_000)
    );
}

#[test]
fn p07_point_is_freshness_at_the_gate() {
    let mut bench = Bench::new(SMALL);
    bench.set("f", json!({"value": {"v": 1}}));
    one(&mut bench, "r", "point", json!(0));
    bench.hold_spends = true;
    bench.ask("r", "a");
    // Fresh when it was asked for, too old at the last look.
    bench.now = bench.now.plus(halo_canon::Duration::from_millis(1_001));
    assert_eq!(bench.look(bench.at("r", "a")), Answer::Unsupported);
    assert_eq!(bench.stand("r", "a"), "withheld stale:f");
    assert!(bench.calls().is_empty());
}

#[test]
fn p05_ages_in_predicates_are_judged_as_time_passes() {
    let mut bench = Bench::new(SMALL);
    bench.set("s", json!({"value": 0}));
    one(&mut bench, "r", "aged", json!(0));
    bench.advance("2s");
    assert_eq!(bench.stand("r", "a"), "retained");
    bench.tick();
    assert_eq!(bench.stand("r", "a"), "withheld! predicate:age");
}

#[test]
fn p05_waiting_time_equality_is_in_time() {
    let mut bench = Bench::new(SMALL);
    one(&mut bench, "r", "waits", json!(0));
    bench.advance("5s");
    assert_eq!(bench.stand("r", "a"), "retained");
    assert!(
        bench
            .wakes
            .contains(&bench.now.plus(halo_canon::Duration::from_nanos(1))),
        "the driver knows when"
    );
    bench.tick();
    assert_eq!(bench.stand("r", "a"), "withheld expired");
}

#[test]
fn p08_refusals_in_the_order_of_the_rule() {
    let mut bench = Bench::new(SMALL);
    let code = |found: Option<halo_core::RefusalCode>| found.map_or("accepted", |code| code.name());
    let at = |bench: &Bench, ms: i64, epoch: u64, value: Value| json!({"observed_at": bench.instant(ms), "epoch": epoch, "value": value});
    bench.set("f", at(&bench, 0, 5, json!({"v": 1})));
    let cases = [
        ("nowhere", 501, 4, json!(0), "unknown_source"),
        ("k", 501, 4, json!(0), "unknown_source"),
        ("f/key", 501, 4, json!(0), "unknown_source"),
        ("f", 501, 4, json!(0), "future_update"),
        ("f", -1, 4, json!(0), "bad_state"),
        ("f", -1, 4, json!({"v": 2}), "stale_update"),
        ("f", 0, 4, json!({"v": 2}), "epoch_regression"),
        ("f", 0, 5, json!({"v": 2}), "epoch_conflict"),
    ];
    for (address, ms, epoch, value, wanted) in cases {
        let record = at(&bench, ms, epoch, value);
        assert_eq!(
            code(bench.set(address, record)),
            wanted,
            "{address} {ms} {epoch}"
        );
        let kept = bench.engine.records().next().map(|record| record.epoch);
        assert_eq!(
            kept,
            (wanted != "epoch_conflict").then_some(5),
            "the state stays: {wanted}"
        );
    }
    assert_eq!(
        code(bench.set("f", at(&bench, 500, 6, json!({"v": 2})))),
        "accepted",
        "at the tolerance"
    );
    for bad in [
        json!([]),
        json!({}),
        json!({"value": {"v": 1}, "who": 1}),
        json!({"value": {"v": 1}, "epoch": -1}),
    ] {
        assert_eq!(code(bench.set("f", bad)), "bad_state");
    }
}

#[test]
fn p08_a_conflict_makes_the_record_missing_until_a_higher_epoch() {
    let mut bench = Bench::new(SMALL);
    bench.set("f", json!({"epoch": 5, "value": {"v": 1}}));
    one(&mut bench, "r", "fresh", json!(0));
    let conflict = Some(halo_core::RefusalCode::EpochConflict);
    assert_eq!(
        bench.set("f", json!({"epoch": 5, "value": {"v": 2}})),
        conflict
    );
    assert_eq!(
        bench.stand("r", "a"),
        "withheld state_missing:f",
        "two truths are none"
    );
    // Any further value of that epoch is a conflict, the first one too, stated or derived.
    assert_eq!(
        bench.set("f", json!({"epoch": 5, "value": {"v": 1}})),
        conflict
    );
    assert_eq!(bench.set("f", json!({"value": {"v": 1}})), conflict);
    assert_eq!(
        bench.obligation_state("r", "a"),
        "dispatched",
        "nothing was accepted"
    );
    assert_eq!(bench.set("f", json!({"epoch": 6, "value": {"v": 2}})), None);
    assert_eq!(bench.obligation_state("r", "a"), "ready_for_readmission");
    assert_eq!(one(&mut bench, "again", "fresh", json!(0)), "retained");
}

#[test]
fn p08_an_epoch_left_out_grows_when_the_value_differs() {
    let mut bench = Bench::new(SMALL);
    let epoch = |bench: &Bench| bench.engine.records().next().unwrap().epoch;
    for (value, wanted) in [(1, 1), (1, 1), (2, 2), (1, 3)] {
        bench.set("s", json!({"value": value}));
        assert_eq!(epoch(&bench), wanted);
    }
}

#[test]
fn p08_one_refused_update_stops_no_other_and_all_are_judged_once() {
    let mut bench = Bench::new(SMALL);
    bench.set("k/A", json!({"value": {"open": true}}));
    one(&mut bench, "r", "keyed", json!({"key": "A"}));
    let records = bench.records.len();
    // Closed and open again within one input: nothing happened.
    let refused = bench.set_all(&[
        ("k/A", json!({"value": {"open": false}})),
        ("nowhere", json!({"value": 0})),
        ("k/A", json!({"value": {"open": true}})),
    ]);
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].0, 1);
    assert_eq!(bench.stand("r", "a"), "retained");
    assert_eq!(bench.records.len(), records + 3);
}
