//! The probes, a table: what each does, sees, and where it must see something else.

use crate::{
    common::{Bench, catalog},
    world::*,
};
use halo_core::Answer;
use halo_core::Variant::{
    self, GlobalSnapshot, HaloAdmission, IndependentFilter, LocalUnbound, NoBoundsBinding,
    NoDependency, NoEpochBinding, NoFinalCheck, WholeResponse,
};
use serde_json::json;

/// A probe: its name, what it does, what it sees where its mechanism works, and where it must see something else.
pub(crate) struct Probe {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Variant) -> String,
    pub(crate) works: &'static str,
    pub(crate) gone: &'static [(Variant, &'static str)],
}

fn left(left: bool) -> String {
    if left { "leaves" } else { "stays" }.to_owned()
}

pub(crate) const PROBES: &[Probe] = &[
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
