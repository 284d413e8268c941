//! Critical sections: one action at a time in each lane of an adapter (P15, formats.md §8).

use super::Driver;
use crate::{
    fault,
    ports::plugs::Mode,
    runtime::{Reply, Unserved},
};
use halo_core::{Answer, ComponentRef, Phase};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// The gate's answer over HTTP: the protocol's, or that the lane is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateAnswer {
    /// P16.
    Protocol(Answer),
    /// An action of the lane is in doubt, and later ones wait.
    LaneInDoubt,
}

impl GateAnswer {
    /// The name over HTTP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Protocol(answer) => answer.name(),
            Self::LaneInDoubt => "lane_in_doubt",
        }
    }
}

/// Who waits for an answer.
pub(super) type AnswerTo = Reply<GateAnswer>;

/// An adapter's name, and the lane's within it.
type LaneKey = (String, String);

/// Somebody wants an action to leave.
struct Want {
    at: ComponentRef,
    answer: Option<AnswerTo>,
}

#[derive(Default)]
struct Lane {
    busy: Option<(ComponentRef, u32)>,
    in_doubt: BTreeSet<ComponentRef>,
    queue: VecDeque<Want>,
}

/// All lanes with anything in them.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: HashMap<LaneKey, Lane>,
    /// Which lane each instance is in that is on its way.
    inside: HashMap<(ComponentRef, u32), LaneKey>,
    /// Where each action in doubt is.
    doubted: HashMap<ComponentRef, LaneKey>,
}

impl Driver {
    /// Whether an action leaves as soon as it may.
    pub(super) fn leaves_by_itself(&self, at: ComponentRef) -> bool {
        let adapter = self.engine().view(at).and_then(|view| view.to);
        adapter
            .and_then(|adapter| self.plugs.adapters.get(adapter))
            .is_some_and(|plug| plug.mode == Mode::Auto)
    }

    /// How many actions are in doubt, by adapter.
    pub fn in_doubt(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for (adapter, _) in self.lanes.doubted.values() {
            *counts.entry(adapter.clone()).or_default() += 1;
        }
        counts
    }

    fn lane_of(&self, at: ComponentRef) -> Option<LaneKey> {
        let engine = self.engine();
        let view = engine.view(at)?;
        let adapter = view.to.filter(|_| view.is_action)?;
        let lane = self.plugs.adapters.get(adapter)?.lane.as_ref();
        let digest = view.digest.map(|digest| digest.to_string());
        let component = halo_cel::Component {
            id: view.id,
            kind: view.type_name,
            digest: digest.as_deref().unwrap_or(""),
            response: engine.response_id(at.response).unwrap_or(""),
        };
        // Actions whose lane can't be told share one.
        let name = lane
            .zip(view.payload)
            .and_then(|(lane, payload)| lane.lane_of(payload, component).ok());
        Some((adapter.to_owned(), name.unwrap_or_default()))
    }

    /// Puts an action in the queue of its lane.
    pub(crate) fn ask_for(&mut self, at: ComponentRef, answer: Option<AnswerTo>) {
        let Some(key) = self.lane_of(at) else {
            let none = GateAnswer::Protocol(Answer::NoSuchInstance);
            return self.answer(answer, none);
        };
        let lane = self.lanes.lanes.entry(key.clone()).or_default();
        lane.queue.push_back(Want { at, answer });
        self.step_lane(&key);
    }

    /// Lets the next one in, where the lane is free.
    fn step_lane(&mut self, key: &LaneKey) {
        loop {
            let holds = self
                .plugs
                .adapters
                .get(&key.0)
                .is_none_or(|plug| plug.hold_in_doubt);
            let Some(lane) = self.lanes.lanes.get_mut(key) else {
                return;
            };
            if lane.busy.is_some() || self.halted.is_some() || self.stopping {
                return;
            }
            if holds && !lane.in_doubt.is_empty() {
                return self.hold_lane(key);
            }
            let Some(want) = lane.queue.pop_front() else {
                if lane.in_doubt.is_empty() {
                    self.lanes.lanes.remove(key);
                }
                return;
            };
            self.enter(key, want);
        }
    }

