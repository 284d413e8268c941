//! Whether a chain is what it was.

use crate::{Record, Tip};
use halo_canon::Digest;

/// How far around a place its record is looked for, once it is known not to stand there.
const SEARCHED: u64 = 1_000;

/// Takes the records of a chain in order and names the first fault.
///
/// A chain that was cut off at its end, or written anew from some record on, is a chain: compare [`Verifier::tip`] with
/// one that was noted elsewhere.
#[derive(Debug, Clone)]
pub struct Verifier {
    tip: Tip,
}

/// What is wrong with a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// The text is not the one that was recorded.
    #[error("record {number}: its body was changed, {found} instead of {recorded}")]
    ChangedBody {
        /// The record.
        number: u64,
        /// The digest that the chain holds.
        recorded: Digest,
        /// The digest of the text that is there.
        found: Digest,
    },
    /// Number, time, kind, a digest or the hash is not what was recorded.
    #[error(
        "record {number} was changed: its hash is given as {given}, its members give {computed}"
    )]
    ChangedRecord {
        /// The record.
        number: u64,
        /// The hash that stands there.
        given: Digest,
        /// The hash that its members give.
        computed: Digest,
    },
    /// Records are not there.
    #[error("{} missing", missing(*first, *last))]
    Missing {
        /// The first that is not there.
        first: u64,
        /// The last of that gap.
        last: u64,
    },
    /// A record comes where another one belongs.
    #[error("record {found} stands where record {expected} belongs")]
    Reordered {
        /// Which record belongs there.
        expected: u64,
        /// Which one stands there.
        found: u64,
    },
    /// The record is sound in itself, but follows another one than the one before it.
    #[error("record {number} follows another record {} than the one before it: {given} instead of {expected}", number - 1)]
    WrongPrevious {
        /// The record.
        number: u64,
        /// The hash of the record before it.
        expected: Digest,
        /// The hash that it says it follows.
        given: Digest,
    },
}

fn missing(first: u64, last: u64) -> String {
    if first == last {
        format!("record {first} is")
    } else {
        format!("records {first} to {last} are")
    }
}

impl Verifier {
    /// Goes on after `tip`, which the caller knows to be sound.
    pub fn after(tip: Tip) -> Self {
        Self { tip }
    }

    /// The newest record that was found sound.
    pub fn tip(&self) -> Tip {
        self.tip
    }

    /// Checks the next record.
    ///
    /// Errors: the fault; what comes after it can't be judged, and the verifier stays where it is.
    pub fn check(&mut self, record: &Record) -> Result<(), ChainFault> {
        let expected = self.tip.next();
        let number = record.number;
        if number > expected.number {
            return Err(ChainFault::Missing {
                first: expected.number,
                last: number - 1,
            });
        }
        if number < expected.number {
            return Err(ChainFault::Reordered {
                expected: expected.number,
                found: number,
            });
        }
        check_itself(record)?;
        if record.previous != expected.previous {
            return Err(ChainFault::WrongPrevious {
                number,
                expected: expected.previous,
                given: record.previous,
            });
        }
        self.tip = record.tip();
        Ok(())
    }
}

impl Default for Verifier {
    fn default() -> Self {
        Self::after(Tip::empty())
    }
}

/// What can be said of a record without its neighbours.
///
/// Errors: a changed text, a changed record, or the record of another number.
pub(crate) fn check_itself(record: &Record) -> Result<(), ChainFault> {
    let number = record.number;
    let computed = record.computed_hash();
    if computed != record.hash {
        return Err(match home(record) {
            Some(found) => ChainFault::Reordered {
                expected: number,
                found,
            },
            None => ChainFault::ChangedRecord {
                number,
                given: record.hash,
                computed,
            },
        });
    }
    if let Some(body) = &record.body {
        let found = Digest::of(body.as_bytes());
        if found != record.body_digest {
            return Err(ChainFault::ChangedBody {
                number,
                recorded: record.body_digest,
                found,
            });
        }
    }
    Ok(())
}

