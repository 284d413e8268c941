//! What a schedule's properties mean, told from a model of the state and from what arrived; the engine is only read.

use crate::{
    prng::Prng,
    trial::{Arrival, Trial},
};
use halo_core::{Outcome, Phase, Reply};
use std::collections::BTreeSet;

pub(super) const PROPERTIES: [&str; 6] = [
    "locality",
    "local validity",
    "closure",
    "greatest set",
    "token non-reuse",
    "no emission past a blocked parent",
];
const LOCALITY: usize = 0;
const VALIDITY: usize = 1;
const CLOSURE: usize = 2;
const GREATEST: usize = 3;
const TOKENS: usize = 4;
const BLOCKED: usize = 5;

pub(super) const KINDS: [&str; 4] = ["note", "gauge", "act", "move"];

/// What happens in a schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Event {
    /// A record changes.
    Set(&'static str),
    /// The first emission goes out.
    Emit,
    /// Someone asks the gate by name.
    Ask(usize),
    /// Someone presents a token, twice.
    Token(usize),
    /// A milestone is seen.
    Observe(usize, Reply),
    /// Support is reported, and the same comes as a candidate.
    Readmit(usize),
    Withdraw(usize),
    Restart,
    /// The next call is answered so.
    Adapter(Outcome),
}

/// A prerequisite: whose, and which phase.
#[derive(Debug, Clone, Copy)]
struct Wait {
    parent: usize,
    phase: &'static str,
}

/// What can be seen of a component.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Standing {
    phase: Option<Phase>,
    generation: u32,
    sequence: Option<u64>,
    binding: Option<String>,
}

pub(super) struct Model {
    kinds: Vec<usize>,
    waits: Vec<Vec<Wait>>,
    a: bool,
    b: bool,
    epoch: u64,
    other: u64,
    /// Arrivals that were checked already.
    checked: usize,
    pub(super) violations: Vec<(usize, String)>,
}

