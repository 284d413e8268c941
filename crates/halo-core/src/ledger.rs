//! What must never happen twice: sequence numbers (P14) and `once` keys (P27).

mod saved;

pub(crate) use saved::SavedLedger;

use crate::phase::ComponentRef;
use foldhash::quality::SeedableRandomState;
use halo_canon::{Duration, Instant};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// How far above the highest used number a given one may lie (P2).
const SEQUENCE_LEAD: u64 = 1024;

/// The numbers of one adapter.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AdapterLedger {
    name: Box<str>,
    highest: u64,
    /// Unused numbers below the highest: first → last of each gap.
    gaps: BTreeMap<u64, u64>,
}

/// Who holds a `once` key.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Holder {
    pub(crate) component: ComponentRef,
    pub(crate) generation: u32,
    /// When it is free again; nothing: when its action fails.
    until: Option<Instant>,
    /// Whether the action is under way or in doubt: then time does not free it.
    pub(crate) unresolved: bool,
}

/// The ledger of all adapters.
#[derive(Debug)]
pub(crate) struct Ledger {
    adapters: Vec<AdapterLedger>,
    once: HashMap<(u32, Box<str>), Holder, SeedableRandomState>,
    /// Who is watched with which key, so that a key's taking reaches them (P10).
    waiting: HashMap<(u32, Box<str>), Vec<ComponentRef>, SeedableRandomState>,
    /// With so many keys it pays to look for those whose time has passed.
    look_at: usize,
}

/// So many keys are taken before the first look for past ones.
const FEW: usize = 64;

impl Ledger {
    pub(crate) fn new(hasher: SeedableRandomState) -> Self {
        Self {
            adapters: Vec::new(),
            once: HashMap::with_hasher(hasher.clone()),
            waiting: HashMap::with_hasher(hasher),
            look_at: FEW,
        }
    }

    /// The number of the adapter of that name, over all catalogs.
    pub(crate) fn adapter(&mut self, name: &str) -> u32 {
        if let Some(known) = self.adapters.iter().position(|known| *known.name == *name) {
            return known as u32;
        }
        self.adapters.push(AdapterLedger {
            name: name.into(),
            highest: 0,
            gaps: BTreeMap::new(),
        });
        (self.adapters.len() - 1) as u32
    }

    pub(crate) fn adapter_name(&self, adapter: u32) -> &str {
        self.adapters
            .get(adapter as usize)
            .map_or("", |adapter| &adapter.name)
    }

    /// Whether a given number may be used now (P2).
    pub(crate) fn may_give(&self, adapter: u32, sequence: u64) -> bool {
        self.adapters.get(adapter as usize).is_some_and(|ledger| {
            !ledger.is_used(sequence) && sequence <= ledger.highest.saturating_add(SEQUENCE_LEAD)
        })
    }

    pub(crate) fn is_used(&self, adapter: u32, sequence: u64) -> bool {
        self.adapters
            .get(adapter as usize)
            .is_some_and(|ledger| ledger.is_used(sequence))
    }

    /// Uses up a given number.
    pub(crate) fn take(&mut self, adapter: u32, sequence: u64) {
        if let Some(ledger) = self.adapters.get_mut(adapter as usize) {
            ledger.take(sequence);
        }
    }

    /// Uses up the next number: one more than the highest used.
    pub(crate) fn next(&mut self, adapter: u32) -> u64 {
        let Some(ledger) = self.adapters.get_mut(adapter as usize) else {
            return 0;
        };
        ledger.highest += 1;
        ledger.highest
    }

    /// Who holds a key, in the eyes of anybody else, at `now`; equality with its time is past.
    pub(crate) fn holder(&self, adapter: u32, key: &str, now: Instant) -> Option<Holder> {
        // A borrowed pair cannot look up an owned one; keys are short and this runs only for types with `once`.
        let holder = self.once.get(&(adapter, Box::from(key)))?;
        let past = !holder.unresolved && holder.until.is_some_and(|until| now >= until);
        (!past).then_some(*holder)
    }

