//! Two figures, printed; run by hand: `cargo test --release -p halo-runtime --test figures -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, clippy::print_stdout, dead_code, reason = "tests")]

#[path = "common/runtime.rs"]
mod common;

use halo_canon::{Duration, Instant};
use halo_core::{ComponentRef, Input, Outcome, Seed};
use halo_journal::{Batch, Chain, Draft, Snapshot, SqliteStore, Store};
use halo_runtime::{
    machine::{Cause, Machine},
    replay::replay,
    turn::{Event, Turn},
};

const RESPONSES: u32 = 200_000;
/// Forgotten this many responses after their submission, this many at once.
const KEPT: u32 = 1_000;

/// A machine whose records go to a store, where there is one.
struct Writer {
    machine: Machine,
    chain: Chain,
    now: Instant,
    store: Option<SqliteStore>,
    batch: Batch,
}

impl Writer {
    fn new(store: Option<SqliteStore>) -> Self {
        let now = Instant::parse("2026-01-01T00:00:00Z").unwrap();
        let seed = Seed::new([1; 32]);
        let mut writer = Self {
            machine: Machine::new(now, seed, "catalog.yaml", common::CATALOG).unwrap(),
            chain: Chain::default(),
            now,
            store,
            batch: Batch::default(),
        };
        let event = Event::Catalog {
            file: "catalog.yaml".into(),
            text: common::CATALOG.into(),
        };
        writer.record(event, &halo_runtime::machine::Stepped::default());
        writer
    }

    fn input(&mut self, input: Input) {
        self.now = self.now.plus(Duration::from_millis(1));
        let event = Event::Input(input);
        let stepped = self
            .machine
            .step(self.now, Cause::default(), event.clone())
            .unwrap();
        self.record(event, &stepped);
    }

    fn record(&mut self, event: Event, stepped: &halo_runtime::machine::Stepped) {
        let kind = event.kind().into();
        let turn = Turn {
            by: String::new(),
            key: None,
            state: Vec::new(),
            event,
            decisions: &stepped.decisions,
            called: None,
        };
        let draft = Draft {
            at: self.now,
            kind,
            body: serde_json::to_string(&turn).unwrap(),
        };
        let record = self.chain.link(draft);
        self.machine
            .note_record(record.number, self.now, &stepped.touched);
        if let Some(store) = &mut self.store {
            self.batch.records.push(record);
            if self.batch.records.len() == 5_000 {
                store.append(&std::mem::take(&mut self.batch)).unwrap();
            }
        }
    }

    /// One response, submitted, dispatched, and later forgotten: five records, and one for many.
    fn response(&mut self, number: u32) {
        let text = format!(
            r#"{{"response":"r{number}","components":[{{"id":"a","type":"lift","payload":{{"to":"r{number}"}}}}]}}"#
        );
        self.input(Input::Submit {
            owner: "ann".into(),
            text: text.as_str().into(),
            fallback_id: None,
        });
        let component = ComponentRef {
            response: number,
            position: 0,
        };
        let response = self.machine.engine().response_name(number).unwrap();
        self.input(Input::Dispatch {
            response: response.clone(),
            component: "a".into(),
            payload: None,
            token: None,
            sequence: None,
        });
        self.input(Input::last_look(component));
        self.input(Input::Outcome {
            component,
            generation: 1,
            outcome: Outcome::Accepted,
        });
        self.input(Input::Observe {
            response,
            component: "a".into(),
            generation: None,
            reply: halo_core::Reply::Success,
        });
        if number.is_multiple_of(KEPT) && number > 0 {
            let responses = (number - KEPT..number).collect();
            self.input(Input::Forget { responses });
            self.machine.take_quiet(self.now);
            // As the driver does where payloads are kept.
            self.machine.erased(Instant::MAX);
        }
    }
}

fn rss_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    let kib = line.split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() / 1024
}

#[test]
#[ignore = "a figure, not a check"]
fn memory_after_many_forgotten_responses() {
    let mut writer = Writer::new(None);
    let open = r#"{"epoch":1,"value":{"open":true}}"#;
    writer.input(Input::Update {
        records: vec![("gate".into(), open.into())],
    });
    let before = rss_mib();
    for number in 0..RESPONSES {
        writer.response(number);
        if (number + 1).is_multiple_of(50_000) {
            println!("{} responses: {} MiB more", number + 1, rss_mib() - before);
        }
    }
    let engine = writer.machine.engine();
    assert!(engine.responses().count() <= 2 * KEPT as usize);
}

#[test]
#[ignore = "a figure, not a check"]
fn start_up_with_a_million_records() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let mut writer = Writer::new(Some(store));
    let open = r#"{"epoch":1,"value":{"open":true}}"#;
    writer.input(Input::Update {
        records: vec![("gate".into(), open.into())],
    });
    let mut snapshot = None;
    for number in 0..RESPONSES {
        writer.response(number);
        // As if the last one was taken 15,000 records ago.
        if number == RESPONSES - 3_000 {
            let bytes = writer.machine.save(writer.now).bytes();
            println!("a snapshot of {} KiB", bytes.len() / 1024);
            snapshot = Some(Snapshot::new(writer.chain.tip(), bytes));
        }
    }
    let mut store = writer.store.take().unwrap();
    store.append(&writer.batch).unwrap();
    let number = writer.chain.tip().number;
    let timed = |what: &str, store: &SqliteStore| {
        let begin = std::time::Instant::now();
        let replayed = replay(store.reader().unwrap(), Seed::new([2; 32]), |_| {})
            .unwrap()
            .unwrap();
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{number} records, {what}: {seconds:.2} s, {} MiB",
            rss_mib()
        );
        assert_eq!(replayed.machine.engine().response_count(), RESPONSES);
    };
    store.save_snapshot(&snapshot.unwrap()).unwrap();
    timed("from the snapshot", &store);
    store.forget_snapshots(u64::MAX / 2).unwrap();
    timed("everything", &store);
}
