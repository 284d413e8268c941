//! Killed in the middle, again and again.

use crate::writer::{Writer, verify};
use halo_journal::{Backlog, Committer, Reader, SqliteStore, StoreError};
use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;

const DIRECTORY: &str = "HALO_JOURNAL_CHILD_DIRECTORY";

/// Not a test by itself: what the test below starts and kills. Says each number once it is durable.
#[test]
fn child() {
    let Some(directory) = env::var_os(DIRECTORY) else {
        return;
    };
    let store = SqliteStore::open(directory).unwrap();
    let mut writer = Writer::after(store.tip().unwrap());
    let settled = |settled: halo_journal::Settled| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "durable {}", settled.durable.unwrap()).unwrap();
        out.flush().unwrap();
    };
    let committer = Committer::start(Box::new(store), Backlog::default(), settled).unwrap();
    for round in 0_usize.. {
        let batch = writer.batch(1 + round % 5, round * 997 % 5000);
        if committer.send(batch).is_err() {
            break;
        }
    }
}

#[test]
fn a_killed_writer_loses_nothing_that_it_acknowledged() {
    let directory = TempDir::new().unwrap();
    let mut before = 0;
    for round in 0..8_u64 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "kill::child", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let number = |line: std::io::Result<String>| {
            line.unwrap()
                .strip_prefix("durable ")
                .map(|number| number.parse::<u64>().unwrap())
        };
        let mut numbers = lines.filter_map(number);
        let mut acknowledged = numbers.next().unwrap();
        if round == 0 {
            let error = SqliteStore::open(directory.path()).unwrap_err();
            let pid = child.id();
            assert!(matches!(error, StoreError::InUse { pid: Some(first), .. } if first == pid));
        }
        std::thread::sleep(Duration::from_millis(3 + 17 * round));
        child.kill().unwrap();
        // What it said before it died.
        acknowledged = numbers.last().unwrap_or(acknowledged);
        child.wait().unwrap();

        let store = SqliteStore::open(directory.path()).unwrap();
        let tip = verify(&store).unwrap();
        assert!(tip.number >= acknowledged, "{tip:?} {acknowledged}");
        assert!(acknowledged > before);
        before = tip.number;
    }
}
