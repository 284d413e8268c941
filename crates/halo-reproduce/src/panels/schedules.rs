//! Seeded schedules, valid and fault-injected, with six named properties checked after every event against a model of the
//! state and the receivers' own books: locality, local validity, closure, greatest set, token non-reuse, and no emission
//! past a blocked parent.

mod model;

use super::{Run, support};
use crate::{Fault, prng::Prng, trial::Trial};
use halo_core::{Answer, Input, Outcome, Presented, Reply, Variant};
use model::{Event, KINDS, Model, PROPERTIES};

const CATALOG: &str = r#"
halo: v1
catalog: schedules
version: "1"
sources: {a: {}, b: {}, m: {}, z: {}}
paths: {out: {}}
adapters: {arm: {}}
routes: {fix: {assignee: ops, ttl: 24h, attempts: 99, scope: dependents, refresh: []}}
types:
  note: {effect: emit, path: out, payload: {}, allows: [{type: "*", phase: retained}, {type: note, phase: emitted}, {type: gauge, phase: emitted}, {type: act, phase: dispatched}, {type: move, phase: dispatched}, {type: move, phase: observed}]}
  gauge: {effect: emit, path: out, payload: {}, support: [{id: a, cel: state.a.value, route: fix}], allows: [{type: "*", phase: retained}, {type: note, phase: emitted}, {type: gauge, phase: emitted}, {type: act, phase: dispatched}, {type: move, phase: dispatched}]}
  act: {effect: action, adapter: arm, payload: {}, bind: [{path: m.epoch, route: fix}], support: [{id: b, cel: state.b.value, route: fix}], on_failure: fix, allows: [{type: "*", phase: retained}, {type: note, phase: emitted}, {type: gauge, phase: emitted}, {type: act, phase: dispatched}, {type: move, phase: observed}]}
  move: {effect: action, adapter: arm, payload: {}, support: [{id: a, cel: state.a.value, route: fix}, {id: b, cel: state.b.value, route: fix}], on_failure: fix, allows: [{type: "*", phase: retained}, {type: note, phase: emitted}, {type: gauge, phase: emitted}, {type: act, phase: dispatched}]}
"#;

/// Events of a schedule.
const EVENTS: usize = 24;

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let schedules = if run.quick { 500 } else { 10_000 };
    let mut broken = [0usize; PROPERTIES.len()];
    let (mut clean, mut events, mut faulty) = (0, 0, 0);
    for number in 0..schedules {
        if number % 64 == 0 {
            run.progress(number, schedules);
        }
        let seed = run.seed.wrapping_add(number as u64);
        let done = schedule(seed, number % 2 == 1, Variant::HaloFull)?;
        events += done.events;
        faulty += usize::from(number % 2 == 1);
        clean += usize::from(done.violations.is_empty());
        for (property, what) in done.violations {
            if let Some(broken) = broken.get_mut(property) {
                *broken += 1;
            }
            let name = PROPERTIES.get(property).copied().unwrap_or_default();
            run.note(format!("seed {seed}: {name}: {what}"));
        }
    }
    run.of("schedules without a violation", clean, schedules);
    for (name, broken) in PROPERTIES.into_iter().zip(broken) {
        run.of(format!("violations: {name}"), broken, schedules);
    }
    run.of("fault-injected schedules", faulty, schedules);
    run.count("events checked", crate::Figure::Count(events));
    Ok(())
}

struct Done {
    events: u64,
    violations: Vec<(usize, String)>,
}

/// One schedule. `faults`: attempts and answers that go wrong are among its events.
fn schedule(seed: u64, faults: bool, variant: Variant) -> Result<Done, Fault> {
    let mut prng = Prng::new(seed);
    let start = support::instant("2026-01-01T00:00:00Z")?;
    let mut trial = Trial::new(support::catalog("schedules", CATALOG)?, variant, start);
    let mut model = Model::new(&mut prng);
    for (address, record) in model.records() {
        trial.set_one(address, &record)?;
    }
    let submitted = trial.submit(&model.response());
    submitted.map_err(|refusal| Fault::new(refusal.to_string()))?;
    model.admitted(&trial);
    for _ in 0..EVENTS {
        let event = choose(&mut prng, &model, faults);
        let before = model.standings(&trial);
        carry_out(&mut trial, &mut model, &mut prng, &event)?;
        model.check(&trial, &event, &before);
    }
    Ok(Done {
        events: EVENTS as u64 + 1,
        violations: model.violations,
    })
}

