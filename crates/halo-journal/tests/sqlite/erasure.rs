//! What is erased is in no file any more.

use crate::writer::Writer;
use halo_canon::Instant;
use halo_journal::{
    Batch, Chain, Draft, Reader, Snapshot, SqliteStore, Store, StoreError, Verifier,
};
use proptest::prelude::*;
use std::{collections::BTreeSet, fs, path::Path};
use tempfile::TempDir;

/// A text that stands nowhere else, all over a body of that length.
fn secret(number: u64, length: usize) -> String {
    let mark = format!("<secret-{number:05}>");
    mark.repeat(1 + length / mark.len())
}

/// Which marks stand in the files of a directory.
fn marks(directory: &Path) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        for at in 0..bytes.len().saturating_sub(14) {
            if bytes[at..].starts_with(b"<secret-") {
                let digits = std::str::from_utf8(&bytes[at + 8..at + 13]);
                found.extend(digits.ok().and_then(|digits| digits.parse::<u64>().ok()));
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn erasing_and_verifying_agree(
        lengths in proptest::collection::vec(prop_oneof![0_usize..200, 0_usize..20_000], 1..60),
        rounds in proptest::collection::vec(proptest::collection::vec(any::<prop::sample::Index>(), 0..12), 1..5),
    ) {
        let directory = TempDir::new().unwrap();
        let mut store = SqliteStore::open(directory.path()).unwrap();
        let mut chain = Chain::default();
        let mut erased = BTreeSet::new();
        let mut written = BTreeSet::new();
        let share = lengths.len().div_ceil(rounds.len());
        for (lengths, erase) in lengths.chunks(share).zip(rounds) {
            for length in lengths {
                let number = chain.next_number();
                let body = secret(number, *length);
                let record = chain.link(Draft { at: Instant::MIN, kind: "k".into(), body });
                store.append(&Batch { records: vec![record], current: Vec::new() }).unwrap();
                written.insert(number);
            }
            let numbers: Vec<u64> = erase.iter().map(|index| 1 + index.index(written.len()) as u64).collect();
            store.erase(&numbers).unwrap();
            erased.extend(numbers);
            let left: BTreeSet<u64> = written.difference(&erased).copied().collect();
            prop_assert_eq!(marks(directory.path()), left);
        }
        let mut verifier = Verifier::default();
        for record in store.read(0, 1000).unwrap() {
            prop_assert_eq!(record.body.is_none(), erased.contains(&record.number));
            prop_assert_eq!(verifier.check(&record), Ok(()));
        }
        prop_assert_eq!(verifier.tip(), chain.tip());
    }
}

/// Many on a page, so that pages run empty and are joined with their neighbours: copies must not stay behind.
#[test]
fn joined_pages_keep_no_copies() {
    let directory = TempDir::new().unwrap();
    let mut store = SqliteStore::open(directory.path()).unwrap();
    let mut chain = Chain::default();
    let records = (1..=900).map(|number| {
        let body = secret(number, usize::try_from(number * 37 % 400).unwrap());
        chain.link(Draft {
            at: Instant::MIN,
            kind: "k".into(),
            body,
        })
    });
    let records: Vec<_> = records.collect();
    let current = Vec::new();
    store.append(&Batch { records, current }).unwrap();
    let mut left: BTreeSet<u64> = (1..=900).collect();
    for step in [7, 3, 5, 2] {
        let erased: Vec<u64> = (1..=900)
            .filter(|number| number % step == 0 || number / 40 % (step + 2) == 0)
            .collect();
        store.erase(&erased).unwrap();
        for number in &erased {
            left.remove(number);
        }
        assert_eq!(marks(directory.path()), left);
    }
    assert!(!left.is_empty());
}

#[test]
fn forgotten_snapshots_are_gone() {
    let directory = TempDir::new().unwrap();
    let mut store = SqliteStore::open(directory.path()).unwrap();
    let mut writer = Writer::new();
    for number in 1..=4_u64 {
        store.append(&writer.batch(1, 0)).unwrap();
        let state = secret(number, 30_000).into_bytes();
        store
            .save_snapshot(&Snapshot::new(writer.chain.tip(), state))
            .unwrap();
    }
    store.forget_snapshots(4).unwrap();
    assert_eq!(marks(directory.path()), BTreeSet::from([4]));
    assert_eq!(store.latest_snapshot().unwrap().unwrap().number, 4);
}

#[test]
fn erasing_never_says_gone_what_a_reader_keeps() {
    let directory = TempDir::new().unwrap();
    let mut store = SqliteStore::open(directory.path()).unwrap();
    let mut chain = Chain::default();
    let record = chain.link(Draft {
        at: Instant::MIN,
        kind: "k".into(),
        body: secret(1, 100),
    });
    let records = vec![record];
    let current = Vec::new();
    store.append(&Batch { records, current }).unwrap();
    // Somebody with a transaction of their own.
    let raw = rusqlite::Connection::open(directory.path().join("journal.db")).unwrap();
    raw.execute_batch("BEGIN; SELECT count(*) FROM record;")
        .unwrap();
    let error = store.erase(&[1]).unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    raw.execute_batch("COMMIT").unwrap();
    store.erase(&[1]).unwrap();
    assert!(marks(directory.path()).is_empty());
}