    /// Takes a key with the token, when its action leaves.
    pub(crate) fn hold(
        &mut self,
        adapter: u32,
        key: &str,
        holder: (ComponentRef, u32),
        hold: Hold,
    ) {
        let (component, generation) = holder;
        let until = hold.for_.map(|span| hold.from.plus(span));
        let entry = Holder {
            component,
            generation,
            until,
            unresolved: hold.unresolved,
        };
        self.once.insert((adapter, key.into()), entry);
    }

    /// The action of this holder is known to have happened, or to be in doubt again.
    pub(crate) fn resolve(
        &mut self,
        adapter: u32,
        key: &str,
        holder: (ComponentRef, u32),
        unresolved: bool,
    ) {
        if let Some(entry) = self.once.get_mut(&(adapter, Box::from(key)))
            && (entry.component, entry.generation) == holder
        {
            entry.unresolved = unresolved;
        }
    }

    /// Frees a key whose action failed or was not sent.
    pub(crate) fn free(&mut self, adapter: u32, key: &str, holder: (ComponentRef, u32)) {
        let key = (adapter, Box::from(key));
        if self
            .once
            .get(&key)
            .is_some_and(|entry| (entry.component, entry.generation) == holder)
        {
            self.once.remove(&key);
        }
    }

    /// Drops keys that time has freed and whose action can't come to be in doubt again: its response is not `kept`.
    /// Nothing is decided otherwise than with them. Looks when there are twice as many keys as after the last look.
    pub(crate) fn drop_past(&mut self, now: Instant, kept: impl Fn(u32) -> bool) {
        if self.once.len() < self.look_at {
            return;
        }
        self.once.retain(|_, holder| {
            let past = holder.until.is_some_and(|until| now >= until);
            holder.unresolved || !past || kept(holder.component.response)
        });
        self.look_at = FEW.max(2 * self.once.len());
    }

    /// `reader` is not supported any more once somebody else takes the key.
    pub(crate) fn watch_key(&mut self, adapter: u32, key: &str, reader: ComponentRef) {
        self.waiting
            .entry((adapter, key.into()))
            .or_default()
            .push(reader);
    }

    /// `reader` is not watched with that key any more.
    pub(crate) fn unwatch_key(&mut self, adapter: u32, key: &str, reader: ComponentRef) {
        let key = (adapter, Box::from(key));
        if let Some(readers) = self.waiting.get_mut(&key) {
            readers.retain(|other| *other != reader);
            if readers.is_empty() {
                self.waiting.remove(&key);
            }
        }
    }

    /// Those watched with a key, each once; the list starts anew.
    pub(crate) fn watchers(&mut self, adapter: u32, key: &str) -> Vec<ComponentRef> {
        self.waiting
            .remove(&(adapter, Box::from(key)))
            .unwrap_or_default()
    }
}

/// For how long a key is taken.
pub(crate) struct Hold {
    pub(crate) from: Instant,
    pub(crate) for_: Option<Duration>,
    pub(crate) unresolved: bool,
}

impl AdapterLedger {
    fn is_used(&self, sequence: u64) -> bool {
        if sequence == 0 || sequence > self.highest {
            return sequence == 0;
        }
        let gap = self.gaps.range(..=sequence).next_back();
        gap.is_none_or(|(_, last)| sequence > *last)
    }

    fn take(&mut self, sequence: u64) {
        if sequence > self.highest {
            if sequence > self.highest + 1 {
                self.gaps.insert(self.highest + 1, sequence - 1);
            }
            self.highest = sequence;
            return;
        }
        let Some((first, last)) = self
            .gaps
            .range(..=sequence)
            .next_back()
            .map(|(first, last)| (*first, *last))
        else {
            return;
        };
        if sequence > last {
            return;
        }
        self.gaps.remove(&first);
        if first < sequence {
            self.gaps.insert(first, sequence - 1);
        }
        if sequence < last {
            self.gaps.insert(sequence + 1, last);
        }
    }
}