fn choose(prng: &mut Prng, model: &Model, faults: bool) -> Event {
    let one = prng.below(model.len());
    match prng.below(if faults { 16 } else { 10 }) {
        0 => Event::Set("a"),
        1 => Event::Set("b"),
        2 => Event::Set("m"),
        3 => Event::Set("z"),
        4 | 5 => Event::Emit,
        6 | 7 => Event::Ask(one),
        8 => Event::Readmit(one),
        9 => Event::Observe(one, Reply::Success),
        10 => Event::Token(one),
        11 => Event::Restart,
        12 => Event::Adapter(Outcome::Refused),
        13 => Event::Adapter(Outcome::Lost),
        14 => Event::Observe(one, Reply::Failure),
        _ => Event::Withdraw(one),
    }
}

/// Refusals are part of a schedule: what matters is what they change.
fn carry_out(
    trial: &mut Trial,
    model: &mut Model,
    prng: &mut Prng,
    event: &Event,
) -> Result<(), Fault> {
    match event {
        Event::Set(address) => {
            let record = model.change(address);
            trial.set_one(address, &record)?;
        }
        Event::Emit => {
            if let Some(component) = trial.engine.first_emission() {
                let _ = trial.input(Input::Emit { component });
            }
        }
        Event::Ask(one) => {
            trial.ask("r", &model.id(*one), None);
            trial.answers.clear();
        }
        Event::Token(one) => {
            let id = model.id(*one);
            let generation = 1 + prng.below(2) as u32;
            let token = match prng.below(3) {
                0 => Presented::new([1; 16]),
                _ => trial.token("r", &id, generation),
            };
            let before = trial.arrivals.len();
            let answer = trial.ask("r", &id, Some(token.clone()));
            let again = trial.ask("r", &id, Some(token));
            model.presented_twice(
                [answer, again].map(|answer| answer == Answer::Authorized),
                trial.arrivals.len() - before,
            );
        }
        Event::Observe(one, reply) => {
            let _ = trial.input(Input::Observe {
                response: "r".into(),
                component: model.id(*one),
                generation: None,
                reply: *reply,
            });
        }
        Event::Withdraw(one) => {
            let _ = trial.input(Input::Withdraw {
                response: "r".into(),
                component: model.id(*one),
            });
        }
        Event::Restart => {
            let _ = trial.input(Input::restart());
        }
        Event::Adapter(outcome) => {
            trial.answers.insert("arm".into(), *outcome);
        }
        Event::Readmit(one) => readmit(trial, model, *one),
    }
    Ok(())
}

fn readmit(trial: &mut Trial, model: &Model, one: usize) {
    let Some(at) = trial.at("r", &model.id(one)) else {
        return;
    };
    let Some(obligation) = trial.engine.newest_obligation(at) else {
        return;
    };
    let _ = trial.input(Input::Support { obligation });
    let _ = trial.input(Input::Candidates {
        obligation,
        candidates: format!("[{}]", model.part(one)).as_str().into(),
    });
}

/// The type of a component, by its number in the catalog above.
fn kind(index: usize) -> &'static str {
    KINDS.get(index).copied().unwrap_or("note")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{PROPERTIES, schedule};
    use halo_core::Variant;
    use std::collections::BTreeSet;

    /// Which properties some schedules of a variant break.
    fn broken(variant: Variant) -> BTreeSet<&'static str> {
        let of = |seed| schedule(seed, seed % 2 == 1, variant).unwrap().violations;
        let all = (0..120).flat_map(of);
        all.filter_map(|(property, _)| PROPERTIES.get(property).copied())
            .collect()
    }

    /// The properties can be broken, each by the lack of what it is about.
    #[test]
    fn every_property_but_the_tokens_falls_with_its_mechanism() {
        assert!(broken(Variant::HaloFull).is_empty());
        for (variant, properties) in [
            (Variant::GlobalSnapshot, &["locality", "greatest set"][..]),
            (Variant::HaloAdmission, &["local validity", "closure"]),
            (
                Variant::IndependentFilter,
                &[
                    "closure",
                    "greatest set",
                    "no emission past a blocked parent",
                ],
            ),
            (Variant::WholeResponse, &["greatest set"]),
        ] {
            let broken = broken(variant);
            for property in properties {
                assert!(broken.contains(property), "{variant:?}: {broken:?}");
            }
        }
    }
}
