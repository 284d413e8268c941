//! Commits that fail, and what is said about them.

use crate::writer::{Writer, log, verify};
use halo_journal::{Fault, Reader, SqliteStore, Store, StoreError};
use std::{
    env, fs,
    process::{Command, Stdio},
};
use tempfile::TempDir;

#[test]
fn after_a_failed_flush_the_disk_is_asked_what_is_there() {
    for stored in [false, true] {
        let directory = TempDir::new().unwrap();
        let mut store = SqliteStore::open(directory.path()).unwrap();
        let reader = store.reader().unwrap();
        let mut writer = Writer::new();
        store.append(&writer.batch(2, 10)).unwrap();
        let before = writer.chain.tip();
        store.inject(Fault::Flush { stored }).unwrap();
        let error = store.append(&writer.batch(3, 10)).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
        let there = if stored { writer.chain.tip() } else { before };
        assert_eq!(store.tip().unwrap(), there);
        assert_eq!(store.recover().unwrap(), there);
        // What failed does not lie in wait for a later start, even though a reader keeps the log.
        assert_eq!(fs::metadata(log(directory.path())).unwrap().len(), 0);
        assert_eq!(verify(&*reader), Ok(there));
        let mut writer = Writer::after(there);
        store.append(&writer.batch(1, 10)).unwrap();
        assert_eq!(verify(&*reader), Ok(writer.chain.tip()));
        drop(store);
        let store = SqliteStore::open(directory.path()).unwrap();
        assert_eq!(verify(&store), Ok(writer.chain.tip()));
    }
}

const DIRECTORY: &str = "HALO_JOURNAL_LIMITED_DIRECTORY";

/// Not a test by itself: what the test below starts, in a process whose files must stay small.
#[test]
fn child() {
    let Some(directory) = env::var_os(DIRECTORY) else {
        return;
    };
    let mut store = SqliteStore::open(directory).unwrap();
    let mut writer = Writer::new();
    let mut failures = 0;
    for _ in 0..400 {
        let before = writer.chain.tip();
        if let Err(error) = store.append(&writer.batch(2, 3000)) {
            failures += 1;
            assert!(!matches!(error, StoreError::OutOfOrder { .. }));
            // The log is too long, then the file itself.
            let there = store.tip().or_else(|_| store.recover());
            let there = there.unwrap_or(before);
            assert!(there == before || there == writer.chain.tip());
            writer = Writer::after(there);
        }
    }
    println!("failures {failures} tip {}", writer.chain.tip().number);
}

/// Real failures of real writes, in the middle of commits.
#[cfg(unix)]
#[test]
fn a_file_that_must_not_grow_fails_commits_and_loses_none() {
    let directory = TempDir::new().unwrap();
    // The signal that would end the process stays ignored in what the shell becomes.
    let script = "trap '' XFSZ; ulimit -f 1024; exec \"$0\" --exact failing::child --nocapture";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(env::current_exe().unwrap())
        .env(DIRECTORY, directory.path())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.split_once("failures "));
    let (failures, number) = line.unwrap().1.split_once(" tip ").unwrap();
    let (failures, number): (u64, u64) = (failures.parse().unwrap(), number.parse().unwrap());
    assert!(failures > 1 && number > 20, "{text}");
    let mut store = SqliteStore::open(directory.path()).unwrap();
    let tip = verify(&store).unwrap();
    assert_eq!(tip.number, number);
    store.append(&Writer::after(tip).batch(2, 3000)).unwrap();
    assert_eq!(verify(&store).unwrap().number, number + 2);
}
