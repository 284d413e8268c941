//! What is over is dropped when the driver says so. Its numbers, its keys and its name stay taken.

use super::Engine;
use crate::{
    component::{Component, UnderWay},
    effect::Record,
    forgotten::Trace,
    obligation::Obligation,
    phase::{ComponentRef, Phase},
    response::{NameRef, Response},
    state::SlotIx,
};
use std::hash::BuildHasher;

impl Engine {
    /// Whether nothing of a response can move by itself any more: no instance live, under way or in doubt, and no
    /// obligation open. One that is not there is not closed.
    pub fn is_closed(&self, number: u32) -> bool {
        let Some(response) = self.responses.get(number) else {
            return false;
        };
        let over = |component: &Component| {
            component.under_way == UnderWay::Idle
                && !component.phase.is_live()
                && !matches!(component.phase, Phase::InDoubt | Phase::Proposed)
        };
        let open = |id: &u32| {
            let obligation = self.obligations.get(*id);
            obligation.is_some_and(|obligation| obligation.state.is_open())
        };
        response.components.iter().all(over) && !response.obligations.iter().any(open)
    }

    /// The number of a response that was dropped, by its name.
    pub fn forgotten<'n>(&self, name: impl Into<NameRef<'n>>) -> Option<u32> {
        self.forgotten.find(name.into()).map(|trace| trace.number)
    }

    /// Whether a response of that name was ever accepted.
    pub(super) fn is_known(&self, name: NameRef<'_>) -> bool {
        self.find_response(name).is_some() || self.forgotten.find(name).is_some()
    }

    /// Drops those of these responses that are closed; the others stay as they are.
    pub(super) fn forget(&mut self, responses: &[u32]) {
        for number in responses {
            if self.is_closed(*number) {
                self.forget_one(*number);
            }
        }
        let responses = &self.responses;
        let kept = |number| responses.get(number).is_some();
        self.ledger.drop_past(self.now, kept);
        if self.state.look_is_due() {
            let held = self.held_slots();
            self.state.vacate(&held);
        }
    }

    /// By state slot, whether anything that is kept names it.
    fn held_slots(&self) -> Vec<bool> {
        let mut held = vec![false; self.state.slot_count()];
        let mut hold = |slots: &[SlotIx]| {
            for slot in slots {
                if let Some(held) = held.get_mut(*slot as usize) {
                    *held = true;
                }
            }
        };
        for (_, response) in self.responses.iter() {
            for component in &response.components {
                hold(&component.slots);
                for past in &component.past_actions {
                    hold(&past.writes);
                }
            }
        }
        for (_, obligation) in self.obligations.iter() {
            hold(&obligation.slots);
            for (slot, _) in &obligation.refresh {
                hold(&[*slot]);
            }
        }
        held
    }

    fn forget_one(&mut self, number: u32) {
        self.unwatch_all(number);
        let Some(response) = self.responses.get(number) else {
            return;
        };
        let hash = self.hasher.hash_one(&*response.id);
        if let Ok(entry) = self.response_index.find_entry(hash, |ix| *ix == number) {
            entry.remove();
        }
        let Some(response) = self.responses.forget(number) else {
            return;
        };
        let trace = Trace::of(response.name(), response.document.root(), number);
        self.forgotten.insert(trace);
        for id in &response.obligations {
            let _: Option<Obligation> = self.obligations.forget(*id);
        }
        let Response { owner, id, .. } = response;
        self.record(Record::Forgotten {
            response: number,
            owner,
            id,
        });
    }

    /// Takes its instances off every list. Those that left may still be watched for dependents that are gone.
    fn unwatch_all(&mut self, number: u32) {
        let count = self
            .responses
            .get(number)
            .map_or(0, |response| response.components.len());
        for position in 0..count as u32 {
            let at = ComponentRef {
                response: number,
                position,
            };
            if self.component(at).is_some_and(|found| found.monitored) {
                self.stop_monitoring(at);
            }
            self.unwatch_keys(at);
        }
    }

    /// Its entries among those that wait for `once` keys, its own and those of its earlier generations.
    pub(super) fn unwatch_keys(&mut self, at: ComponentRef) {
        let Some(instance) = self.instance(at) else {
            return;
        };
        let past = instance.component.past_actions.iter();
        let mut keys: Vec<(u32, Box<str>)> = past
            .filter_map(|past| Some((past.adapter, past.once_key.clone()?)))
            .collect();
        keys.extend(instance.adapter.zip(instance.component.once_key.clone()));
        for (adapter, key) in keys {
            self.ledger.unwatch_key(adapter, &key, at);
        }
    }
}
