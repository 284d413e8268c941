//! Setpoints counted: which, when, how often.

use crate::Fingerprint;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most different fingerprints that are kept: memory is bounded whatever a file holds.
const MOST: usize = 65_536;

/// A setpoint as the vehicle had it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Position and yaw.
    pub(crate) fingerprint: Fingerprint,
    /// Whether it controls position and yaw and nothing else.
    pub(crate) plain: bool,
}

/// A fingerprint that was seen. Times are microseconds since the vehicle's boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// Which.
    #[serde(flatten)]
    pub fingerprint: Fingerprint,
    /// When first.
    pub first_us: u64,
    /// When last.
    pub last_us: u64,
    /// In how many samples of the log.
    pub samples: u64,
    /// In how many stretches without another setpoint between.
    pub stretches: u64,
}

/// Setpoints that control more than position and yaw, or that are too many to be kept one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Others {
    /// How many samples.
    pub samples: u64,
    /// When the first was, in microseconds since boot.
    pub first_us: u64,
    /// When the last was, in microseconds since boot.
    pub last_us: u64,
}

impl Others {
    fn add(&mut self, at: u64) {
        if self.samples == 0 {
            self.first_us = at;
        }
        self.samples += 1;
        self.first_us = self.first_us.min(at);
        self.last_us = self.last_us.max(at);
    }
}

/// What was counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    seen: Vec<Seen>,
    index: BTreeMap<Fingerprint, usize>,
    others: Others,
    before: Option<Sample>,
}

impl Tally {
    /// Counts a sample of time `at`.
    pub(crate) fn add(&mut self, at: u64, sample: Sample) {
        let same = self.before == Some(sample);
        self.before = Some(sample);
        if !sample.plain {
            self.others.add(at);
            return;
        }
        if let Some(seen) = self
            .index
            .get(&sample.fingerprint)
            .and_then(|index| self.seen.get_mut(*index))
        {
            seen.samples += 1;
            seen.stretches += u64::from(!same);
            seen.first_us = seen.first_us.min(at);
            seen.last_us = seen.last_us.max(at);
        } else if self.seen.len() < MOST {
            self.index.insert(sample.fingerprint, self.seen.len());
            self.seen.push(Seen {
                fingerprint: sample.fingerprint,
                first_us: at,
                last_us: at,
                samples: 1,
                stretches: 1,
            });
        } else {
            self.others.add(at);
        }
    }

    /// What comes next begins a new stretch.
    pub(crate) fn pause(&mut self) {
        self.before = None;
    }

    /// Fingerprints in the order in which they were first seen, and the rest.
    pub(crate) fn into_parts(self) -> (Vec<Seen>, Others) {
        (self.seen, self.others)
    }
}
