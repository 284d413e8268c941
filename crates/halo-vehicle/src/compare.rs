//! What the vehicle accepted, held against what was authorized.

use crate::{
    Fingerprint,
    observe::{Observation, Seen},
};
use serde::Serialize;

/// The comparison. `A` is an authorization, as whoever asks describes it.
#[derive(Debug, Serialize)]
pub struct Comparison<A> {
    /// Accepted and authorized, in the order in which the vehicle had them.
    pub matched: Vec<Matched<A>>,
    /// Accepted, and nobody authorized it.
    pub unmatched: Vec<Seen>,
    /// Perhaps accepted (the log does not tell in which state it was), and nobody authorized it.
    pub undecided: Vec<Seen>,
    /// Authorized, and not in the log: never sent, not in OFFBOARD, or shown for less than the logger's interval.
    pub unseen: Vec<A>,
}

/// A setpoint that the vehicle accepted, and who was authorized to send it.
#[derive(Debug, Serialize)]
pub struct Matched<A> {
    /// What the vehicle had.
    #[serde(flatten)]
    pub seen: Seen,
    /// Each authorization of this setpoint: which of them it was can't be told from the bits.
    pub by: Vec<A>,
}

/// What it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// All that the vehicle accepted was authorized.
    Authorized,
    /// It accepted something that nobody authorized.
    Unauthorized,
    /// The log does not show enough to say so.
    CannotTell,
}

/// Compares.
pub fn compare<A>(observation: &Observation, authorized: Vec<(Fingerprint, A)>) -> Comparison<A> {
    let mut by_fingerprint = std::collections::BTreeMap::<Fingerprint, Vec<A>>::new();
    let mut order = Vec::new();
    for (fingerprint, authorization) in authorized {
        let group = by_fingerprint.entry(fingerprint).or_default();
        if group.is_empty() {
            order.push(fingerprint);
        }
        group.push(authorization);
    }
    let unknown = |seen: &&Seen| !by_fingerprint.contains_key(&seen.fingerprint);
    let unmatched = observation.seen.iter().filter(unknown).cloned().collect();
    let undecided = observation
        .undecided
        .iter()
        .filter(unknown)
        .cloned()
        .collect();
    let mut matched = Vec::new();
    for seen in &observation.seen {
        if let Some(by) = by_fingerprint.remove(&seen.fingerprint) {
            let seen = seen.clone();
            matched.push(Matched { seen, by });
        }
    }
    let unseen = order
        .into_iter()
        .filter_map(|fingerprint| by_fingerprint.remove(&fingerprint));
    Comparison {
        matched,
        unmatched,
        undecided,
        unseen: unseen.flatten().collect(),
    }
}

impl<A> Comparison<A> {
    /// What it comes to.
    pub fn answer(&self, observation: &Observation) -> Answer {
        let undecided = !self.undecided.is_empty() || observation.undecided_others.samples > 0;
        if !self.unmatched.is_empty() || observation.others.samples > 0 {
            Answer::Unauthorized
        } else if undecided || !observation.gaps().is_empty() {
            Answer::CannotTell
        } else {
            Answer::Authorized
        }
    }
}
