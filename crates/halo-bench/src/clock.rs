//! Samples of thread CPU time.

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread, in nanoseconds.
fn cpu_nanos() -> i128 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

/// Microseconds of CPU time that `work` takes. What it returns is dropped after the clock stopped.
pub(crate) fn cpu_us<T>(work: impl FnOnce() -> T) -> f64 {
    let start = cpu_nanos();
    let kept = std::hint::black_box(work());
    let taken = cpu_nanos() - start;
    drop(kept);
    taken as f64 / 1000.0
}

/// `rounds` samples after `warm_up` uncounted ones; `sample` gives microseconds.
pub(crate) fn samples(warm_up: usize, rounds: usize, mut sample: impl FnMut() -> f64) -> Vec<f64> {
    for _ in 0..warm_up {
        sample();
    }
    (0..rounds).map(|_| sample()).collect()
}

/// The median; the mean of the middle two of an even number. 0 of none.
pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (None, _) => 0.0,
        (Some(high), 1) => *high,
        (Some(high), _) => (sorted.get(middle.wrapping_sub(1)).unwrap_or(high) + high) / 2.0,
    }
}
