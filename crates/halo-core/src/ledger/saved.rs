//! The ledger as it is saved.

use super::{AdapterLedger, Holder, Ledger};
use crate::phase::ComponentRef;
use foldhash::quality::SeedableRandomState;
use serde::{Deserialize, Serialize};

/// [`Ledger`], its tables in order of adapter and key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedLedger {
    adapters: Vec<AdapterLedger>,
    once: Vec<(u32, Box<str>, Holder)>,
    waiting: Vec<(u32, Box<str>, Vec<ComponentRef>)>,
}

impl Ledger {
    pub(crate) fn save(&self) -> SavedLedger {
        let once = self.once.iter();
        let mut once: Vec<_> = once
            .map(|((adapter, key), holder)| (*adapter, key.clone(), *holder))
            .collect();
        once.sort_unstable_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let waiting = self.waiting.iter();
        let mut waiting: Vec<_> = waiting
            .map(|((adapter, key), readers)| (*adapter, key.clone(), readers.clone()))
            .collect();
        waiting.sort_unstable_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        SavedLedger {
            adapters: self.adapters.clone(),
            once,
            waiting,
        }
    }

    /// Nothing where a number is none that could have been used.
    pub(crate) fn restore(saved: SavedLedger, hasher: SeedableRandomState) -> Option<Self> {
        let sound = |adapter: &AdapterLedger| {
            adapter.highest <= u64::MAX / 2
                && adapter
                    .gaps
                    .iter()
                    .all(|(first, last)| first <= last && *last < adapter.highest)
        };
        if !saved.adapters.iter().all(sound) {
            return None;
        }
        let mut ledger = Self::new(hasher);
        ledger.adapters = saved.adapters;
        for (adapter, key, holder) in saved.once {
            ledger.once.insert((adapter, key), holder);
        }
        for (adapter, key, readers) in saved.waiting {
            ledger.waiting.insert((adapter, key), readers);
        }
        Some(ledger)
    }
}
