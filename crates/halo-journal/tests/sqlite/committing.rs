//! The committer on a disk.

use crate::writer::{Writer, verify};
use halo_journal::{Backlog, Committer, Fault, MemoryStore, SqliteStore, Store, StoreError};
use std::{
    sync::{Arc, Barrier, mpsc},
    thread,
};
use tempfile::TempDir;

#[test]
fn what_waits_shares_a_commit() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let (answers, settled) = mpsc::channel();
    let committer = Committer::start(Box::new(store), Backlog::default(), move |settled| {
        answers.send(settled).unwrap();
    })
    .unwrap();
    // Held while the batches are sent, so that all of them wait.
    let held = Arc::new(Barrier::new(2));
    let hold = Arc::clone(&held);
    committer
        .run(move |_| {
            hold.wait();
            hold.wait();
        })
        .unwrap();
    held.wait();
    let mut writer = Writer::new();
    let mut last = 0;
    for _ in 0..64 {
        last = committer.send(writer.batch(2, 50)).unwrap();
    }
    held.wait();
    let answer = settled.recv().unwrap();
    assert_eq!((answer.ticket, answer.durable.unwrap()), (last, 128));
    let store = committer.close().unwrap();
    assert!(settled.recv().is_err(), "one commit, one answer");
    assert_eq!(store.tip().unwrap(), writer.chain.tip());
    drop(store);
    let store = SqliteStore::open(directory.path()).unwrap();
    assert_eq!(verify(&store), Ok(writer.chain.tip()));
}

#[test]
fn a_full_volume_stops_it_until_it_is_told_to_go_on() {
    let directory = TempDir::new().unwrap();
    let mut store = SqliteStore::open(directory.path()).unwrap();
    store.inject(Fault::Room(Some(20))).unwrap();
    let (answers, settled) = mpsc::channel();
    let committer = Committer::start(Box::new(store), Backlog::default(), move |settled| {
        answers.send(settled).unwrap();
    })
    .unwrap();
    let mut writer = Writer::new();
    committer.send(writer.batch(1, 10)).unwrap();
    assert_eq!(settled.recv().unwrap().durable.unwrap(), 1);
    committer.send(writer.batch(1, 500_000)).unwrap();
    assert!(settled.recv().unwrap().durable.unwrap_err().is_full());
    committer.send(writer.batch(1, 10)).unwrap();
    assert!(settled.recv().unwrap().durable.unwrap_err().is_full());
    let mut writer = Writer::after(committer.recover().unwrap());
    committer.send(writer.batch(1, 10)).unwrap();
    assert_eq!(settled.recv().unwrap().durable.unwrap(), 2);
    let store = committer.close().unwrap();
    assert_eq!(verify(&*store), Ok(writer.chain.tip()));
}

#[test]
fn a_panic_in_a_callback_leaves_nobody_waiting() {
    let store: Box<dyn Store> = Box::new(MemoryStore::new());
    let (go, gone) = mpsc::channel::<()>();
    let committer = Committer::start(store, Backlog::default(), move |_| {
        gone.recv().unwrap();
        panic!("on purpose");
    })
    .unwrap();
    let mut writer = Writer::new();
    committer.send(writer.batch(1, 1)).unwrap();
    thread::scope(|scope| {
        while committer.waiting() > 0 {
            thread::yield_now();
        }
        // One that lies in the queue when the thread ends.
        let recovering = scope.spawn(|| committer.recover());
        while committer.waiting() == 0 {
            thread::yield_now();
        }
        go.send(()).unwrap();
        let recovered = recovering.join().unwrap();
        assert!(matches!(recovered, Err(StoreError::Ended)));
    });
    let sent = committer.send(writer.batch(1, 1));
    assert!(matches!(sent, Err(StoreError::Ended)));
    assert!(committer.close().is_err());
}
