//! Records to write, and chains to check.

use halo_canon::{Duration, Instant};
use halo_journal::{Batch, Chain, ChainFault, Current, Draft, Reader, Tip, Verifier};
use std::path::{Path, PathBuf};

/// Records whose body begins with their number.
pub(crate) struct Writer {
    pub(crate) chain: Chain,
}

impl Writer {
    pub(crate) fn after(tip: Tip) -> Self {
        Self {
            chain: Chain::after(tip),
        }
    }

    pub(crate) fn new() -> Self {
        Self::after(Tip::empty())
    }

    pub(crate) fn batch(&mut self, count: usize, length: usize) -> Batch {
        let records = (0..count).map(|_| {
            let number = self.chain.next_number();
            self.chain.link(Draft {
                at: Instant::from_nanos(0).plus(Duration::from_nanos(i128::from(number))),
                kind: "turn".into(),
                body: format!("{number} {}", "x".repeat(length)),
            })
        });
        let records: Vec<_> = records.collect();
        let current = vec![Current {
            address: "last".to_owned(),
            accepted_at: Instant::MAX,
            since: self.chain.tip().number,
            record: self.chain.tip().number.to_string(),
        }];
        Batch { records, current }
    }
}

/// The tip of a sound chain, with the state that was stored beside its last record.
pub(crate) fn verify(reader: &dyn Reader) -> Result<Tip, ChainFault> {
    let mut verifier = Verifier::default();
    loop {
        let page = reader.read(verifier.tip().number, 100).unwrap();
        if page.is_empty() {
            break;
        }
        for record in &page {
            verifier.check(record)?;
        }
    }
    let tip = verifier.tip();
    let current = reader.current().unwrap();
    let stored = current.first().map_or(0, |current| current.since);
    assert_eq!(stored, tip.number, "state and records come together");
    Ok(tip)
}

pub(crate) fn journal(directory: &Path) -> PathBuf {
    directory.join("journal.db")
}

pub(crate) fn log(directory: &Path) -> PathBuf {
    directory.join("journal.db-wal")
}
