//! Slots that nothing needs any more. Whoever names keys that no provider knows must not make memory grow.

use super::{Slot, SlotIx, State};
use std::hash::BuildHasher;

/// The source of a slot that is nobody's.
pub(super) const NOBODYS: u32 = u32::MAX;
/// So many slots are made before the first look for vacant ones.
const FEW: usize = 64;

/// When the next look is due, and what the last ones found. Part of what is saved: the numbers of slots must not depend on
/// whether a run was interrupted.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Vacant {
    /// In the order in which they became so.
    pub(super) slots: Vec<SlotIx>,
    /// With so many in use the next look pays.
    due: usize,
}

impl Default for Vacant {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            due: FEW,
        }
    }
}

impl Slot {
    /// Whether it would be made the same again.
    fn says_nothing(&self) -> bool {
        self.record.is_none()
            && !self.conflicted
            && self.unsettled.is_empty()
            && self.source != NOBODYS
    }
}

impl State {
    /// Whether looking for vacant slots pays: there are twice as many in use as after the last look.
    pub(crate) fn look_is_due(&self) -> bool {
        self.slots.len() - self.vacant.slots.len() >= self.vacant.due
    }

    /// How many slots there are, in use or not.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Takes the slots back that hold no record, tell nothing, and are not `held`, by slot, by anything that is kept.
    pub(crate) fn vacate(&mut self, held: &[bool]) {
        for number in 0..self.slots.len() {
            let is_held = held.get(number).copied().unwrap_or(true);
            let Some(slot) = self.slots.get_mut(number) else {
                continue;
            };
            if is_held || !slot.says_nothing() {
                continue;
            }
            let hash = self.hasher.hash_one((slot.source, slot.key.as_deref()));
            if let Ok(entry) = self.index.find_entry(hash, |ix| *ix as usize == number) {
                entry.remove();
            }
            *slot = Slot::new(NOBODYS, None);
            self.vacant.slots.push(number as SlotIx);
        }
        self.vacant.due = FEW.max(2 * (self.slots.len() - self.vacant.slots.len()));
    }
}
