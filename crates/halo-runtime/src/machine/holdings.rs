//! How much each owner has: limits look at it before every submission.

use halo_core::{Engine, ObligationId, ObligationState};
use std::{collections::HashMap, hash::Hash};

/// What is live and open, and how much of it each owner has.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    live: Held<u32>,
    open: Held<ObligationId>,
}

#[derive(Debug)]
struct Held<K> {
    things: HashMap<K, Box<str>>,
    counts: HashMap<Box<str>, u64>,
}

impl<K> Default for Held<K> {
    fn default() -> Self {
        Self {
            things: HashMap::new(),
            counts: HashMap::new(),
        }
    }
}

impl Holdings {
    /// What an engine holds.
    pub(super) fn of(engine: &Engine) -> Self {
        let mut holdings = Self::default();
        for response in engine.responses() {
            holdings.note_response(engine, response.number);
        }
        for view in engine.obligations() {
            holdings.note_obligation(engine, view.id, view.state);
        }
        holdings
    }

    /// Counts a response as live, or not any more.
    pub(super) fn note_response(&mut self, engine: &Engine, number: u32) {
        let lives = engine.is_live(number);
        if lives != self.live.things.contains_key(&number)
            && let Some(response) = engine.response_name(number)
        {
            self.live.set(number, response.owner, lives);
        }
    }

    /// Counts an obligation as open, or not any more.
    pub(super) fn note_obligation(
        &mut self,
        engine: &Engine,
        id: ObligationId,
        state: ObligationState,
    ) {
        if let Some(view) = engine.obligation(id) {
            self.open.set(id, view.owner.into(), state.is_open());
        }
    }

    /// How many responses with something live, and how many open obligations, an owner has.
    pub(super) fn of_owner(&self, owner: &str) -> (u64, u64) {
        (self.live.of(owner), self.open.of(owner))
    }

    /// How many responses have something live, and how many obligations are open.
    pub(super) fn all(&self) -> (usize, usize) {
        (self.live.things.len(), self.open.things.len())
    }
}

impl<K: Eq + Hash> Held<K> {
    fn of(&self, owner: &str) -> u64 {
        self.counts.get(owner).copied().unwrap_or(0)
    }

    /// Enters or removes one thing of an owner, and keeps the owner's count in step.
    fn set(&mut self, key: K, owner: Box<str>, there: bool) {
        if there == self.things.contains_key(&key) {
            return;
        }
        if there {
            *self.counts.entry(owner.clone()).or_default() += 1;
            self.things.insert(key, owner);
            return;
        }
        self.things.remove(&key);
        if let Some(count) = self.counts.get_mut(&owner) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.counts.remove(&owner);
            }
        }
    }
}
