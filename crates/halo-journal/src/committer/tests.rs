#![allow(clippy::unwrap_used, reason = "tests")]
//! The whole hand-over under a checker that tries schedules.

use super::*;
use crate::{Chain, Draft, MemoryDisk, MemoryStore, Reader, Verifier, sync::Mutex};
use halo_canon::Instant;

const SCHEDULES: usize = 500;
const SMALL: Backlog = Backlog {
    items: 2,
    bytes: 1 << 20,
};

fn batch(chain: &mut Chain) -> Batch {
    let number = chain.next_number();
    Batch {
        records: vec![chain.link(Draft {
            at: Instant::MIN,
            kind: "turn".into(),
            body: number.to_string(),
        })],
        current: Vec::new(),
    }
}

type Answers = Arc<Mutex<Vec<Settled>>>;

/// A committer on a disk that the test holds too, and what it answers. Each answer is compared with the disk.
fn start() -> (Committer, MemoryDisk, Answers) {
    let store = MemoryStore::new();
    let disk = store.disk();
    let answers = Answers::default();
    let settled = {
        let (answers, disk) = (Arc::clone(&answers), disk.clone());
        move |settled: Settled| {
            if let Ok(number) = settled.durable {
                assert!(
                    disk.open().tip().unwrap().number >= number,
                    "not yet durable"
                );
            }
            answers.lock().unwrap().push(settled);
        }
    };
    let committer = Committer::start(Box::new(store), SMALL, settled).unwrap();
    (committer, disk, answers)
}

fn numbers(answers: &Answers) -> Vec<(u64, Option<u64>)> {
    let answers = answers.lock().unwrap();
    let number = |settled: &Settled| (settled.ticket, settled.durable.clone().ok());
    answers.iter().map(number).collect()
}

#[test]
fn everything_sent_becomes_durable_in_order() {
    shuttle::check_random(
        || {
            let (committer, disk, answers) = start();
            let committer = Arc::new(committer);
            let chain = Arc::new(Mutex::new(Chain::default()));
            let senders: Vec<_> = (0..2)
                .map(|_| {
                    let (committer, chain) = (Arc::clone(&committer), Arc::clone(&chain));
                    thread::spawn(move || {
                        for _ in 0..3 {
                            // Linked and sent under one lock, as one driver would.
                            let mut chain = chain.lock().unwrap();
                            let number = chain.next_number();
                            let ticket = committer.send(batch(&mut chain)).unwrap();
                            assert_eq!(ticket, number);
                        }
                    })
                })
                .collect();
            for sender in senders {
                sender.join().unwrap();
            }
            drop(committer);
            assert_eq!(disk.open().tip().unwrap(), chain.lock().unwrap().tip());
            let answers = numbers(&answers);
            assert!(
                answers
                    .iter()
                    .all(|(ticket, number)| Some(*ticket) == *number)
            );
            assert!(answers.is_sorted() && answers.last() == Some(&(6, Some(6))));
        },
        SCHEDULES,
    );
}

#[test]
fn nothing_is_stored_between_a_failure_and_recovery() {
    shuttle::check_random(
        || {
            let (committer, disk, answers) = start();
            let mut chain = Chain::default();
            committer.send(batch(&mut chain)).unwrap();
            let full = disk.clone();
            committer
                .run(move |store| {
                    assert_eq!(store.unwrap().tip().unwrap().number, 1);
                    full.fail_next(StoreError::Ended);
                })
                .unwrap();
            for _ in 0..2 {
                committer.send(batch(&mut chain)).unwrap();
            }
            committer.run(|store| assert!(store.is_err())).unwrap();
            committer.send(batch(&mut chain)).unwrap();
            let tip = committer.recover().unwrap();
            assert_eq!(tip.number, 1, "what failed is not there");
            let answered = numbers(&answers);
            assert_eq!(answered.first(), Some(&(1, Some(1))));
            assert_eq!(answered.last(), Some(&(6, None)));
            assert!(answered[1..].iter().all(|(_, number)| number.is_none()));

            let mut chain = Chain::after(tip);
            committer.send(batch(&mut chain)).unwrap();
            let store = committer.close().unwrap();
            assert_eq!(store.tip().unwrap(), chain.tip());
            assert_eq!(numbers(&answers).last(), Some(&(8, Some(2))));
        },
        SCHEDULES,
    );
}

#[test]
fn recovery_that_fails_leaves_it_stopped() {
    shuttle::check_random(
        || {
            let (committer, disk, answers) = start();
            let mut chain = Chain::default();
            disk.set_full(true);
            committer.send(batch(&mut chain)).unwrap();
            assert!(committer.recover().unwrap_err().is_full());
            disk.set_full(false);
            // Space alone does not start it: the driver has to learn first what is stored.
            committer.send(batch(&mut chain)).unwrap();
            assert_eq!(committer.recover().unwrap(), Tip::empty());
            assert_eq!(numbers(&answers), [(1, None), (3, None)]);
            let store = committer.close().unwrap();
            assert_eq!(store.tip().unwrap(), Tip::empty());
        },
        SCHEDULES,
    );
}

#[test]
fn works_in_order_with_the_batches() {
    shuttle::check_random(
        || {
            let (committer, disk, _) = start();
            let mut chain = Chain::default();
            for _ in 0..2 {
                committer.send(batch(&mut chain)).unwrap();
            }
            committer
                .run(|store| store.unwrap().erase(&[1, 3]).unwrap())
                .unwrap();
            committer.send(batch(&mut chain)).unwrap();
            drop(committer);
            let mut verifier = Verifier::default();
            for record in disk.open().read(0, 9).unwrap() {
                assert_eq!(record.body.is_none(), record.number == 1);
                verifier.check(&record).unwrap();
            }
            assert_eq!(verifier.tip(), chain.tip());
        },
        SCHEDULES,
    );
}
