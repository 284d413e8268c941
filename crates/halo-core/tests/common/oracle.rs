//! The protocol's state as an independent reader of the specification keeps it: records, authority that was used,
//! keys, voices and unsettled records. It learns from inputs and effects; phases it takes from the engine, and judges
//! whether they can be right.

use super::specs::{Kind, Spec, address};
use halo_canon::Digest;
use halo_core::{Answer, ComponentRef, Engine, Phase, ReasonCode};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const MS: i128 = 1_000_000;

/// A record (P8).
#[derive(Clone, Debug)]
pub struct Rec {
    pub epoch: u64,
    pub value: i64,
    pub observed: i128,
    pub accepted: i128,
    pub conflicted: bool,
}

/// How far an attempt has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Under {
    Idle,
    Armed,
    Calling,
}

/// The newest instance of a component.
#[derive(Clone, Debug)]
pub struct Inst {
    pub kind: Option<&'static Kind>,
    pub key: String,
    /// Position, phase asked for, and the digest that the parent had at admission.
    pub parents: Vec<(u32, String, Option<Digest>)>,
    pub generation: u32,
    pub first_window: u32,
    pub admitted: i128,
    pub bound: Option<i64>,
    pub voices: BTreeSet<String>,
    pub complete: bool,
    pub under: Under,
    pub malformed: bool,
}

/// What can be seen of a component; compared before and after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snap {
    pub generation: u32,
    pub phase: Phase,
    pub digest: Option<Digest>,
    pub binding: Option<Digest>,
    pub sequence: Option<u64>,
    pub terminal: bool,
    pub reasons: Vec<ReasonCode>,
}

pub type Snaps = BTreeMap<ComponentRef, Snap>;

pub fn snaps(engine: &Engine) -> Snaps {
    let mut all = Snaps::new();
    for response in engine.responses() {
        for view in response.components {
            all.insert(
                view.at,
                Snap {
                    generation: view.generation,
                    phase: view.phase,
                    digest: view.digest,
                    binding: view.binding,
                    sequence: view.sequence,
                    terminal: view.terminal,
                    reasons: view.reasons.iter().map(|reason| reason.code).collect(),
                },
            );
        }
    }
    all
}

#[derive(Clone)]
struct Holder {
    at: ComponentRef,
    generation: u32,
    until: Option<i128>,
    unresolved: bool,
}

#[derive(Clone, Debug)]
struct Unsettled {
    address: String,
    at: ComponentRef,
    generation: u32,
    since: Option<i128>,
}