    /// The lane is held: those who wait for an answer get one, the others wait on.
    fn hold_lane(&mut self, key: &LaneKey) {
        let Some(lane) = self.lanes.lanes.get_mut(key) else {
            return;
        };
        let mut answers = Vec::new();
        lane.queue.retain_mut(|want| match want.answer.take() {
            None => true,
            Some(answer) => {
                answers.push(answer);
                false
            }
        });
        for answer in answers {
            self.answer(Some(answer), GateAnswer::LaneInDoubt);
        }
    }

    fn enter(&mut self, key: &LaneKey, want: Want) {
        fault::point("arm.before");
        let (answer, generation) = self.arm(want.at);
        fault::point("arm.after");
        if answer != Answer::Authorized {
            return self.answer(want.answer, GateAnswer::Protocol(answer));
        }
        if let Some(lane) = self.lanes.lanes.get_mut(key) {
            lane.busy = Some((want.at, generation));
            let inside = (want.at, generation);
            self.lanes.inside.insert(inside, key.clone());
        }
        self.under_way += 1;
        let at = want.at;
        self.after(move |driver, durable| match durable {
            Ok(()) => {
                fault::point("arm.durable");
                driver.approach(at, generation, want.answer);
            }
            Err(error) => driver.give_up(want.answer, error),
        });
    }

    /// An action is out of its lane's section.
    pub(super) fn leave_lane(&mut self, at: ComponentRef, generation: u32, in_doubt: bool) {
        // The answer to a call of before a rebuild may come after it was settled.
        let view = self.engine().view(at);
        let is_in_doubt = view.is_some_and(|view| view.phase == Phase::InDoubt);
        // A rebuild in between has emptied the lanes.
        let inside = self.lanes.inside.remove(&(at, generation));
        let Some(key) = inside.or_else(|| self.lane_of(at)) else {
            return;
        };
        let Some(lane) = self.lanes.lanes.get_mut(&key) else {
            return;
        };
        if lane.busy == Some((at, generation)) {
            lane.busy = None;
        }
        if in_doubt && is_in_doubt {
            lane.in_doubt.insert(at);
            self.lanes.doubted.insert(at, key.clone());
        }
        self.step_lane(&key);
    }

    /// It is known what became of an action in doubt.
    pub(super) fn lane_resolved(&mut self, at: ComponentRef) {
        let Some(key) = self.lanes.doubted.remove(&at) else {
            return;
        };
        if let Some(lane) = self.lanes.lanes.get_mut(&key) {
            lane.in_doubt.remove(&at);
        }
        self.step_lane(&key);
    }

    /// After a start: an action is in doubt.
    pub(super) fn note_in_doubt(&mut self, at: ComponentRef) {
        if let Some(key) = self.lane_of(at) {
            let lane = self.lanes.lanes.entry(key.clone()).or_default();
            lane.in_doubt.insert(at);
            self.lanes.doubted.insert(at, key);
        }
    }

    /// Answers once what was decided is durable.
    pub(super) fn answer(&mut self, to: Option<AnswerTo>, answer: GateAnswer) {
        if let Some(to) = to {
            to.when_durable(self, answer);
        }
    }

    /// An armed action whose last look does not come: the store failed.
    pub(super) fn give_up(&mut self, answer: Option<AnswerTo>, error: halo_journal::StoreError) {
        self.under_way = self.under_way.saturating_sub(1);
        fail(answer, error);
    }

    /// Everyone in a queue is told that nothing can be decided; the lanes are empty afterwards.
    pub(super) fn clear_lanes(&mut self, error: &halo_journal::StoreError) {
        let lanes = std::mem::take(&mut self.lanes);
        for want in lanes.lanes.into_values().flat_map(|lane| lane.queue) {
            fail(want.answer, error.clone());
        }
    }
}

fn fail(answer: Option<AnswerTo>, error: halo_journal::StoreError) {
    if let Some(answer) = answer {
        answer.fail(Unserved::Store(error));
    }
}
