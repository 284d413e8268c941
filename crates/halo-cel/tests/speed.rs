//! How long an evaluation takes. Ignored: it measures, so it wants a release build and a quiet machine.
//! `cargo test --release -p halo-cel --test speed -- --ignored --nocapture`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

mod support;
use halo_cel::{Expect, Inputs, Record, Records};
use std::hint::black_box;
use std::time::Instant;
use support::{World, compile_for, with};

/// The fastest of many batches: what it takes when nothing else runs.
fn nanoseconds(mut run: impl FnMut()) -> f64 {
    (0..300)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..200 {
                run();
            }
            start.elapsed().as_nanos() as f64 / 200.0
        })
        .fold(f64::MAX, f64::min)
}

/// Records found beforehand, as a gate has them.
struct Found<'a>(Vec<Option<Record<'a>>>);

impl<'a> Records<'a> for Found<'a> {
    fn record(&self, slot: u16) -> Option<Record<'a>> {
        *self.0.get(usize::from(slot))?
    }
}

#[test]
#[ignore = "a measurement"]
fn p5_an_evaluation_is_fast() {
    let usual = r#"state.traffic.value.separation_m >= 50.0 && state.legs[payload.leg].value.open && payload.amount * 2 < 100 && component.type == "route""#;
    let sources = [
        usual,
        "payload.n > 2",
        "state.traffic.value.separation_m >= 50.0",
        "payload.items.all(x, x > 0 && x < 100)",
        "payload.missing > 1 || payload.yes",
        "now + duration('1h') > timestamp(payload.until)",
        "payload.leg.matches('^L[0-9]+$')",
        "payload.mixed == [1, 'a', null, true, [1], {'a': 1}]",
    ];
    let world = World::new();
    for source in sources {
        let (program, table) = compile_for(source, Expect::Bool, true).unwrap();
        let compile = nanoseconds(|| {
            let _ = black_box(compile_for(black_box(source), Expect::Bool, true));
        });
        let eval = with(&world, &program, &table, |program, inputs| {
            let slots = 0..table.records().len() as u16;
            let found = Found(slots.map(|slot| inputs.records.record(slot)).collect());
            let inputs = &Inputs {
                records: &found,
                ..*inputs
            };
            assert_eq!(program.eval_bool(inputs), Ok(true));
            nanoseconds(|| {
                let _ = black_box(program.eval_bool(black_box(inputs)));
            })
        });
        println!(
            "{eval:>8.0} ns eval {:>8.1} µs compile  {source}",
            compile / 1000.0
        );
        if source == usual && !cfg!(debug_assertions) {
            assert!(eval < 2_000.0, "{eval} ns");
        }
    }
}
