//! The journal read again: records in, the machine as it was out.

use crate::{
    decision::Decision,
    machine::{BadCatalog, Cause, Machine, Stepped},
    turn::{Accepted, Event, Turn},
};
use halo_canon::Instant;
use halo_core::Seed;
use halo_journal::{ChainFault, Current, Reader, Record, StoreError, Tip, Verifier};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;
use std::sync::mpsc;

/// Records read at once.
const PAGE: usize = 1_000;
/// Pages that are read before they are stepped through.
const PAGES_AHEAD: usize = 4;

/// Why a journal can't be read again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The chain is broken.
    #[error("the journal was changed: {0}; see `halo audit verify`")]
    Chain(ChainFault),
    /// A record's text is no turn.
    #[error("record {number} can't be read: {reason}")]
    Unreadable {
        /// Which.
        number: u64,
        /// Why.
        reason: String,
    },
    /// A catalog of the journal does not compile.
    #[error("record {number}: {reason}")]
    Catalog {
        /// Which record.
        number: u64,
        /// Why.
        reason: BadCatalog,
    },
    /// Its text was erased, and no snapshot stands for it.
    #[error("the text of record {number} was erased, and no snapshot after it is sound")]
    Erased {
        /// Which.
        number: u64,
    },
}

/// The machine as it was.
pub struct Replayed {
    /// Engine and books.
    pub machine: Machine,
    /// The newest record.
    pub tip: Tip,
    /// The newest record's time.
    pub newest: Instant,
    /// When time itself is the next input.
    pub wake: Option<Instant>,
    /// State accepted after the newest record: the next one tells of it.
    pub fresh: Vec<Accepted>,
}

/// A record whose place in the chain was checked, and whose text was read.
pub struct Checked<D> {
    number: u64,
    at: Instant,
    turn: Turn<D>,
}

/// Checks records and reads their texts, one after the other.
#[derive(Default)]
struct Checker(Verifier);

impl Checker {
    fn check<D: DeserializeOwned>(&mut self, record: &Record) -> Result<Checked<D>, ReplayError> {
        self.0.check(record).map_err(ReplayError::Chain)?;
        let number = record.number;
        let Some(body) = &record.body else {
            return Err(ReplayError::Erased { number });
        };
        let turn = serde_json::from_str(body).map_err(|error| ReplayError::Unreadable {
            number,
            reason: error.to_string(),
        })?;
        Ok(Checked {
            number,
            at: record.at,
            turn,
        })
    }
}

/// Steps through records again, one after the other.
struct Steps {
    machine: Option<Machine>,
    seed: Option<Seed>,
    /// Whether decisions are wanted.
    decisions: bool,
    newest: Instant,
    wake: Option<Instant>,
}

impl Steps {
    fn new(seed: Seed, decisions: bool) -> Self {
        Self {
            machine: None,
            seed: Some(seed),
            decisions,
            newest: Instant::MIN,
            wake: None,
        }
    }

    fn step<D>(&mut self, checked: Checked<D>) -> Result<(Stepped, D), ReplayError> {
        let Checked { number, at, turn } = checked;
        self.newest = self.newest.max(at);
        let cause = Cause {
            by: &turn.by,
            key: turn.key.as_deref(),
        };
        let of_catalog = |reason| ReplayError::Catalog { number, reason };
        let Some(machine) = &mut self.machine else {
            let (Event::Catalog { file, text }, Some(seed)) = (&turn.event, self.seed.take())
            else {
                return Err(ReplayError::Unreadable {
                    number,
                    reason: "the first record must be a catalog".into(),
                });
            };
            let mut machine = Machine::new(at, seed, file, text).map_err(of_catalog)?;
            machine.tell_decisions(self.decisions);
            self.machine = Some(machine);
            return Ok((Stepped::default(), turn.decisions));
        };
        for accepted in &turn.state {
            let stepped = machine.accept(accepted);
            self.wake = stepped.wake.or(self.wake);
        }
        let stepped = machine.step(at, cause, turn.event).map_err(of_catalog)?;
        machine.note_record(number, at, &stepped.touched);
        self.wake = stepped.wake.or(self.wake);
        Ok((stepped, turn.decisions))
    }

