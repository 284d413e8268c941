//! The gate's section under a checker that tries schedules: the real engine on one thread, the real group commit on
//! another, callers who ask for the same action at once, a world that changes, calls that return, a disk that fails.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use super::*;
use crate::{Chain, Draft, MemoryDisk, MemoryStore, Reader as _, sync::Mutex};
use halo_canon::{Digest, Instant};
use halo_catalog::Catalog;
use halo_core::{
    ComponentRef, DispatchPermit, Effect, Engine, Input, Options, Outcome, RawText, Seed,
};
use std::{collections::VecDeque, sync::OnceLock};

const SCHEDULES: usize = 1_000;
const CATALOG: &str = r#"
halo: v1
catalog: gate
version: "1"
sources: {gate: {}}
adapters: {arm: {}}
types:
  lift: {effect: action, adapter: arm, payload: {}, support: [{id: open, cel: state.gate.value}]}
"#;

fn catalog() -> Arc<Catalog> {
    static COMPILED: OnceLock<Arc<Catalog>> = OnceLock::new();
    COMPILED
        .get_or_init(|| {
            let decoded = halo_catalog::decode::catalog("gate.yaml", CATALOG);
            decoded.catalog.expect("a sound catalog")
        })
        .clone()
}

enum Job {
    Ask,
    Gate(bool),
    Settled(Settled),
    Returned(ComponentRef, u32),
    End,
}

/// What arrived at the adapter: the binding, and whether its token was durably spent then.
type Calls = Arc<Mutex<Vec<(Digest, bool)>>>;

/// One thread that owns the engine, as the runtime has it: what is armed waits for its ticket, then looks, then calls.
struct Driver {
    engine: Engine,
    chain: Chain,
    committer: Option<Committer>,
    /// Armed: ticket, the number of the record that spends the token, which.
    armed: VecDeque<(u64, u64, ComponentRef)>,
    open: bool,
    halted: bool,
    jobs: mpsc::Sender<Job>,
    disk: MemoryDisk,
    calls: Calls,
    calling: Vec<JoinHandle<()>>,
}

impl Driver {
    fn take(&mut self, job: Job) {
        match job {
            Job::Ask if !self.halted => self.step(Input::Dispatch {
                response: "r".into(),
                component: "a".into(),
                payload: None,
                token: None,
                sequence: None,
            }),
            Job::Gate(open) => self.set(open),
            Job::Settled(settled) => self.settled(&settled),
            Job::Returned(component, generation) => self.step(Input::Outcome {
                component,
                generation,
                outcome: Outcome::Accepted,
            }),
            Job::Ask | Job::End => {}
        }
    }

