//! Damage is named.

use crate::writer::{Writer, journal, log, verify};
use halo_journal::{ChainFault, Reader, SqliteStore, Store, StoreError, Tip};
use proptest::prelude::*;
use std::{fs, path::Path};
use tempfile::TempDir;

/// What a verifier says after somebody ran `sql` on ten records.
fn after(sql: &str) -> Result<Tip, ChainFault> {
    let directory = TempDir::new().unwrap();
    let mut store = SqliteStore::open(directory.path()).unwrap();
    store.append(&Writer::new().batch(10, 20)).unwrap();
    drop(store);
    let raw = rusqlite::Connection::open(journal(directory.path())).unwrap();
    raw.execute_batch(sql).unwrap();
    drop(raw);
    verify(&SqliteStore::open_read_only(directory.path()).unwrap())
}

#[test]
fn changed_rows_are_named() {
    let fault = after("UPDATE record SET body = replace(body, 'x', 'y') WHERE number = 4");
    assert!(matches!(
        fault,
        Err(ChainFault::ChangedBody { number: 4, .. })
    ));
    let fault = after("UPDATE record SET at = '2026-01-01T00:00:00Z' WHERE number = 6");
    assert!(matches!(
        fault,
        Err(ChainFault::ChangedRecord { number: 6, .. })
    ));
    let fault = after("UPDATE record SET previous = hash WHERE number = 6");
    assert!(matches!(
        fault,
        Err(ChainFault::ChangedRecord { number: 6, .. })
    ));
}

#[test]
fn dropped_rows_are_named() {
    let fault = after("DELETE FROM record WHERE number IN (3, 4)");
    assert_eq!(fault, Err(ChainFault::Missing { first: 3, last: 4 }));
    let fault = after("DELETE FROM record WHERE number = 1");
    assert_eq!(fault, Err(ChainFault::Missing { first: 1, last: 1 }));
}

#[test]
fn exchanged_rows_are_named() {
    let fault = after(
        "UPDATE record SET number = -1 WHERE number = 5;
         UPDATE record SET number = 5 WHERE number = 8;
         UPDATE record SET number = 8 WHERE number = -1;",
    );
    let exchanged = ChainFault::Reordered {
        expected: 5,
        found: 8,
    };
    assert_eq!(fault, Err(exchanged));
}

#[test]
fn a_damaged_end_is_noticed_at_the_start() {
    let directory = TempDir::new().unwrap();
    let mut store = SqliteStore::open(directory.path()).unwrap();
    store.append(&Writer::new().batch(10, 20)).unwrap();
    drop(store);
    let raw = rusqlite::Connection::open(journal(directory.path())).unwrap();
    raw.execute_batch("UPDATE record SET body = '' WHERE number = 10")
        .unwrap();
    drop(raw);
    let error = SqliteStore::open(directory.path()).unwrap_err();
    assert!(matches!(&error, StoreError::Corrupt { what, .. } if what.contains("record 10")));
}

#[test]
fn damaged_pages_are_no_records() {
    let directory = TempDir::new().unwrap();
    let mut store = SqliteStore::open(directory.path()).unwrap();
    store.append(&Writer::new().batch(100, 2000)).unwrap();
    drop(store);
    let file = journal(directory.path());
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0xA5);
    fs::write(&file, bytes).unwrap();
    let audit = SqliteStore::open_read_only(directory.path()).unwrap();
    // A page is no page, or a record in it is no record.
    let found = audit.read(0, 1000).map_or_else(
        |error| matches!(error, StoreError::Corrupt { .. }),
        |records| {
            let mut verifier = halo_journal::Verifier::default();
            records.iter().any(|record| verifier.check(record).is_err())
        },
    );
    assert!(found);
}

/// The files of a store that is still open, as a power cut leaves them.
fn cut(from: &Path, to: &Path, length: u64) {
    fs::copy(journal(from), journal(to)).unwrap();
    fs::copy(log(from), log(to)).unwrap();
    let file = fs::OpenOptions::new().write(true).open(log(to)).unwrap();
    file.set_len(length).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_torn_log_leaves_a_prefix(
        batches in proptest::collection::vec((1_usize..6, 0_usize..6000), 1..12),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 4),
        garbage in any::<bool>(),
    ) {
        let directory = TempDir::new().unwrap();
        let mut store = SqliteStore::open(directory.path()).unwrap();
        let mut writer = Writer::new();
        // How long the log was when each tip became durable.
        let mut durable = vec![(0, Tip::empty())];
        for (count, length) in batches {
            store.append(&writer.batch(count, length)).unwrap();
            let size = fs::metadata(log(directory.path())).unwrap().len();
            durable.push((size, writer.chain.tip()));
        }
        let whole = fs::metadata(log(directory.path())).unwrap().len();
        for cut_at in cuts {
            let length = cut_at.index(whole as usize + 1) as u64;
            let copy = TempDir::new().unwrap();
            cut(directory.path(), copy.path(), length);
            if garbage {
                let mut bytes = fs::read(log(copy.path())).unwrap();
                bytes.extend(std::iter::repeat_n(0x5A, 5000));
                fs::write(log(copy.path()), bytes).unwrap();
            }
            let mut reopened = SqliteStore::open(copy.path()).unwrap();
            let tip = verify(&reopened).unwrap();
            let last = durable.iter().rfind(|(size, _)| *size <= length).unwrap().1;
            prop_assert_eq!(tip, last);
            reopened.append(&Writer::after(tip).batch(2, 100)).unwrap();
            prop_assert_eq!(verify(&reopened).unwrap().number, tip.number + 2);
        }
    }
}
