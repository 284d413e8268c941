//! Why a component stands where it does: which check, which field, its value then and now, and what would let it back.

use crate::{
    decision,
    machine::Machine,
    turn::{Event, Turn},
};
use halo_canon::Instant;
use halo_core::{ComponentEntry, ComponentRef, Input, ObligationEntry, ObligationId, ResponseName};
use halo_journal::{Reader, Record, StoreError};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

/// How far back a value of a state record is looked for, in records.
const SEARCHED: usize = 20_000;
const PAGE: usize = 500;

/// The explanation.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The response.
    pub response: ResponseName,
    /// The component with its newest instance, reasons included.
    pub component: ComponentEntry,
    /// What happened to it, in order.
    pub history: Vec<Happened>,
    /// The records in its footprint: as it was admitted, as it ended or left, and now.
    pub records: Vec<Values>,
    /// What would let it back, in words.
    pub way_back: String,
    /// Its newest obligation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obligation: Option<ObligationEntry>,
}

/// Something that happened to a component.
#[derive(Debug, Clone, Serialize)]
pub struct Happened {
    /// In which record.
    pub record: u64,
    /// When.
    pub at: Instant,
    /// The decision, as recorded.
    pub decision: Value,
}

/// A state record in the footprint.
#[derive(Debug, Clone, Serialize)]
pub struct Values {
    /// Which.
    pub address: String,
    /// As it was when the newest instance was admitted, where that can still be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_admission: Option<Box<RawValue>>,
    /// As it was when it ended or left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_the_end: Option<Box<RawValue>>,
    /// As it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Box<RawValue>>,
}

/// What an explanation takes from the machine; the rest is read from the journal.
pub struct Question {
    name: ResponseName,
    component: ComponentEntry,
    trail: Vec<u64>,
    footprint: Vec<(String, Option<Box<RawValue>>)>,
    obligation: Option<(ObligationEntry, Obstacles)>,
}

struct Obstacles {
    missing: Vec<String>,
    expires: Instant,
    open: bool,
}

impl Question {
    /// What there is to explain about a component; nothing where there is none.
    pub fn about(machine: &Machine, at: ComponentRef) -> Option<Self> {
        let engine = machine.engine();
        let footprint = engine.footprint(at).into_iter().map(|address| {
            let now = engine.state_record(&address);
            let now = now.and_then(|record| RawValue::from_string(record.text()).ok());
            (address, now)
        });
        let obligation = engine.newest_obligation(at);
        Some(Self {
            name: engine.response_name(at.response)?,
            component: engine.view(at)?.into(),
            trail: machine.trail(at.response).to_vec(),
            footprint: footprint.collect(),
            obligation: obligation.and_then(|id| obstacles(machine, id)),
        })
    }

    /// Reads the rest from the journal.
    ///
    /// Errors: it can't be read.
    pub fn answer(self, reader: &dyn Reader) -> Result<Explanation, StoreError> {
        let mut history = Vec::new();
        for number in &self.trail {
            let page = reader.read(number.saturating_sub(1), 1)?;
            for record in page {
                history.extend(self.happened(&record));
            }
        }
        let phases = |from: &str| {
            let phase = |happened: &&Happened| {
                happened.decision.get("decision") == Some(&Value::from("phase"))
                    && happened.decision.get("generation")
                        == Some(&Value::from(self.component.generation))
                    && (happened.decision.get("from") == Some(&Value::from("proposed")))
                        == (from == "proposed")
            };
            history.iter().rfind(phase).map(|happened| happened.record)
        };
        let (admitted, ended) = (phases("proposed"), phases("later"));
        let mut records = Vec::new();
        for (address, now) in &self.footprint {
            let then = |number: Option<u64>| match number {
                Some(number) => value_at(reader, address, number),
                None => Ok(None),
            };
            records.push(Values {
                address: address.clone(),
                at_admission: then(admitted)?,
                at_the_end: then(ended)?,
                now: now.clone(),
            });
        }
        Ok(Explanation {
            way_back: self.way_back(),
            response: self.name,
            component: self.component,
            history,
            records,
            obligation: self.obligation.map(|(entry, _)| entry),
        })
    }