    /// Takes state that was accepted after the newest record; what it was.
    fn take_current(&mut self, tip: Tip, current: Vec<Current>) -> Vec<Accepted> {
        let Some(machine) = &mut self.machine else {
            return Vec::new();
        };
        let fresh = current
            .into_iter()
            .filter(|current| current.since > tip.number);
        let mut fresh: Vec<Accepted> = fresh
            .filter_map(|current| {
                Some(Accepted {
                    address: current.address,
                    accepted_at: current.accepted_at,
                    record: RawValue::from_string(current.record).ok()?,
                })
            })
            .collect();
        fresh.sort_by_key(|accepted| accepted.accepted_at);
        for accepted in &fresh {
            let stepped = machine.accept(accepted);
            self.newest = self.newest.max(accepted.accepted_at);
            self.wake = stepped.wake.or(self.wake);
        }
        fresh
    }
}

/// Reads a whole journal again, with what was accepted after its newest record. Nothing: it is empty.
///
/// Errors: it can't be read, or was changed. `progress` is told the number of records read so far.
pub fn replay(
    reader: Box<dyn Reader>,
    seed: Seed,
    mut progress: impl FnMut(u64),
) -> Result<Option<Replayed>, ReplayError> {
    let mut steps = Steps::new(seed, false);
    let reader = ahead(reader, |checked: Checked<IgnoredAny>| {
        let number = checked.number;
        steps.step(checked)?;
        if number.is_multiple_of(PAGE as u64) {
            progress(number);
        }
        Ok(())
    })?;
    let tip = reader.tip()?;
    let fresh = steps.take_current(tip, reader.current()?);
    Ok(steps.machine.map(|machine| {
        let mut machine = machine;
        machine.tell_decisions(true);
        Replayed {
            machine,
            tip,
            newest: steps.newest,
            wake: steps.wake,
            fresh,
        }
    }))
}

/// A record read again: what it says was decided, and what is decided now.
pub(crate) struct Reread {
    pub(crate) number: u64,
    pub(crate) recorded: Box<RawValue>,
    pub(crate) now: Vec<Decision>,
    /// Whether it is of a submission whose text was too long to keep.
    pub(crate) not_kept: bool,
}

/// Reads a whole journal again for an audit.
///
/// Errors: the first record that does not belong there, or can't be read.
pub(crate) fn reread(
    reader: Box<dyn Reader>,
    seed: Seed,
    mut each: impl FnMut(Reread),
) -> Result<(), ReplayError> {
    let mut steps = Steps::new(seed, true);
    ahead(reader, |checked: Checked<Box<RawValue>>| {
        let number = checked.number;
        let not_kept = matches!(checked.turn.event, Event::Refused { .. });
        let (stepped, recorded) = steps.step(checked)?;
        each(Reread {
            number,
            recorded,
            now: stepped.decisions,
            not_kept,
        });
        Ok(())
    })?;
    Ok(())
}

/// Reads and checks records on a thread of its own, ahead of those that are stepped through. Gives the reader back.
fn ahead<D: DeserializeOwned + Send>(
    reader: Box<dyn Reader>,
    mut step: impl FnMut(Checked<D>) -> Result<(), ReplayError>,
) -> Result<Box<dyn Reader>, ReplayError> {
    std::thread::scope(|scope| {
        let (pages, read) = mpsc::sync_channel(PAGES_AHEAD);
        let reading = scope.spawn(move || {
            let result = read_pages(&*reader, &pages);
            (reader, result)
        });
        for page in read {
            for checked in page {
                // On an error the channel closes with `read`, and the thread ends.
                step(checked)?;
            }
        }
        match reading.join() {
            Ok((reader, result)) => result.map(|()| reader),
            Err(_) => Err(ReplayError::Unreadable {
                number: 0,
                reason: "the thread that reads has failed".into(),
            }),
        }
    })
}

fn read_pages<D: DeserializeOwned>(
    reader: &dyn Reader,
    pages: &mpsc::SyncSender<Vec<Checked<D>>>,
) -> Result<(), ReplayError> {
    let mut checker = Checker::default();
    let mut after = 0;
    loop {
        let records = reader.read(after, PAGE)?;
        let Some(last) = records.last() else {
            return Ok(());
        };
        after = last.number;
        let mut page = Vec::with_capacity(records.len());
        let mut fault = None;
        for record in &records {
            match checker.check(record) {
                Ok(checked) => page.push(checked),
                Err(error) => {
                    fault = Some(error);
                    break;
                }
            }
        }
        // What comes before a fault is stepped through; nobody listens once a step failed.
        let gone = pages.send(page).is_err();
        match fault {
            Some(fault) => return Err(fault),
            None if gone => return Ok(()),
            None => {}
        }
    }
}
