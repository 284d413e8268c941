//! The state as it is saved. Its index is made anew.

use super::{
    BoundValue, NO_SLOT, Slot, SlotIx, State, StoredRecord, Unsettled,
    vacant::{NOBODYS, Vacant},
};
use crate::{
    phase::ComponentRef,
    shelf::{Documents, Place, Shelf},
    since::{Moment, Since},
};
use foldhash::quality::SeedableRandomState;
use halo_canon::Instant;
use serde::{Deserialize, Serialize};

/// [`State`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedState {
    sources: Vec<Box<str>>,
    slots: Vec<SavedSlot>,
    vacant: Vacant,
    #[serde(default)]
    changes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedSlot {
    source: u32,
    key: Option<Box<str>>,
    record: Option<SavedRecord>,
    conflicted: bool,
    readers: Vec<(u32, u32)>,
    ended_readers: u32,
    awaited_by: Vec<u32>,
    unsettled: Vec<Unsettled>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedRecord {
    epoch: u64,
    observed_at: Instant,
    accepted_at: Instant,
    provenance: Box<str>,
    value: Place,
    since: Since,
}

/// [`BoundValue`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum SavedBound {
    Absent,
    Unbound,
    Epoch(u64),
    Provenance(Box<str>),
    Value(Place, Moment),
}

impl BoundValue {
    pub(crate) fn save(&self, shelf: &mut Shelf) -> SavedBound {
        match self {
            Self::Absent => SavedBound::Absent,
            Self::Unbound => SavedBound::Unbound,
            Self::Epoch(epoch) => SavedBound::Epoch(*epoch),
            Self::Provenance(text) => SavedBound::Provenance((**text).into()),
            Self::Value(document, node, moment) => {
                SavedBound::Value(shelf.place(document, *node), *moment)
            }
        }
    }

    pub(crate) fn restore(saved: SavedBound, documents: &Documents) -> Option<Self> {
        Some(match saved {
            SavedBound::Absent => Self::Absent,
            SavedBound::Unbound => Self::Unbound,
            SavedBound::Epoch(epoch) => Self::Epoch(epoch),
            SavedBound::Provenance(text) => Self::Provenance(text.into()),
            SavedBound::Value(place, moment) => {
                let (document, node) = documents.at(place)?;
                Self::Value(document.clone(), node, moment)
            }
        })
    }
}

impl StoredRecord {
    fn save(&self, shelf: &mut Shelf) -> SavedRecord {
        SavedRecord {
            epoch: self.epoch,
            observed_at: self.observed_at,
            accepted_at: self.accepted_at,
            provenance: (*self.provenance).into(),
            value: shelf.place(&self.document, self.value),
            since: self.since.clone(),
        }
    }

    fn restore(saved: SavedRecord, documents: &Documents) -> Option<Self> {
        let (document, value) = documents.at(saved.value)?;
        Some(Self {
            epoch: saved.epoch,
            observed_at: saved.observed_at,
            accepted_at: saved.accepted_at,
            provenance: saved.provenance.into(),
            document: document.clone(),
            value,
            since: saved.since,
        })
    }
}

impl Slot {
    fn save(&self, shelf: &mut Shelf) -> SavedSlot {
        let readers = self.readers.iter();
        SavedSlot {
            source: self.source,
            key: self.key.clone(),
            record: self.record.as_ref().map(|record| record.save(shelf)),
            conflicted: self.conflicted,
            readers: readers.map(|at| (at.response, at.position)).collect(),
            ended_readers: self.ended_readers,
            awaited_by: self.awaited_by.clone(),
            unsettled: self.unsettled.clone(),
        }
    }

    fn restore(saved: SavedSlot, documents: &Documents) -> Option<Self> {
        let record = match saved.record {
            None => None,
            Some(record) => Some(StoredRecord::restore(record, documents)?),
        };
        let readers = saved.readers.into_iter();
        let readers = readers.map(|(response, position)| ComponentRef { response, position });
        Some(Self {
            source: saved.source,
            key: saved.key,
            record,
            conflicted: saved.conflicted,
            readers: readers.collect(),
            ended_readers: saved.ended_readers,
            awaited_by: saved.awaited_by,
            unsettled: saved.unsettled,
        })
    }
}

impl State {
    pub(crate) fn save(&self, shelf: &mut Shelf) -> SavedState {
        SavedState {
            sources: self.sources.clone(),
            slots: self.slots.iter().map(|slot| slot.save(shelf)).collect(),
            vacant: self.vacant.clone(),
            changes: self.changes,
        }
    }

    /// Nothing where it does not hang together.
    pub(crate) fn restore(
        saved: SavedState,
        documents: &Documents,
        hasher: SeedableRandomState,
    ) -> Option<Self> {
        let mut state = Self::new(hasher);
        state.sources = saved.sources;
        state.changes = saved.changes;
        for (number, saved) in saved.slots.into_iter().enumerate() {
            let slot = Slot::restore(saved, documents)?;
            if slot.source == NOBODYS {
                state.slots.push(slot);
                continue;
            }
            let known = (slot.source as usize) < state.sources.len();
            // A record has one place.
            if !known || state.slot(slot.source, slot.key.as_deref()) as usize != number {
                return None;
            }
            *state.slots.get_mut(number)? = slot;
        }
        // Exactly the vacant ones, each once.
        let mut vacant = saved.vacant.slots.clone();
        vacant.sort_unstable();
        let slots = (0..).zip(&state.slots);
        let nobodys = slots.filter(|(_, slot)| slot.source == NOBODYS);
        if !nobodys.map(|(ix, _)| ix).eq(vacant) {
            return None;
        }
        state.vacant = saved.vacant;
        Some(state)
    }

    /// Whether a slot may stand in an instance's list.
    pub(crate) fn has_slot(&self, ix: SlotIx) -> bool {
        let slot = self.slots.get(ix as usize);
        ix == NO_SLOT || slot.is_some_and(|slot| slot.source != NOBODYS)
    }
}
