//! Saved and restored at any moment, an engine goes on as the one that was saved: the same answers, effects and views
//! after every further input, and the same saved state. Schedules are those of `schedules.rs`.
//!
//! `HALO_SCHEDULES` says how many (100 by default), `HALO_SEED` runs one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "tests"
)]

mod common {
    pub mod oracle;
    pub mod prng;
    pub mod schedule;
    pub mod specs;
}

use common::{
    oracle::snaps,
    prng::Prng,
    schedule::{Schedule, engine},
};
use halo_canon::Instant;
use halo_core::{ComponentRef, Engine, Handled, Input, Presented, Refusal, Saved, Seed};

/// Another process has another seed.
const OTHER: [u8; 32] = [8; 32];

fn bytes(engine: &Engine) -> Vec<u8> {
    serde_json::to_vec(&engine.save()).unwrap()
}

fn restored(bytes: &[u8], like: &Engine) -> Engine {
    let saved: Saved = serde_json::from_slice(bytes).unwrap();
    let catalogs = saved.catalogs().iter().map(|_| like.catalog().clone());
    let catalogs = catalogs.collect();
    Engine::restore(saved, catalogs, Seed::new(OTHER)).unwrap()
}

fn drained(engine: &mut Engine) -> Vec<String> {
    let next = || engine.next_effect();
    std::iter::from_fn(next)
        .map(|effect| serde_json::to_string(&effect).unwrap())
        .collect()
}

/// What the holder of a token of `from` holds in `to`: nothing, where that never made one for it.
fn translated(token: &Presented, from: &Engine, to: &Engine) -> Option<Presented> {
    for response in from.responses() {
        for view in &response.components {
            for generation in 1..=view.generation {
                if from.present(response.id, view.id, generation).as_ref() == Some(token) {
                    return to.present(response.id, view.id, generation);
                }
            }
        }
    }
    None
}

/// The same input for another engine; and whether it asks the same of it.
fn for_other(input: &Input, from: &Engine, to: &Engine) -> (Input, bool) {
    let mut input = input.clone();
    let Input::Dispatch {
        token: Some(token), ..
    } = &mut input
    else {
        return (input, true);
    };
    let known = translated(token, from, to);
    let same = known.is_some();
    if let Some(known) = known {
        *token = known;
    }
    (input, same)
}

fn step(engine: &mut Engine, at: i128, input: Input) -> (Result<Handled, Refusal>, Vec<String>) {
    let handled = engine.handle(Instant::from_nanos(at), input);
    (handled, drained(engine))
}

fn views(engine: &Engine) -> String {
    let footprints: Vec<Vec<String>> = engine
        .responses()
        .flat_map(|response| response.components)
        .map(|view| engine.footprint(view.at))
        .collect();
    format!(
        "{:?} {:?} {footprints:?} {:?} {:?} {:?} {:?} {}",
        snaps(engine),
        engine.obligations().collect::<Vec<_>>(),
        engine.records().collect::<Vec<_>>(),
        engine.first_action(),
        engine.first_emission(),
        engine.now(),
        engine.response_count(),
    )
}

fn run(seed: u64) {
    let mut schedule = Schedule::new(seed);
    schedule.run(60, &mut |_, _| {});
    let mut prng = Prng::new(seed ^ 0x5eed);
    let mut first = engine(schedule.spec);
    // One that is saved and restored now and then, each time from its own saved state.
    let mut other: Option<Engine> = None;
    for (index, (at, input)) in schedule.inputs.iter().enumerate() {
        if prng.chance(12) {
            let saved = bytes(other.as_ref().unwrap_or(&first));
            let again = restored(&saved, &first);
            assert_eq!(
                String::from_utf8(bytes(&again)),
                String::from_utf8(saved),
                "seed {seed}, before {index}"
            );
            other = Some(again);
        }
        let Some(other) = &mut other else {
            let _ = step(&mut first, *at, input.clone());
            continue;
        };
        let (translated, same) = for_other(input, &first, other);
        let expected = step(&mut first, *at, input.clone());
        let found = step(other, *at, translated);
        let context = || format!("seed {seed}, input {index}: {input:?}\n{}", schedule.log());
        if same {
            assert_eq!(found, expected, "{}", context());
        }
        assert_eq!(views(other), views(&first), "{}", context());
        assert_eq!(
            String::from_utf8(bytes(other)),
            String::from_utf8(bytes(&first)),
            "{}",
            context()
        );
    }
}

#[test]
fn a_restored_engine_goes_on_as_the_saved_one() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    if let Some(seed) = number("HALO_SEED") {
        return run(seed);
    }
    (0..number("HALO_SCHEDULES").unwrap_or(100)).for_each(run);
}

/// What was changed is an error or another engine, and never a panic.
#[test]
fn a_damaged_state_is_an_error_and_no_panic() {
    let mut schedule = Schedule::new(0);
    schedule.run(60, &mut |_, _| {});
    let saved = serde_json::to_value(schedule.engine.save()).unwrap();
    let mut prng = Prng::new(1);
    let mut refused = 0;
    for _ in 0..2_000 {
        let mut damaged = saved.clone();
        damage(&mut damaged, &mut prng);
        let Ok(saved) = serde_json::from_value::<Saved>(damaged) else {
            refused += 1;
            continue;
        };
        let catalogs = vec![schedule.engine.catalog().clone()];
        let Ok(mut engine) = Engine::restore(saved, catalogs, Seed::new(OTHER)) else {
            refused += 1;
            continue;
        };
        // It can be looked at.
        let _ = views(&engine);
        let _ = engine.save();
        let component = ComponentRef {
            response: 0,
            position: 0,
        };
        let _ = engine.handle(schedule.now, Input::Emit { component });
    }
    assert!(refused > 500, "{refused}");
}

/// Changes one number or text, or takes out one member, somewhere.
fn damage(value: &mut serde_json::Value, prng: &mut Prng) {
    use serde_json::{Value, json};
    match value {
        Value::Array(list) if !list.is_empty() => {
            let at = prng.below(list.len());
            if prng.chance(10) {
                list.remove(at);
            } else {
                damage(&mut list[at], prng);
            }
        }
        Value::Object(members) if !members.is_empty() => {
            let names: Vec<String> = members.keys().cloned().collect();
            let name = prng.pick(&names).clone();
            if prng.chance(5) {
                members.remove(&name);
            } else {
                damage(&mut members[&name], prng);
            }
        }
        Value::Number(_) => *value = json!(*prng.pick(&[0, 1, 7, 1_000_000, u32::MAX])),
        Value::String(_) => *value = json!(*prng.pick(&["", "x", "{", "retained"])),
        other => *other = json!(3),
    }
}

#[test]
fn other_catalogs_are_refused() {
    let schedule = Schedule::new(0);
    let saved = schedule.engine.save();
    assert!(Engine::restore(saved.clone(), Vec::new(), Seed::new(OTHER)).is_err());
    let other = Schedule::new(1);
    let catalogs = vec![other.engine.catalog().clone()];
    assert!(Engine::restore(saved, catalogs, Seed::new(OTHER)).is_err());
}
