//! What the checks store.

use crate::{Batch, Chain, Current, Draft, Record};
use halo_canon::{Duration, Instant};

/// Links records with bodies of several lengths, times to the nanosecond and texts that need care.
pub(super) struct Writer {
    pub(super) chain: Chain,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self {
            chain: Chain::default(),
        }
    }

    pub(super) fn records(&mut self, count: u64) -> Vec<Record> {
        (0..count).map(|_| self.record()).collect()
    }

    pub(super) fn record(&mut self) -> Record {
        let number = self.chain.next_number();
        let length = usize::try_from(number * 577 % 9_000).unwrap_or_default();
        let at = Instant::MIN.plus(Duration::from_nanos(i128::from(number)));
        self.chain.link(Draft {
            at: if number.is_multiple_of(2) {
                at
            } else {
                Instant::MAX
            },
            kind: format!("kind \"{number}\"").into(),
            body: format!("{number} \u{0} ß 𝄞 {}", "x".repeat(length)),
        })
    }

    pub(super) fn batch(&mut self, count: u64) -> Batch {
        Batch {
            records: self.records(count),
            current: Vec::new(),
        }
    }
}

/// A state record with times and numbers at the ends of their ranges.
pub(super) fn state(address: &str, since: u64, record: &str) -> Current {
    Current {
        address: address.to_owned(),
        accepted_at: Instant::MAX.plus(Duration::from_nanos(-1 - i128::from(since))),
        since,
        record: record.to_owned(),
    }
}