/// The number near by under which the record's hash is right: rows that were exchanged are told from rows that were changed.
fn home(record: &Record) -> Option<u64> {
    let number = record.number;
    let near = number.saturating_sub(SEARCHED).max(1)..=number.saturating_add(SEARCHED);
    near.into_iter()
        .find(|other| record.hash_as(*other) == record.hash)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::{Chain, Draft};
    use halo_canon::Instant;
    use proptest::prelude::*;

    fn records(count: usize) -> Vec<Record> {
        let mut chain = Chain::default();
        (0..count)
            .map(|index| {
                chain.link(Draft {
                    at: Instant::from_nanos(index as i128),
                    kind: "turn".into(),
                    body: format!("body {index}"),
                })
            })
            .collect()
    }

    fn verify(records: &[Record]) -> Result<Tip, ChainFault> {
        let mut verifier = Verifier::default();
        for record in records {
            verifier.check(record)?;
        }
        Ok(verifier.tip())
    }

    #[test]
    fn names_a_changed_body_and_a_changed_record() {
        let sound = records(4);
        let mut changed = sound.clone();
        changed[2].body = Some("body X".into());
        let fault = verify(&changed).unwrap_err();
        assert!(matches!(fault, ChainFault::ChangedBody { number: 3, .. }));

        let mut changed = sound.clone();
        changed[2].kind = "other".into();
        let fault = verify(&changed).unwrap_err();
        assert!(matches!(fault, ChainFault::ChangedRecord { number: 3, .. }));
    }

    #[test]
    fn a_changed_body_with_its_digest_is_a_changed_record() {
        let mut changed = records(3);
        changed[1].body = Some("else".into());
        changed[1].body_digest = Digest::of(b"else");
        let fault = verify(&changed).unwrap_err();
        assert!(matches!(fault, ChainFault::ChangedRecord { number: 2, .. }));
        // With its hash too it is a sound record, which the next one does not follow.
        changed[1].hash = changed[1].computed_hash();
        let fault = verify(&changed).unwrap_err();
        assert!(matches!(fault, ChainFault::WrongPrevious { number: 3, .. }));
        assert!(fault.to_string().contains("follows another record 2"));
    }

    #[test]
    fn names_gaps_and_exchanged_records() {
        let sound = records(5);
        let mut gap = sound.clone();
        gap.drain(1..3);
        let fault = verify(&gap).unwrap_err();
        assert_eq!(fault, ChainFault::Missing { first: 2, last: 3 });
        assert_eq!(fault.to_string(), "records 2 to 3 are missing");

        let mut twice = sound.clone();
        twice.insert(2, sound[1].clone());
        let reordered = ChainFault::Reordered {
            expected: 3,
            found: 2,
        };
        assert_eq!(verify(&twice), Err(reordered));

        let mut exchanged = sound.clone();
        exchanged.swap(1, 3);
        exchanged[1].number = 2;
        exchanged[3].number = 4;
        let reordered = ChainFault::Reordered {
            expected: 2,
            found: 4,
        };
        assert_eq!(verify(&exchanged), Err(reordered));
    }

    proptest! {
        #[test]
        fn erasing_bodies_keeps_the_chain(erased in proptest::collection::vec(any::<bool>(), 0..40)) {
            let mut records = records(erased.len());
            let whole = verify(&records);
            for (record, erased) in records.iter_mut().zip(&erased) {
                if *erased {
                    record.body = None;
                }
            }
            prop_assert_eq!(verify(&records), whole);
        }

        #[test]
        fn any_change_is_found(count in 1_usize..12, at in any::<prop::sample::Index>(), what in 0..6) {
            let mut records = records(count);
            let index = at.index(count);
            let record = &mut records[index];
            match what {
                0 => record.at = record.at.plus(halo_canon::Duration::from_nanos(1)),
                1 => record.kind = "Turn".into(),
                2 => record.body = Some(String::new()),
                3 => record.body_digest = Digest::of(b"x"),
                4 => record.previous = Digest::of(b"x"),
                _ => record.hash = Digest::of(b"x"),
            }
            prop_assert!(verify(&records).is_err());
        }
    }
}