    /// The decisions of a record that name the component.
    fn happened(&self, record: &Record) -> Vec<Happened> {
        let Some(turn) = turn_of(record) else {
            return Vec::new();
        };
        let decisions: Vec<Value> = serde_json::from_str(turn.decisions.get()).unwrap_or_default();
        let about = |decision: &Value| {
            decision.get("component") == Some(&Value::from(self.component.id.as_str()))
                && decision
                    .get("response")
                    .is_some_and(|response| self.is_response(response))
        };
        let decisions = decisions.into_iter().filter(about);
        decisions
            .map(|decision| Happened {
                record: record.number,
                at: record.at,
                decision,
            })
            .collect()
    }

    fn is_response(&self, named: &Value) -> bool {
        let id = named.get("id").unwrap_or(named);
        id.as_str() == Some(&*self.name.id)
    }

    fn way_back(&self) -> String {
        let component = &self.component;
        match component.phase {
            "retained" => return "nothing is wrong: it is about to leave".into(),
            "pending" => {
                return "nothing is wrong: it waits for a prerequisite, an approval, or a record that another action writes".into();
            }
            "emitted" | "dispatched" | "observed" => return "it left".into(),
            "in_doubt" => {
                return "it left, and nobody knows with what outcome: an observation or `settle` tells; it is never sent again".into();
            }
            _ => {}
        }
        if component.terminal {
            return "nothing lets this instance back: it is over for good; a new response may carry the same again".into();
        }
        match &self.obligation {
            Some((entry, obstacles)) if obstacles.open => {
                let number = entry.obligation.map_or(0, |ObligationId(number)| number);
                let until = obstacles.expires;
                let scope = entry.scope.join(", ");
                if entry.state == "ready_for_readmission" {
                    format!("send fresh candidates for {scope} to obligation {number} before {until}")
                } else if obstacles.missing.is_empty() {
                    format!(
                        "once its assignee reports support, or its route's `ready` condition holds, send fresh candidates for {scope} to obligation {number} before {until}"
                    )
                } else {
                    let missing = obstacles.missing.join(", ");
                    format!(
                        "refresh {missing}, then send fresh candidates for {scope} to obligation {number} before {until}"
                    )
                }
            }
            Some((entry, _)) => format!("its obligation is {}: nothing lets it back", entry.state),
            None => "it fell with what it depends on; it may come back in the scope of that component's obligation, or in a new response".into(),
        }
    }
}

fn obstacles(machine: &Machine, id: ObligationId) -> Option<(ObligationEntry, Obstacles)> {
    let view = machine.engine().obligation(id)?;
    let missing = view.refresh.iter().filter(|(_, refreshed)| !refreshed);
    let obstacles = Obstacles {
        missing: missing.map(|(address, _)| address.clone()).collect(),
        expires: view.expires,
        open: view.state.is_open(),
    };
    Some((decision::obligation(machine.engine(), id)?, obstacles))
}

fn turn_of(record: &Record) -> Option<Turn<Box<RawValue>>> {
    serde_json::from_str(record.body.as_deref()?).ok()
}

/// The value of a state record when record `number` was decided, where it is found near enough before.
fn value_at(
    reader: &dyn Reader,
    address: &str,
    number: u64,
) -> Result<Option<Box<RawValue>>, StoreError> {
    let mut before = number + 1;
    let mut searched = 0;
    while searched < SEARCHED && before > 1 {
        let page = reader.newest(Some(before), PAGE)?;
        let Some(last) = page.last() else {
            break;
        };
        before = last.number;
        searched += page.len();
        for record in &page {
            if let Some(found) = turn_of(record).and_then(|turn| stated(turn, address)) {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// The newest value of an address that a turn tells of.
fn stated(turn: Turn<Box<RawValue>>, address: &str) -> Option<Box<RawValue>> {
    if let Event::Input(Input::Update { records }) = &turn.event {
        let found = records.iter().rfind(|(one, _)| one == address);
        if let Some(text) = found.and_then(|(_, text)| String::from_utf8(text.0.clone()).ok()) {
            return RawValue::from_string(text).ok();
        }
    }
    let found = turn.state.into_iter().rfind(|one| one.address == address);
    found.map(|one| one.record)
}
