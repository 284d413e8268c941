//! Phases of an instance and their order `⪰` (P11).

use halo_catalog::Milestone;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A component of a response, by the order of submission and the position in the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ComponentRef {
    /// The response, counted from 0 in order of submission.
    pub response: u32,
    /// The position in it, from 0.
    pub position: u32,
}

/// A set of components in order of (response, position): 64 neighbours in one number. What a response brings is entered
/// in its order, so the last number is nearly always the one.
#[derive(Debug, Default)]
pub(crate) struct OrderedRefs(BTreeMap<(u32, u32), u64>);

impl OrderedRefs {
    pub(crate) fn insert(&mut self, at: ComponentRef) {
        let (key, bit) = Self::place(at);
        match self.0.last_entry() {
            Some(mut last) if *last.key() == key => *last.get_mut() |= bit,
            _ => *self.0.entry(key).or_default() |= bit,
        }
    }

    pub(crate) fn remove(&mut self, at: ComponentRef) {
        let (key, bit) = Self::place(at);
        if let Some(bits) = self.0.get_mut(&key) {
            *bits &= !bit;
            if *bits == 0 {
                self.0.remove(&key);
            }
        }
    }

    pub(crate) fn first(&self) -> Option<ComponentRef> {
        let ((response, group), bits) = self.0.first_key_value()?;
        Some(ComponentRef {
            response: *response,
            position: group * u64::BITS + bits.trailing_zeros(),
        })
    }

    fn place(at: ComponentRef) -> ((u32, u32), u64) {
        let (group, bit) = (at.position / u64::BITS, at.position % u64::BITS);
        ((at.response, group), 1 << bit)
    }
}

/// Where an instance stands (P11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Being admitted; never seen between two inputs.
    Proposed,
    /// In `A*` and ready: it may leave.
    Retained,
    /// In `A*`, waiting for a prerequisite, an approval or an unsettled record.
    Pending,
    /// Ended by its own check, or not in `A*` at admission.
    Withheld,
    /// Ended because an ancestor was lost.
    Invalidated,
    /// A non-action that left.
    Emitted,
    /// An action that its adapter accepted.
    Dispatched,
    /// An action whose effect was seen.
    Observed,
    /// An action that was refused or proved not to have happened.
    Failed,
    /// It left, and nobody knows with what outcome (P17).
    InDoubt,
}

impl Phase {
    /// Retained or pending: in `A*`, not left.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Retained | Self::Pending)
    }

    /// Left, and not failed: its current support still counts for those that wait for it (P9).
    pub fn has_left(self) -> bool {
        matches!(
            self,
            Self::Emitted | Self::Dispatched | Self::Observed | Self::InDoubt
        )
    }

    /// Withheld, invalidated or failed: only a later generation can leave (I4).
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Withheld | Self::Invalidated | Self::Failed)
    }

    /// `self ⪰ milestone`.
    pub fn reaches(self, milestone: Milestone) -> bool {
        let rank = match self {
            Self::Proposed | Self::Withheld | Self::Invalidated | Self::Failed => 0,
            Self::Retained | Self::Pending | Self::InDoubt => 1,
            Self::Emitted | Self::Dispatched => 2,
            Self::Observed => 3,
        };
        rank >= milestone_rank(milestone)
    }

    /// Whether an instance in this phase may come into `next` (P11, P12, P17).
    pub fn may_become(self, next: Self) -> bool {
        use Phase::{
            Dispatched, Emitted, Failed, InDoubt, Invalidated, Observed, Pending, Proposed,
            Retained, Withheld,
        };
        match self {
            Proposed => matches!(next, Retained | Pending | Withheld),
            Retained => matches!(
                next,
                Pending | Withheld | Invalidated | Emitted | Dispatched | Failed | InDoubt
            ),
            Pending => matches!(next, Retained | Withheld | Invalidated),
            InDoubt => matches!(next, Observed | Failed),
            Dispatched => matches!(next, Observed | Failed),
            Withheld | Invalidated | Emitted | Observed | Failed => false,
        }
    }

    /// The name used in files and over HTTP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Retained => "retained",
            Self::Pending => "pending",
            Self::Withheld => "withheld",
            Self::Invalidated => "invalidated",
            Self::Emitted => "emitted",
            Self::Dispatched => "dispatched",
            Self::Observed => "observed",
            Self::Failed => "failed",
            Self::InDoubt => "in_doubt",
        }
    }
}

/// Rank of a milestone in `⪰`; `emitted` and `dispatched` are equal.
pub(crate) fn milestone_rank(milestone: Milestone) -> u8 {
    match milestone {
        Milestone::Retained => 1,
        Milestone::Emitted | Milestone::Dispatched => 2,
        Milestone::Observed => 3,
    }
}

/// The name used in responses.
pub(crate) fn milestone_name(milestone: Milestone) -> &'static str {
    match milestone {
        Milestone::Retained => "retained",
        Milestone::Emitted => "emitted",
        Milestone::Dispatched => "dispatched",
        Milestone::Observed => "observed",
    }
}

/// The milestone of that name.
#[inline(always)]
pub(crate) fn milestone_of(name: &[u8]) -> Option<Milestone> {
    // Whole names: a `match` would be compiled to a comparison byte by byte.
    let all = [
        (b"retained".as_slice(), Milestone::Retained),
        (b"emitted", Milestone::Emitted),
        (b"dispatched", Milestone::Dispatched),
        (b"observed", Milestone::Observed),
    ];
    let found = all.into_iter().find(|(known, _)| *known == name)?;
    Some(found.1)
}

#[cfg(test)]
mod tests {
    use super::{ComponentRef, OrderedRefs};

    #[test]
    fn the_first_of_a_set_of_components() {
        let at = |(response, position)| ComponentRef { response, position };
        let all = [(0, 3), (0, 63), (0, 64), (0, u32::MAX), (1, 0), (7, 130)];
        let mut set = OrderedRefs::default();
        for number in [4, 1, 5, 0, 3, 2, 2] {
            set.insert(at(all[number]));
        }
        set.remove(at((0, 4)));
        set.remove(at((9, 9)));
        for expected in all {
            assert_eq!(set.first(), Some(at(expected)));
            set.remove(at(expected));
        }
        assert_eq!(set.first(), None);
    }
}
