//! Who may open what.

use crate::writer::{Writer, journal, log, verify};
use halo_journal::{Reader, SqliteStore, Store, StoreError};
use std::fs;
use tempfile::TempDir;

#[test]
fn a_second_one_is_refused_and_told_who_is_first() {
    let directory = TempDir::new().unwrap();
    let first = SqliteStore::open(directory.path()).unwrap();
    let error = SqliteStore::open(directory.path()).unwrap_err();
    let own = std::process::id();
    assert!(matches!(error, StoreError::InUse { pid: Some(pid), .. } if pid == own));
    let text = error.to_string();
    assert!(text.contains(&format!("process {own}")), "{text}");
    drop(first);
    SqliteStore::open(directory.path()).unwrap();
}

#[test]
fn audits_read_what_is_in_use() {
    let directory = TempDir::new().unwrap();
    let missing = SqliteStore::open_read_only(directory.path()).unwrap_err();
    assert!(matches!(missing, StoreError::Io { .. }), "{missing}");
    let mut store = SqliteStore::open(directory.path()).unwrap();
    let mut writer = Writer::new();
    store.append(&writer.batch(3, 10)).unwrap();
    let audit = SqliteStore::open_read_only(directory.path()).unwrap();
    assert_eq!(verify(&audit), Ok(writer.chain.tip()));
    store.append(&writer.batch(3, 10)).unwrap();
    assert_eq!(verify(&audit), Ok(writer.chain.tip()));
    drop(store);
    assert_eq!(verify(&audit), Ok(writer.chain.tip()));
    // And with nobody there.
    drop(audit);
    let audit = SqliteStore::open_read_only(directory.path()).unwrap();
    assert_eq!(verify(&audit), Ok(writer.chain.tip()));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = TempDir::new().unwrap();
    let directory = parent.path().join("deep/data");
    let mut store = SqliteStore::open(&directory).unwrap();
    store.append(&Writer::new().batch(3, 10)).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_owned());
    }
    assert!(names.len() >= 3, "{names:?}");
}

#[test]
fn what_is_no_journal_is_left_alone() {
    let directory = TempDir::new().unwrap();
    let file = journal(directory.path());
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE mine (a)").unwrap();
    drop(other);
    let before = fs::read(&file).unwrap();
    for _ in 0..2 {
        let error = SqliteStore::open(directory.path()).unwrap_err();
        assert!(
            matches!(error, StoreError::UnsupportedFormat { .. }),
            "{error}"
        );
    }
    SqliteStore::open_read_only(directory.path()).unwrap_err();
    assert_eq!(fs::read(&file).unwrap(), before);

    fs::write(&file, "something else ".repeat(1000)).unwrap();
    let error = SqliteStore::open(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn a_later_format_is_named() {
    let directory = TempDir::new().unwrap();
    drop(SqliteStore::open(directory.path()).unwrap());
    let raw = rusqlite::Connection::open(journal(directory.path())).unwrap();
    raw.execute_batch("PRAGMA user_version = 7").unwrap();
    drop(raw);
    let error = SqliteStore::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("format 7") && error.contains("format 1"));
}

#[test]
fn a_log_without_its_journal_is_not_dropped() {
    let directory = TempDir::new().unwrap();
    let copy = TempDir::new().unwrap();
    let mut store = SqliteStore::open(directory.path()).unwrap();
    store.append(&Writer::new().batch(3, 10)).unwrap();
    fs::copy(log(directory.path()), log(copy.path())).unwrap();
    for _ in 0..2 {
        let error = SqliteStore::open(copy.path()).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(fs::metadata(log(copy.path())).unwrap().len() > 0);
    }
}

#[test]
fn a_start_that_was_cut_short_is_made_good() {
    // What is left when it ends before its tables are there.
    let directory = TempDir::new().unwrap();
    fs::write(journal(directory.path()), "").unwrap();
    drop(SqliteStore::open(directory.path()).unwrap());
    let directory = TempDir::new().unwrap();
    let raw = rusqlite::Connection::open(journal(directory.path())).unwrap();
    raw.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
        .unwrap();
    drop(raw);
    let mut store = SqliteStore::open(directory.path()).unwrap();
    store.append(&Writer::new().batch(1, 1)).unwrap();
    assert_eq!(store.tip().unwrap().number, 1);
}
