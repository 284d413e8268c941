//! What the core costs (RQ4, Table 14), with the paper's sweeps and sample counts, through the public interface: so some
//! boundaries are wider than the paper's, and the rows say which. `halo bench` measures the core against its goals.

mod fit;
mod workload;

use super::Run;
use crate::{Fault, Figure, report::Plot};
use fit::{Fit, fit};
use std::{hint::black_box, time::Instant};
use workload::{Admission, Gate, Readmission};

const SIZES: [usize; 4] = [4, 8, 16, 32];
/// Prerequisites in percent of all that an order allows; 40 % of 32 components are about 200.
const DENSITIES: [usize; 4] = [0, 10, 20, 40];
const PREREQUISITES: [usize; 6] = [0, 1, 2, 4, 8, 16];
const FIELDS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// How much is measured.
struct Size {
    /// Calls of one batch: a sample is their mean.
    batch: usize,
    batches: usize,
    warm_up: usize,
    gate: usize,
    gate_warm_up: usize,
}

const FULL: Size = Size {
    batch: 50,
    batches: 76,
    warm_up: 20,
    gate: 301,
    gate_warm_up: 50,
};
const QUICK: Size = Size {
    batch: 5,
    batches: 5,
    warm_up: 2,
    gate: 15,
    gate_warm_up: 5,
};

/// Samples of one interval in one configuration, in nanoseconds.
struct Samples {
    first: usize,
    second: usize,
    nanos: Vec<u64>,
}

pub(super) fn run(run: &mut Run<'_>) -> Result<(), Fault> {
    let size = if run.quick { QUICK } else { FULL };
    let (mut validation, mut closure, mut admission) = (Vec::new(), Vec::new(), Vec::new());
    for (done, components) in SIZES.into_iter().enumerate() {
        run.progress(done, SIZES.len() * 2);
        for density in DENSITIES {
            let edges = (components * (components - 1) / 2 * density)
                .div_ceil(100)
                .min(200);
            let work = Admission::new(components, edges)?;
            let sample = |of: &mut dyn FnMut() -> Result<(), Fault>| {
                batches(&size, of).map(|nanos| Samples {
                    first: components,
                    second: edges,
                    nanos,
                })
            };
            validation.push(sample(&mut || work.validate())?);
            closure.push(sample(&mut || {
                black_box(work.close());
                Ok(())
            })?);
            let mut trial = work.engine()?;
            admission.push(sample(&mut || work.admit(&mut trial))?);
        }
    }
    report(run, "response validation", &validation);
    report(run, "dependency closure", &closure);
    report(run, "admission total", &admission);
    fitted(run, "admission", &admission, ["|V|", "|D|"]);
    let mut readmission = Readmission::new()?;
    let samples = readmission.samples(size.batches, size.warm_up)?;
    report(run, "fresh readmission total", &[samples]);
    gate(run, &size)
}

fn gate(run: &mut Run<'_>, size: &Size) -> Result<(), Fault> {
    let mut decisions = Vec::new();
    for (done, prerequisites) in PREREQUISITES.into_iter().enumerate() {
        run.progress(PREREQUISITES.len() + done, PREREQUISITES.len() * 2);
        for fields in FIELDS {
            let mut work = Gate::new(prerequisites, fields, size.gate + size.gate_warm_up)?;
            decisions.push(Samples {
                first: prerequisites,
                second: fields,
                nanos: work.samples(size.gate_warm_up)?,
            });
        }
    }
    report(run, "final gate, pre-token", &decisions);
    fitted(run, "gate", &decisions, ["prerequisites", "fields"]);
    Ok(())
}

/// Means of batches, after warming up.
fn batches(size: &Size, of: &mut dyn FnMut() -> Result<(), Fault>) -> Result<Vec<u64>, Fault> {
    for _ in 0..size.warm_up {
        of()?;
    }
    let mut samples = Vec::with_capacity(size.batches);
    for _ in 0..size.batches {
        let begin = Instant::now();
        for _ in 0..size.batch {
            of()?;
        }
        let spent = begin.elapsed().as_nanos() / size.batch.max(1) as u128;
        samples.push(u64::try_from(spent).unwrap_or(u64::MAX));
    }
    Ok(samples)
}

/// Pooled over all configurations: number of samples, median, nearest-rank p95; and the largest configuration's.
fn report(run: &mut Run<'_>, interval: &str, all: &[Samples]) {
    let mut pooled: Vec<u64> = all
        .iter()
        .flat_map(|one| one.nanos.iter().copied())
        .collect();
    pooled.sort_unstable();
    let largest = |of: fn(&[u64]) -> u64| {
        let each = all.iter().map(|one| {
            let mut nanos = one.nanos.clone();
            nanos.sort_unstable();
            of(&nanos)
        });
        each.max().unwrap_or(0)
    };
    run.count(
        format!("{interval}: samples"),
        Figure::Count(pooled.len() as u64),
    );
    run.count(
        format!("{interval}: median"),
        Figure::Nanos(median(&pooled)),
    );
    run.count(format!("{interval}: p95"), Figure::Nanos(p95(&pooled)));
    run.count(
        format!("{interval}: largest configuration's median"),
        Figure::Nanos(largest(median)),
    );
    run.count(
        format!("{interval}: largest configuration's p95"),
        Figure::Nanos(largest(p95)),
    );
}

/// Of sorted samples.
fn median(sorted: &[u64]) -> u64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// Nearest rank, of sorted samples.
fn p95(sorted: &[u64]) -> u64 {
    let rank = (sorted.len() * 95).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

fn fitted(run: &mut Run<'_>, what: &str, all: &[Samples], names: [&str; 2]) {
    let points: Vec<[f64; 3]> = all
        .iter()
        .map(|one| {
            let mut nanos = one.nanos.clone();
            nanos.sort_unstable();
            [one.first as f64, one.second as f64, median(&nanos) as f64]
        })
        .collect();
    let Some(Fit { base, slopes, r2 }) = fit(&points) else {
        return;
    };
    run.count(
        format!("{what}: R² of the fit, in ten-thousandths"),
        Figure::Of((r2 * 10_000.0).round().max(0.0) as u64, 10_000),
    );
    run.plot(Plot::Fit {
        title: format!(
            "{what}: median in µs, measured over fitted: {:.3} + {:.4}·{} + {:.4}·{}",
            base / 1000.0,
            slopes[0] / 1000.0,
            names[0],
            slopes[1] / 1000.0,
            names[1]
        ),
        points: points
            .iter()
            .map(|[first, second, measured]| {
                let fitted = base + slopes[0] * first + slopes[1] * second;
                (fitted / 1000.0, measured / 1000.0)
            })
            .collect(),
    });
}
