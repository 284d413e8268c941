//! A long journal, as a runtime would have written it.

use crate::ledger::BenchError;
use halo_canon::{Duration, Instant};
use halo_core::{ComponentRef, Input, Outcome, RawText, Seed};
use halo_journal::{Batch, Chain, Draft, Snapshot, SqliteStore, Store};
use halo_runtime::{
    machine::{Cause, Machine, Stepped},
    turn::{Event, Turn},
};

/// Records of one commit.
const COMMIT: usize = 5_000;
/// Actions in a response.
const ACTIONS: usize = 4;

/// Writes at least `records` records: responses submitted, armed, looked at, called, answered. With one snapshot, as far
/// before the end as a runtime's newest one is at most.
///
/// Errors: the store fails.
pub(crate) fn write(
    store: &mut SqliteStore,
    catalog: &str,
    records: u64,
) -> Result<(), BenchError> {
    let defect = |_| BenchError::Defect("catalog");
    let machine = Machine::new(
        Instant::from_nanos(0),
        Seed::new([9; 32]),
        "bench.yaml",
        catalog,
    );
    let mut history = History {
        machine: machine.map_err(defect)?,
        now: Instant::from_nanos(0),
        chain: Chain::default(),
        batch: Batch::default(),
    };
    let first = Event::Catalog {
        file: "bench.yaml".into(),
        text: catalog.into(),
    };
    history.record(first, &Stepped::default());
    let limit = RawText(br#"{"epoch":1,"value":{"most":1000}}"#.to_vec());
    let records_of_limit = vec![("limit".to_owned(), limit)];
    history.turn(Input::Update {
        records: records_of_limit,
    })?;
    let snapshot_at = records.saturating_sub(halo_runtime::driver::SNAPSHOT_EVERY);
    let mut saved = false;
    let mut number = 0_u32;
    while history.chain.tip().number < records {
        history.response(number)?;
        number += 1;
        if history.batch.records.len() >= COMMIT {
            store.append(&std::mem::take(&mut history.batch))?;
            let tip = history.chain.tip();
            if !saved && tip.number >= snapshot_at {
                let bytes = history.machine.save(history.now).bytes();
                store.save_snapshot(&Snapshot::new(tip, bytes))?;
                saved = true;
            }
        }
    }
    store.append(&history.batch)?;
    Ok(())
}

struct History {
    machine: Machine,
    now: Instant,
    chain: Chain,
    batch: Batch,
}

impl History {
    fn response(&mut self, number: u32) -> Result<(), BenchError> {
        let id = format!("r{number}");
        let component = |action: usize| {
            format!(
                r#"{{"id":"p{action}","type":"pay","payload":{{"amount":{action},"lane":"l{action}"}}}}"#
            )
        };
        let components: Vec<String> = (0..ACTIONS).map(component).collect();
        let text = format!(
            r#"{{"response":"{id}","components":[{}]}}"#,
            components.join(",")
        );
        self.turn(Input::Submit {
            owner: String::new(),
            text: text.as_str().into(),
            fallback_id: None,
        })?;
        for position in 0..ACTIONS as u32 {
            let component = ComponentRef {
                response: number,
                position,
            };
            self.turn(Input::Dispatch {
                response: id.as_str().into(),
                component: format!("p{position}"),
                payload: None,
                token: None,
                sequence: None,
            })?;
            self.turn(Input::last_look(component))?;
            self.turn(Input::Outcome {
                component,
                generation: 1,
                outcome: Outcome::Accepted,
            })?;
        }
        Ok(())
    }

    fn turn(&mut self, input: Input) -> Result<(), BenchError> {
        self.now = self.now.plus(Duration::from_nanos(1_000));
        let event = Event::Input(input);
        let stepped = self.machine.step(self.now, Cause::default(), event.clone());
        let stepped = stepped.map_err(|_| BenchError::Defect("catalog"))?;
        self.record(event, &stepped);
        Ok(())
    }

    fn record(&mut self, event: Event, stepped: &Stepped) {
        let kind = event.kind();
        let turn = Turn {
            by: String::new(),
            key: None,
            state: Vec::new(),
            event,
            decisions: &stepped.decisions,
            called: None,
        };
        // Its parts are text, numbers and maps with text keys: it has a JSON form.
        let body = serde_json::to_string(&turn).unwrap_or_default();
        self.batch.records.push(self.chain.link(Draft {
            at: self.now,
            kind: kind.into(),
            body,
        }));
    }
}
