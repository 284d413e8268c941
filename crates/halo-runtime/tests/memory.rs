//! What was forgotten leaves a name behind, and nothing else.

#![allow(clippy::unwrap_used, dead_code, reason = "tests")]

#[path = "common/runtime.rs"]
mod common;

use halo_canon::{Duration, Instant};
use halo_core::{ComponentRef, Input, Outcome, Seed};
use halo_journal::{Chain, Draft};
use halo_runtime::{
    machine::{Cause, Machine},
    turn::{Event, Turn},
};

const RESPONSES: u32 = 4_000;
/// Forgotten this many responses after their submission, this many at once.
const KEPT: u32 = 200;

/// A machine whose records are linked, and kept nowhere.
struct Writer {
    machine: Machine,
    chain: Chain,
    now: Instant,
}

impl Writer {
    fn new() -> Self {
        let now = Instant::parse("2026-01-01T00:00:00Z").unwrap();
        let seed = Seed::new([1; 32]);
        let mut writer = Self {
            machine: Machine::new(now, seed, "catalog.yaml", common::CATALOG).unwrap(),
            chain: Chain::default(),
            now,
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

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() * 1_024
}

#[test]
fn memory_is_bounded_by_what_is_kept_not_by_history() {
    let mut writer = Writer::new();
    let open = r#"{"epoch":1,"value":{"open":true}}"#;
    writer.input(Input::Update {
        records: vec![("gate".into(), open.into())],
    });
    let round = |writer: &mut Writer, round: u32| {
        for number in round * RESPONSES..(round + 1) * RESPONSES {
            writer.response(number);
        }
        let kept = writer.machine.engine().responses().count();
        assert!(kept <= 2 * KEPT as usize, "{kept} responses are kept");
        (writer.machine.books().len(), resident())
    };
    // The first round fills what is used again.
    let (books, before) = round(&mut writer, 0);
    let (later, after) = round(&mut writer, 1);
    assert!(
        later <= books + KEPT as usize,
        "{books} entries, then {later}"
    );
    // Far below the kilobytes that each response took while it was kept.
    let grown = after.saturating_sub(before);
    assert!(grown <= u64::from(RESPONSES) * 512, "{grown} bytes more");
}