impl Model {
    /// A response of three to seven components, each waiting for some before it.
    pub(super) fn new(prng: &mut Prng) -> Self {
        let len = 3 + prng.below(5);
        let kinds: Vec<usize> = (0..len).map(|_| prng.below(KINDS.len())).collect();
        let mut waits = Vec::new();
        for child in 0..len {
            let mut own = Vec::new();
            for parent in 0..child {
                if prng.chance(30) {
                    let leaves = match kinds.get(parent) {
                        Some(0 | 1) => "emitted",
                        _ => "dispatched",
                    };
                    // As the catalog allows.
                    let phase = match (kinds.get(child), kinds.get(parent), prng.chance(50)) {
                        (_, _, false) => "retained",
                        (Some(2), Some(3), true) => "observed",
                        (Some(3), Some(3), true) => "retained",
                        (_, _, true) => leaves,
                    };
                    own.push(Wait { parent, phase });
                }
            }
            waits.push(own);
        }
        Self {
            kinds,
            waits,
            a: prng.chance(80),
            b: prng.chance(80),
            epoch: 1,
            other: 0,
            checked: 0,
            violations: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    pub(super) fn id(&self, one: usize) -> String {
        format!("n{one}")
    }

    pub(super) fn records(&self) -> [(&'static str, String); 4] {
        ["a", "b", "m", "z"].map(|address| (address, self.record(address)))
    }

    fn record(&self, address: &str) -> String {
        match address {
            "a" => format!(r#"{{"value":{}}}"#, self.a),
            "b" => format!(r#"{{"value":{}}}"#, self.b),
            "m" => format!(r#"{{"epoch":{},"value":0}}"#, self.epoch),
            _ => format!(r#"{{"value":{}}}"#, self.other),
        }
    }

    pub(super) fn change(&mut self, address: &str) -> String {
        match address {
            "a" => self.a = !self.a,
            "b" => self.b = !self.b,
            "m" => self.epoch += 1,
            _ => self.other += 1,
        }
        self.record(address)
    }

    pub(super) fn part(&self, one: usize) -> String {
        let waits = self
            .waits_of(one)
            .iter()
            .map(|wait| format!(r#"{{"id":"n{}","phase":"{}"}}"#, wait.parent, wait.phase));
        let waits: Vec<String> = waits.collect();
        let kind = super::kind(self.kinds.get(one).copied().unwrap_or(0));
        format!(
            r#"{{"id":"n{one}","type":"{kind}","payload":{{}},"requires":[{}]}}"#,
            waits.join(",")
        )
    }

    pub(super) fn response(&self) -> String {
        let parts: Vec<String> = (0..self.len()).map(|one| self.part(one)).collect();
        format!(r#"{{"response":"r","components":[{}]}}"#, parts.join(","))
    }

    fn waits_of(&self, one: usize) -> &[Wait] {
        self.waits.get(one).map_or(&[], Vec::as_slice)
    }

    /// Local support, as the catalog's text says it.
    fn supported(&self, one: usize) -> bool {
        match self.kinds.get(one) {
            Some(1) => self.a,
            Some(2) => self.b,
            Some(3) => self.a && self.b,
            _ => true,
        }
    }

    fn reads(&self, one: usize, address: &str) -> bool {
        match self.kinds.get(one) {
            Some(1) => address == "a",
            Some(2) => address == "b" || address == "m",
            Some(3) => address == "a" || address == "b",
            _ => false,
        }
    }

    fn broken(&mut self, property: usize, what: String) {
        self.violations.push((property, what));
    }

    /// The greatest set at admission, by the oracle that sweeps rejections.
    pub(super) fn admitted(&mut self, trial: &Trial) {
        let parents: Vec<Vec<usize>> = self
            .waits
            .iter()
            .map(|waits| waits.iter().map(|wait| wait.parent).collect())
            .collect();
        let local: Vec<bool> = (0..self.len()).map(|one| self.supported(one)).collect();
        let wanted = halo_oracle::greatest::by_rejection(&parents, &local);
        let found: Vec<bool> = (0..self.len())
            .map(|one| self.phase(trial, one).is_some_and(is_live))
            .collect();
        if wanted != found {
            self.broken(
                GREATEST,
                format!("admission retained {found:?}, not {wanted:?}"),
            );
        }
    }

    fn phase(&self, trial: &Trial, one: usize) -> Option<Phase> {
        trial.phase("r", &self.id(one))
    }

    pub(super) fn standings(&self, trial: &Trial) -> Vec<Standing> {
        let of = |one| {
            let view = trial.at("r", &self.id(one));
            let view = view.and_then(|at| trial.engine.view(at));
            Standing {
                phase: view.as_ref().map(|view| view.phase),
                generation: view.as_ref().map_or(0, |view| view.generation),
                sequence: view.as_ref().and_then(|view| view.sequence),
                binding: view.and_then(|view| view.binding.map(|binding| binding.to_string())),
            }
        };
        (0..self.len()).map(of).collect()
    }

    /// One token was presented twice: at most one of both came through, and at most one call with it.
    pub(super) fn presented_twice(&mut self, authorized: [bool; 2], calls: usize) {
        if authorized == [true, true] || calls > 1 {
            self.broken(TOKENS, format!("one token: {authorized:?}, {calls} calls"));
        }
    }

    /// All properties, after an event.
    pub(super) fn check(&mut self, trial: &Trial, event: &Event, before: &[Standing]) {
        let after = self.standings(trial);
        self.check_arrivals(trial);
        self.check_live(&after);
        self.check_locality(trial, event, before, &after);
        self.check_causes(event, before, &after);
    }

    /// Whatever an event does not concern, itself or through its prerequisites, stays exactly as it is.
    fn check_locality(
        &mut self,
        trial: &Trial,
        event: &Event,
        before: &[Standing],
        after: &[Standing],
    ) {
        let concerned: BTreeSet<usize> = match event {
            Event::Restart => return,
            Event::Set(address) => (0..self.len())
                .filter(|one| self.reads(*one, address))
                .collect(),
            Event::Emit => {
                let came = trial
                    .arrivals
                    .last()
                    .map(|arrival| arrival.component.clone());
                (0..self.len())
                    .filter(|one| {
                        Some(self.id(*one)) == came || self.changed_to_left(*one, before, after)
                    })
                    .collect()
            }
            Event::Ask(one)
            | Event::Token(one)
            | Event::Observe(one, _)
            | Event::Readmit(one)
            | Event::Withdraw(one) => BTreeSet::from([*one]),
            Event::Adapter(_) => BTreeSet::new(),
        };
        let reached = self.with_dependents(concerned);
        for (one, (before, after)) in before.iter().zip(after).enumerate() {
            if before != after && !reached.contains(&one) {
                self.broken(LOCALITY, format!("{event:?} changed n{one}"));
            }
        }
    }

    fn changed_to_left(&self, one: usize, before: &[Standing], after: &[Standing]) -> bool {
        // What its path refused for want of support is the emission's own business.
        matches!((before.get(one), after.get(one)), (Some(before), Some(after)) if before.phase != after.phase)
            && self.kinds.get(one).is_some_and(|kind| *kind < 2)
    }

    fn with_dependents(&self, mut set: BTreeSet<usize>) -> BTreeSet<usize> {
        for child in 0..self.len() {
            if self
                .waits_of(child)
                .iter()
                .any(|wait| set.contains(&wait.parent))
            {
                set.insert(child);
            }
        }
        set
    }

    /// What is live is supported, and so is everything that it waits for.
    fn check_live(&mut self, after: &[Standing]) {
        for (one, standing) in after.iter().enumerate() {
            if !standing.phase.is_some_and(is_live) {
                continue;
            }
            if !self.supported(one) {
                self.broken(VALIDITY, format!("n{one} is live and not supported"));
            }
            for wait in self.waits_of(one).to_vec() {
                let parent = after.get(wait.parent).and_then(|parent| parent.phase);
                let there = parent.is_some_and(|phase| is_live(phase) || has_left(phase));
                if !there || !self.supported(wait.parent) {
                    self.broken(CLOSURE, format!("n{one} is live without n{}", wait.parent));
                }
            }
        }
    }

    /// Nothing ends without a cause: lost support, a lost prerequisite, or an event about itself.
    fn check_causes(&mut self, event: &Event, before: &[Standing], after: &[Standing]) {
        for one in 0..self.len() {
            let (Some(was), Some(is)) = (before.get(one), after.get(one)) else {
                continue;
            };
            let fell = was.phase.is_some_and(is_live) && is.phase.is_some_and(has_ended);
            if !fell || !self.supported(one) {
                continue;
            }
            let about_it = match event {
                Event::Ask(about)
                | Event::Token(about)
                | Event::Withdraw(about)
                | Event::Readmit(about)
                | Event::Observe(about, _) => *about == one,
                // A restart does not launder a changed epoch.
                Event::Restart => self.kinds.get(one) == Some(&2),
                _ => false,
            };
            let parent_lost = self.waits_of(one).iter().any(|wait| {
                let parent = after.get(wait.parent).and_then(|parent| parent.phase);
                parent.is_none_or(has_ended) || !self.supported(wait.parent)
            });
            if !about_it && !parent_lost && !self.ancestor_lost(one, after) {
                self.broken(GREATEST, format!("{event:?}: n{one} ended without a cause"));
            }
        }
    }

    fn ancestor_lost(&self, one: usize, after: &[Standing]) -> bool {
        self.waits_of(one).iter().any(|wait| {
            let parent = after.get(wait.parent).and_then(|parent| parent.phase);
            parent.is_none_or(has_ended)
                || !self.supported(wait.parent)
                || self.ancestor_lost(wait.parent, after)
        })
    }

    /// What arrived since: each binding, sequence and instance once, and nothing before what it waits for.
    fn check_arrivals(&mut self, trial: &Trial) {
        let known = trial.arrivals.get(..self.checked).unwrap_or(&[]);
        let new = trial.arrivals.get(self.checked..).unwrap_or(&[]);
        self.checked = trial.arrivals.len();
        let mut seen: Vec<&Arrival> = known.iter().collect();
        for arrival in new {
            let twice = seen.iter().any(|other| {
                let numbered = arrival.sequence.is_some();
                (numbered
                    && (other.sequence == arrival.sequence || other.binding == arrival.binding))
                    || (&other.component, other.generation)
                        == (&arrival.component, arrival.generation)
            });
            if twice {
                self.broken(TOKENS, format!("{arrival:?} came twice"));
            }
            let one = (0..self.len()).find(|one| self.id(*one) == arrival.component);
            for wait in one.map_or(&[][..], |one| self.waits_of(one)).to_vec() {
                let parent = self.id(wait.parent);
                let came = seen.iter().any(|other| other.component == parent);
                let standing = self.phase(trial, wait.parent);
                let ended = standing.is_none_or(has_ended);
                if ended || (wait.phase != "retained" && !came) {
                    self.broken(BLOCKED, format!("{} came past {parent}", arrival.component));
                }
            }
            seen.push(arrival);
        }
    }
}

fn is_live(phase: Phase) -> bool {
    matches!(phase, Phase::Retained | Phase::Pending)
}

fn has_left(phase: Phase) -> bool {
    matches!(
        phase,
        Phase::Emitted | Phase::Dispatched | Phase::Observed | Phase::InDoubt
    )
}

fn has_ended(phase: Phase) -> bool {
    matches!(phase, Phase::Withheld | Phase::Invalidated | Phase::Failed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{Model, TOKENS};
    use crate::{
        panels::support,
        prng::Prng,
        trial::{Arrival, Trial},
    };
    use halo_core::Variant;

    /// No variant reuses a token: what would arrive twice is put into the receivers' books by hand.
    #[test]
    fn a_second_call_with_one_token_is_seen() {
        let catalog = support::catalog("schedules", super::super::CATALOG).unwrap();
        let start = support::instant("2026-01-01T00:00:00Z").unwrap();
        let mut trial = Trial::new(catalog, Variant::HaloFull, start);
        let arrival = |component: &str, sequence, binding: &str| Arrival {
            response: "r".into(),
            component: component.into(),
            generation: 1,
            sequence: Some(sequence),
            binding: Some(binding.into()),
            payload: String::new(),
        };
        for (second, times) in [
            (arrival("n1", 2, "b2"), 0),
            (arrival("n1", 1, "b2"), 1),
            (arrival("n1", 2, "b1"), 1),
            (arrival("n0", 2, "b2"), 1),
        ] {
            let mut model = Model::new(&mut Prng::new(1));
            model.waits.iter_mut().for_each(Vec::clear);
            trial.arrivals = vec![arrival("n0", 1, "b1"), second];
            model.check_arrivals(&trial);
            let seen = model
                .violations
                .iter()
                .filter(|(what, _)| *what == TOKENS)
                .count();
            assert_eq!(seen, times);
        }
        let mut model = Model::new(&mut Prng::new(1));
        model.presented_twice([true, true], 1);
        model.presented_twice([true, false], 2);
        assert_eq!(model.violations.len(), 2);
    }
}