    fn set(&mut self, open: bool) {
        self.open = open;
        let record = RawText(format!(r#"{{"value":{open}}}"#).into_bytes());
        let records = vec![("gate".to_owned(), record)];
        self.step(Input::Update { records });
    }

    fn step(&mut self, input: Input) {
        let _ = self.engine.handle(Instant::from_nanos(0), input);
        while let Some(effect) = self.engine.next_effect() {
            match effect {
                Effect::Spend(armed) => self.spend(armed.component()),
                Effect::Dispatch(permit) => self.call(permit),
                _ => {}
            }
        }
    }

    fn spend(&mut self, at: ComponentRef) {
        let record = self.chain.link(Draft {
            at: Instant::MIN,
            kind: "dispatch".into(),
            body: String::new(),
        });
        let number = record.number;
        let batch = Batch {
            records: vec![record],
            current: Vec::new(),
        };
        // After its end nobody asks.
        let ticket = self.committer.as_ref().unwrap().send(batch).unwrap();
        self.armed.push_back((ticket, number, at));
    }

    fn settled(&mut self, settled: &Settled) {
        if settled.durable.is_err() {
            self.halted = true;
            self.armed.clear();
        }
        while !self.halted
            && let Some((_, number, at)) = self.armed.pop_front_if(|one| one.0 <= settled.ticket)
        {
            assert!(self.disk.open().tip().unwrap().number >= number);
            self.step(Input::last_look(at));
        }
    }

    fn call(&mut self, permit: DispatchPermit) {
        assert!(self.open && !self.halted, "nothing supports it");
        let (calls, disk, jobs) = (self.calls.clone(), self.disk.clone(), self.jobs.clone());
        self.calling.push(thread::spawn(move || {
            let durable = disk.open().tip().unwrap().number > 0;
            calls.lock().unwrap().push((permit.binding(), durable));
            // The driver may be gone.
            let _ = jobs.send(Job::Returned(permit.component(), permit.generation()));
        }));
    }

    fn run(mut self, jobs: &mpsc::Receiver<Job>) {
        loop {
            match jobs.recv().unwrap() {
                Job::End => break,
                job => self.take(job),
            }
        }
        // Stores what was sent, and answers it.
        self.committer.take();
        while let Ok(job) = jobs.try_recv() {
            match job {
                Job::Ask => {}
                job => self.take(job),
            }
        }
        for call in self.calling.drain(..) {
            call.join().unwrap();
        }
    }
}

/// Two ask for one action while the gate closes and opens, and perhaps while the disk fails. What arrived.
fn race(failing: bool) -> Vec<(Digest, bool)> {
    let disk = MemoryStore::new().disk();
    let (jobs, received) = mpsc::channel();
    let reply = jobs.clone();
    let committer = Committer::start(Box::new(disk.open()), Backlog::default(), move |settled| {
        drop(reply.send(Job::Settled(settled)))
    })
    .unwrap();
    let options = Options {
        start: Instant::from_nanos(0),
        seed: Seed::new([1; 32]),
        must_state_observed_at: false,
    };
    let calls = Calls::default();
    let mut driver = Driver {
        engine: Engine::new(catalog(), options),
        chain: Chain::default(),
        committer: Some(committer),
        armed: VecDeque::new(),
        open: false,
        halted: false,
        jobs: jobs.clone(),
        disk: disk.clone(),
        calls: calls.clone(),
        calling: Vec::new(),
    };
    driver.set(true);
    let text = RawText(
        br#"{"response":"r","components":[{"id":"a","type":"lift","payload":{}}]}"#.to_vec(),
    );
    driver.step(Input::Submit {
        owner: String::new(),
        text,
        fallback_id: None,
    });
    let driving = thread::spawn(move || driver.run(&received));
    let mut others: Vec<JoinHandle<()>> = (0..2)
        .map(|_| {
            let jobs = jobs.clone();
            thread::spawn(move || jobs.send(Job::Ask).unwrap())
        })
        .collect();
    let world = jobs.clone();
    others.push(thread::spawn(move || {
        world.send(Job::Gate(false)).unwrap();
        world.send(Job::Gate(true)).unwrap();
    }));
    if failing {
        let disk = disk.clone();
        others.push(thread::spawn(move || disk.fail_next(StoreError::Ended)));
    }
    for other in others {
        other.join().unwrap();
    }
    jobs.send(Job::End).unwrap();
    driving.join().unwrap();
    calls.lock().unwrap().clone()
}

#[test]
fn one_call_at_most_after_a_durable_token_and_a_look_that_saw_support() {
    catalog();
    let seen = Arc::new(std::sync::Mutex::new([0, 0]));
    let counted = seen.clone();
    shuttle::check_random(
        move || {
            let arrived = race(false);
            assert!(arrived.len() <= 1, "{arrived:?}");
            assert!(arrived.iter().all(|(_, durable)| *durable));
            counted.lock().unwrap()[arrived.len()] += 1;
        },
        SCHEDULES,
    );
    // Schedules were tried in which it left, and in which the gate closed first.
    let [withheld, left] = *seen.lock().unwrap();
    assert!(withheld > 0 && left > 0, "{withheld} {left}");
}

#[test]
fn a_disk_that_fails_lets_nothing_out_that_is_not_on_it() {
    catalog();
    shuttle::check_random(
        || {
            let arrived = race(true);
            assert!(arrived.len() <= 1, "{arrived:?}");
            assert!(arrived.iter().all(|(_, durable)| *durable));
        },
        SCHEDULES,
    );
}
