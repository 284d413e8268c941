//! A volume without room.

use crate::writer::{Writer, verify};
use halo_journal::{Fault, Reader, SqliteStore, Store, StoreError};
use tempfile::TempDir;

#[test]
fn a_full_volume_leaves_nothing_half_written() {
    let directory = TempDir::new().unwrap();
    let mut store = SqliteStore::open(directory.path()).unwrap();
    store.inject(Fault::Room(Some(40))).unwrap();
    let mut writer = Writer::new();
    let mut stored = writer.chain.tip();
    let error = loop {
        match store.append(&writer.batch(3, 3000)) {
            Ok(()) => stored = writer.chain.tip(),
            Err(error) => break error,
        }
    };
    assert!(error.is_full(), "{error:?}");
    assert!(matches!(error, StoreError::Full { .. }));
    assert!(error.to_string().contains("journal.db: no space left"));
    assert!(stored.number > 10);
    assert_eq!(store.tip().unwrap(), stored);
    assert_eq!(verify(&store), Ok(stored));
    assert_eq!(verify(&*store.reader().unwrap()), Ok(stored));

    // Still full: still refused, and recovering changes nothing.
    let mut writer = Writer::after(store.recover().unwrap());
    let batch = writer.batch(3, 3000);
    assert!(store.append(&batch).unwrap_err().is_full());

    store.inject(Fault::Room(None)).unwrap();
    store.append(&batch).unwrap();
    drop(store);
    let store = SqliteStore::open(directory.path()).unwrap();
    assert_eq!(verify(&store), Ok(writer.chain.tip()));
}