#[derive(Clone)]
pub struct Oracle {
    pub spec: &'static Spec,
    pub now: i128,
    pub records: HashMap<String, Rec>,
    pub instances: BTreeMap<ComponentRef, Inst>,
    /// What each position of each response declares now.
    pub declared: BTreeMap<ComponentRef, Value>,
    keys: HashMap<(&'static str, String), Holder>,
    unsettled: Vec<Unsettled>,
    /// What failed and may be contradicted, by instance: its kind and key.
    failed: HashMap<(ComponentRef, u32), (&'static Kind, String)>,
}

impl Oracle {
    pub fn new(spec: &'static Spec, now: i128) -> Self {
        Self {
            spec,
            now,
            records: HashMap::new(),
            instances: BTreeMap::new(),
            declared: BTreeMap::new(),
            keys: HashMap::new(),
            unsettled: Vec::new(),
            failed: HashMap::new(),
        }
    }

    /// The same with one instance as it was a moment ago.
    pub fn with(&self, at: ComponentRef, instance: Inst) -> Self {
        let mut other = self.clone();
        other.instances.insert(at, instance);
        other
    }

    pub fn forget_key_of(&mut self, at: ComponentRef) {
        self.keys.retain(|_, holder| holder.at != at);
    }

    // State (P8)

    fn record(&self, address: &str) -> Option<&Rec> {
        self.records
            .get(address)
            .filter(|record| !record.conflicted)
    }

    /// The code of the refusal, or nothing where it was accepted.
    pub fn update(&mut self, address: &str, record: &Value) -> Option<&'static str> {
        let source = address.split('/').next().unwrap();
        if !["s1", "s2", "k"].contains(&source) || (source == "k") != address.contains('/') {
            return Some("unknown_source");
        }
        let now = self.now;
        let observed = record["observed_at"].as_str().map_or(now, |text| {
            halo_canon::Instant::parse(text).unwrap().nanos()
        });
        if observed > now + i128::from(self.spec.tolerance()) * MS {
            return Some("future_update");
        }
        let value = record["value"].as_i64().unwrap();
        let Some(current) = self.records.get_mut(address) else {
            let epoch = record["epoch"].as_u64().unwrap_or(1);
            let first = Rec {
                epoch,
                value,
                observed,
                accepted: now,
                conflicted: false,
            };
            self.records.insert(address.to_owned(), first);
            self.seen(address, observed);
            return None;
        };
        if observed < current.observed {
            return Some("stale_update");
        }
        let same = value == current.value;
        let epoch = record["epoch"]
            .as_u64()
            .unwrap_or(current.epoch + u64::from(!same));
        if epoch < current.epoch {
            return Some("epoch_regression");
        }
        if epoch == current.epoch && (!same || current.conflicted) {
            current.conflicted = true;
            return Some("epoch_conflict");
        }
        *current = Rec {
            epoch,
            value,
            observed,
            accepted: now,
            conflicted: false,
        };
        self.seen(address, observed);
        None
    }

    /// P29: an accepted update that was observed after an outcome settles what the action wrote.
    fn seen(&mut self, address: &str, observed: i128) {
        self.unsettled.retain(|entry| {
            entry.address != address || entry.since.is_none_or(|since| observed <= since)
        });
    }

    // Instances

    /// Takes up instances that are new since the last look at the engine.
    pub fn take_up(&mut self, after: &Snaps, rolled: Option<ComponentRef>, restarted: bool) {
        for (at, snap) in after {
            let known = self.instances.get(at).map(|inst| inst.generation);
            if known == Some(snap.generation) {
                continue;
            }
            if restarted && known.is_some() {
                let inst = self.instances.get_mut(at).unwrap();
                inst.generation = snap.generation;
                continue;
            }
            let declared = &self.declared[at];
            let kind = declared["type"]
                .as_str()
                .and_then(|name| self.spec.kind(name));
            let key = declared["payload"]["key"].as_str().unwrap_or("").to_owned();
            let bound = kind
                .and_then(|kind| kind.bound)
                .and_then(|source| self.record(&address(source, &key)))
                .map(|record| record.value);
            let first_window = match (rolled == Some(*at), self.instances.get(at)) {
                (true, Some(inst)) => inst.first_window,
                _ => snap.generation,
            };
            let malformed = snap
                .reasons
                .first()
                .is_some_and(|code| *code <= ReasonCode::Truncated);
            let inst = Inst {
                kind,
                key,
                parents: Vec::new(),
                generation: snap.generation,
                first_window,
                admitted: self.now,
                bound,
                voices: BTreeSet::new(),
                complete: false,
                under: Under::Idle,
                malformed,
            };
            self.instances.insert(*at, inst);
        }
        self.resolve_parents(after);
    }

    /// Prerequisites by position, with the digests that the parents have now, for instances that have none yet.
    fn resolve_parents(&mut self, after: &Snaps) {
        let mut resolved = Vec::new();
        for (at, inst) in &self.instances {
            if inst.malformed || !inst.parents.is_empty() || inst.admitted != self.now {
                continue;
            }
            let mut parents = Vec::new();
            for reference in self.declared[at]["requires"]
                .as_array()
                .into_iter()
                .flatten()
            {
                let position = self.position(at.response, reference["id"].as_str().unwrap());
                let parent = ComponentRef {
                    response: at.response,
                    position,
                };
                let digest = after[&parent].digest;
                parents.push((
                    position,
                    reference["phase"].as_str().unwrap().to_owned(),
                    digest,
                ));
            }
            resolved.push((*at, parents));
        }
        for (at, parents) in resolved {
            self.instances.get_mut(&at).unwrap().parents = parents;
        }
    }

    /// The first bearer of an id.
    pub fn position(&self, response: u32, id: &str) -> u32 {
        let bears = |(at, declared): &(&ComponentRef, &Value)| {
            at.response == response && declared["id"] == id
        };
        self.declared
            .iter()
            .find(bears)
            .map_or(u32::MAX, |(at, _)| at.position)
    }

    pub fn members(&self, response: u32) -> impl Iterator<Item = (&ComponentRef, &Inst)> {
        let from = ComponentRef {
            response,
            position: 0,
        };
        let to = ComponentRef {
            response,
            position: u32::MAX,
        };
        self.instances.range(from..=to)
    }

    // Support (P5, P7)

    /// Whether every check of the instance passes. `waiting`: it has not left.
    pub fn local(&self, at: ComponentRef, waiting: bool) -> bool {
        let inst = &self.instances[&at];
        let Some(kind) = inst.kind.filter(|_| !inst.malformed) else {
            return false;
        };
        let record = |source: &str| self.record(&address(source, &inst.key));
        let reads = kind
            .reads
            .iter()
            .all(|(source, limit)| record(source).is_some_and(|record| record.value >= *limit));
        let fresh = kind.fresh.is_none_or(|(source, ms)| {
            record(source).is_some_and(|record| {
                self.now - record.observed.min(record.accepted) <= i128::from(ms) * MS
            })
        });
        let bound = kind.bound.is_none_or(|source| record(source).is_some());
        let waited = self.now - inst.admitted;
        let in_time = !waiting || kind.ttl.is_none_or(|ms| waited <= i128::from(ms) * MS);
        let approved = !waiting
            || inst.complete
            || kind
                .approval
                .is_none_or(|(ms, _)| waited <= i128::from(ms) * MS);
        let once = !waiting
            || kind.once.is_none()
            || self.key_is_free(kind, &inst.key, at, inst.generation);
        reads && fresh && bound && in_time && approved && once
    }

    fn key_is_free(&self, kind: &Kind, key: &str, at: ComponentRef, generation: u32) -> bool {
        self.keys
            .get(&(kind.to, key.to_owned()))
            .is_none_or(|holder| {
                (holder.at, holder.generation) == (at, generation)
                    || (!holder.unresolved && holder.until.is_some_and(|until| self.now >= until))
            })
    }

    /// Whether bound values are as at admission (P16).
    pub fn witness(&self, at: ComponentRef) -> bool {
        let inst = &self.instances[&at];
        let bound = inst.kind.and_then(|kind| kind.bound);
        bound.is_none_or(|source| {
            self.record(&address(source, &inst.key))
                .map(|record| record.value)
                == inst.bound
        })
    }

    // Closure (P9, I7), by sweeping rejections

    /// The greatest supported closed set among those of a response that `alive` names.
    pub fn greatest(
        &self,
        response: u32,
        snaps: &Snaps,
        alive: &dyn Fn(ComponentRef) -> bool,
    ) -> BTreeSet<ComponentRef> {
        let left = |at: ComponentRef| {
            snaps[&at].phase.has_left() || self.instances[&at].under == Under::Calling
        };
        let supported = |at: ComponentRef| alive(at) && self.local(at, !left(at));
        let all: Vec<ComponentRef> = self.members(response).map(|(at, _)| *at).collect();
        let mut set: BTreeSet<ComponentRef> =
            all.iter().copied().filter(|at| supported(*at)).collect();
        loop {
            let holds = |at: &ComponentRef| {
                let inst = &self.instances[at];
                let until_left =
                    |phase: &str| phase == "dispatched" && inst.kind.unwrap().until_left;
                inst.parents.iter().all(|(position, phase, digest)| {
                    let parent = ComponentRef {
                        response,
                        position: *position,
                    };
                    let that = snaps[&parent].digest == *digest;
                    that && (set.contains(&parent)
                        || (until_left(phase) && alive(parent) && left(parent)))
                })
            };
            let next: BTreeSet<ComponentRef> = set.iter().copied().filter(|at| holds(at)).collect();
            if next == set {
                return set;
            }
            set = next;
        }
    }

    // Readiness (P11, P28, P29)

    pub fn unready(&self, at: ComponentRef, snaps: &Snaps) -> Option<Answer> {
        let inst = &self.instances[&at];
        let kind = inst.kind.unwrap();
        let rank = |phase: Phase| match phase {
            Phase::Retained | Phase::Pending | Phase::InDoubt => 1,
            Phase::Emitted | Phase::Dispatched => 2,
            Phase::Observed => 3,
            _ => 0,
        };
        let wanted = |phase: &str| match phase {
            "retained" => 1,
            "observed" => 3,
            _ => 2,
        };
        let reached = inst.parents.iter().all(|(position, phase, _)| {
            let parent = ComponentRef {
                response: at.response,
                position: *position,
            };
            rank(snaps[&parent].phase) >= wanted(phase)
        });
        if !reached {
            return Some(Answer::PrerequisiteNotReady);
        }
        if kind.approval.is_some() && !inst.complete {
            return Some(Answer::ApprovalMissing);
        }
        let reads: BTreeSet<String> = kind
            .footprint()
            .map(|source| address(source, &inst.key))
            .collect();
        let own = |entry: &Unsettled| entry.at == at && entry.generation >= inst.first_window;
        let blocked = self
            .unsettled
            .iter()
            .any(|entry| reads.contains(&entry.address) && !own(entry));
        (kind.action && blocked).then_some(Answer::Unsettled)
    }

    // What effects and outcomes do (P15, P17, P27, P29)

    pub fn armed(&mut self, at: ComponentRef) {
        let now = self.now;
        let inst = self.instances.get_mut(&at).unwrap();
        inst.under = Under::Armed;
        let (kind, key, generation) = (inst.kind.unwrap(), inst.key.clone(), inst.generation);
        if let Some(span) = kind.once {
            let until = span.map(|ms| now + i128::from(ms) * MS);
            let holder = Holder {
                at,
                generation,
                until,
                unresolved: true,
            };
            self.keys.insert((kind.to, key), holder);
        }
    }

    pub fn called(&mut self, at: ComponentRef) {
        self.instances.get_mut(&at).unwrap().under = Under::Calling;
        self.unsettle(at, None);
    }

    fn unsettle(&mut self, at: ComponentRef, since: Option<i128>) {
        let inst = &self.instances[&at];
        if let Some(source) = inst.kind.and_then(|kind| kind.writes) {
            let entry = Unsettled {
                address: address(source, &inst.key),
                at,
                generation: inst.generation,
                since,
            };
            self.unsettled.push(entry);
        }
    }

    /// An instance came into a phase.
    pub fn moved(&mut self, at: ComponentRef, generation: u32, to: Phase, reasons: &[ReasonCode]) {
        let now = self.now;
        let Some(inst) = self
            .instances
            .get_mut(&at)
            .filter(|inst| inst.generation == generation)
        else {
            return;
        };
        let under = std::mem::replace(&mut inst.under, Under::Idle);
        let Some(kind) = inst.kind else { return };
        let key = inst.key.clone();
        let own = |entry: &Unsettled| (entry.at, entry.generation) == (at, generation);
        match to {
            Phase::Dispatched | Phase::Observed => {
                for entry in self.unsettled.iter_mut().filter(|entry| own(entry)) {
                    entry.since.get_or_insert(now);
                }
                self.resolve(kind, &key, at, generation, false);
            }
            Phase::Failed => {
                if reasons.first() == Some(&ReasonCode::ObservedFailure) {
                    for entry in self.unsettled.iter_mut().filter(|entry| own(entry)) {
                        entry.since.get_or_insert(now);
                    }
                } else {
                    self.unsettled.retain(|entry| !own(entry));
                }
                self.resolve(kind, &key, at, generation, true);
                self.failed.insert((at, generation), (kind, key));
            }
            // Armed when it crashed: it may have been called.
            Phase::InDoubt if under == Under::Armed => self.unsettle(at, None),
            Phase::Withheld | Phase::Invalidated if under == Under::Armed => {
                self.resolve(kind, &key, at, generation, true);
            }
            Phase::Retained | Phase::Pending => self.instances.get_mut(&at).unwrap().under = under,
            _ => {}
        }
    }

    fn resolve(&mut self, kind: &Kind, key: &str, at: ComponentRef, generation: u32, free: bool) {
        let name = (kind.to, key.to_owned());
        let Some(holder) = self.keys.get_mut(&name) else {
            return;
        };
        if kind.once.is_some() && (holder.at, holder.generation) == (at, generation) {
            holder.unresolved = false;
            if free {
                self.keys.retain(|known, _| *known != name);
            }
        }
    }

    /// An observed success of what failed.
    pub fn contradicted(&mut self, at: ComponentRef, generation: u32) {
        let (kind, key) = self.failed[&(at, generation)].clone();
        let now = self.now;
        let nobody = ComponentRef {
            response: u32::MAX,
            position: 0,
        };
        if let Some(span) = kind.once
            && self.key_is_free(kind, &key, nobody, 0)
        {
            let until = span.map(|ms| now + i128::from(ms) * MS);
            self.keys.insert(
                (kind.to, key.clone()),
                Holder {
                    at,
                    generation,
                    until,
                    unresolved: false,
                },
            );
        }
        if let Some(source) = kind.writes {
            let entry = Unsettled {
                address: address(source, &key),
                at,
                generation,
                since: Some(now),
            };
            self.unsettled.push(entry);
        }
    }

    pub fn has_failed(&self, at: ComponentRef, generation: u32) -> bool {
        self.failed.contains_key(&(at, generation))
    }

    pub fn approve(&mut self, at: ComponentRef, by: &str) {
        let inst = self.instances.get_mut(&at).unwrap();
        inst.voices.insert(by.to_owned());
        let quorum = inst
            .kind
            .and_then(|kind| kind.approval)
            .map_or(0, |(_, quorum)| quorum);
        inst.complete = inst.voices.len() >= quorum;
    }

    /// The addresses that its checks and those of its ancestors read.
    pub fn footprint(&self, at: ComponentRef) -> BTreeSet<String> {
        let mut addresses = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut stack = vec![at];
        while let Some(at) = stack.pop() {
            let Some(inst) = self.instances.get(&at).filter(|_| seen.insert(at)) else {
                continue;
            };
            let own = inst.kind.into_iter().flat_map(Kind::footprint);
            addresses.extend(own.map(|source| address(source, &inst.key)));
            stack.extend(inst.parents.iter().map(|(position, _, _)| ComponentRef {
                response: at.response,
                position: *position,
            }));
        }
        addresses
    }

    /// These and everything that waits for them, directly or not.
    pub fn descendants(&self, mut set: BTreeSet<ComponentRef>) -> BTreeSet<ComponentRef> {
        loop {
            let waits = |(at, inst): &(&ComponentRef, &Inst)| {
                inst.parents.iter().any(|(position, _, _)| {
                    let response = at.response;
                    set.contains(&ComponentRef {
                        response,
                        position: *position,
                    })
                })
            };
            let more: Vec<ComponentRef> = self
                .instances
                .iter()
                .filter(|(at, _)| !set.contains(at))
                .filter(waits)
                .map(|(at, _)| *at)
                .collect();
            if more.is_empty() {
                return set;
            }
            set.extend(more);
        }
    }

    /// Whether what `of` does about its key or its writes can matter to `at`.
    pub fn is_related(&self, of: ComponentRef, at: ComponentRef) -> bool {
        let (from, to) = (&self.instances[&of], &self.instances[&at]);
        let (Some(from_kind), Some(to_kind)) = (from.kind, to.kind) else {
            return false;
        };
        let key = from_kind.once.is_some()
            && to_kind.once.is_some()
            && from_kind.to == to_kind.to
            && from.key == to.key;
        let writes = from_kind.writes.is_some_and(|source| {
            let written = address(source, &from.key);
            to_kind
                .footprint()
                .any(|source| address(source, &to.key) == written)
        });
        key || writes
    }
}
