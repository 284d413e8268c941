//! When the vehicle was in which navigation state.

/// Most changes that are kept: more than one a second for half a day.
const MOST: usize = 65_536;

/// Where a time lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the first state that is known.
    Before,
    /// In this navigation state.
    In(u8),
    /// After the newest status; as far as is known, still in this state, if there was a status at all.
    After(Option<u8>),
}

/// What the statuses so far say. A later status never changes what is known of a time up to the newest one: what a
/// cut log shows, the whole one shows too.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// From when on (µs since boot), in order, and which.
    changes: Vec<(u64, u8)>,
    /// The time of the newest status.
    newest: Option<u64>,
}

/// More changes than can be kept.
#[derive(Debug)]
pub(crate) struct TooMany;

impl Timeline {
    /// Takes a status of time `at`, not before the newest one. `since` is when it says that its state began.
    pub(crate) fn note(&mut self, at: u64, state: u8, since: u64) -> Result<(), TooMany> {
        let before = self.changes.last().map(|(_, state)| *state);
        if before != Some(state) {
            if self.changes.len() >= MOST {
                return Err(TooMany);
            }
            // The status may come later than the change. What it says of times already known is not believed.
            let believed = since <= at && self.newest.map_or(since > 0, |newest| since > newest);
            self.changes
                .push((if believed { since } else { at }, state));
        }
        self.newest = Some(at);
        Ok(())
    }

    /// The state at a time.
    pub(crate) fn at(&self, time: u64) -> Place {
        if self.newest.is_none_or(|newest| time > newest) {
            return Place::After(self.changes.last().map(|(_, state)| *state));
        }
        let index = self.changes.partition_point(|(from, _)| *from <= time);
        let change = index
            .checked_sub(1)
            .and_then(|index| self.changes.get(index));
        change.map_or(Place::Before, |(_, state)| Place::In(*state))
    }

    /// When it was in `state`: from, and to, where it left it.
    pub(crate) fn intervals(&self, state: u8) -> Vec<(u64, Option<u64>)> {
        let ends = self.changes.iter().skip(1).map(|(from, _)| Some(*from));
        self.changes
            .iter()
            .zip(ends.chain([None]))
            .filter(|((_, which), _)| *which == state)
            .map(|((from, _), to)| (*from, to))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_change_counts_from_when_it_began() {
        let mut timeline = Timeline::default();
        assert_eq!(timeline.at(5), Place::After(None));
        timeline.note(10, 4, 7).unwrap();
        timeline.note(20, 14, 17).unwrap();
        timeline.note(30, 5, 24).unwrap();
        assert_eq!(timeline.at(6), Place::Before);
        assert_eq!(timeline.at(16), Place::In(4));
        assert_eq!(timeline.at(17), Place::In(14));
        assert_eq!(timeline.at(23), Place::In(14));
        assert_eq!(timeline.at(24), Place::In(5));
        assert_eq!(timeline.at(31), Place::After(Some(5)));
        assert_eq!(timeline.intervals(14), [(17, Some(24))]);
    }

    #[test]
    fn what_was_known_stays() {
        let mut timeline = Timeline::default();
        timeline.note(10, 4, 0).unwrap();
        timeline.note(20, 14, 3).unwrap();
        assert_eq!(timeline.at(10), Place::In(4));
        assert_eq!(timeline.at(19), Place::In(4));
        assert_eq!(timeline.at(20), Place::In(14));
    }
}
