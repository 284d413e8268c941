//! The journal read again: records in, the machine as it was out.

use crate::{
    driver::draw_seed,
    machine::{BadCatalog, Cause, Machine, SavedMachine, Stepped, Unusable},
    turn::{Accepted, Event, Turn},
};
use halo_canon::Instant;
use halo_core::{ComponentRef, Input, Outcome, Seed};
use halo_journal::{ChainFault, Current, Reader, Record, Snapshot, StoreError, Tip, Verifier};
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
    /// The record that the snapshot follows from which it was read on; 0: everything was read.
    pub from: u64,
    /// Why newer snapshots were passed over.
    pub passed_over: Vec<String>,
}

/// A record whose place in the chain was checked, and whose text was read.
pub struct Checked<D> {
    number: u64,
    tip: Tip,
    at: Instant,
    /// Nothing: it was erased.
    turn: Option<Turn<D>>,
}

/// Checks records and reads their texts, one after the other.
struct Checker(Verifier);

impl Checker {
    fn check<D: DeserializeOwned>(&mut self, record: &Record) -> Result<Checked<D>, ReplayError> {
        self.0.check(record).map_err(ReplayError::Chain)?;
        let number = record.number;
        let read = |body: &String| {
            serde_json::from_str(body).map_err(|error| ReplayError::Unreadable {
                number,
                reason: error.to_string(),
            })
        };
        let turn = record.body.as_ref().map(read).transpose()?;
        Ok(Checked {
            number,
            tip: record.tip(),
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

    /// Goes on from a snapshot.
    ///
    /// Errors: it can't be used, and nothing changed.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let saved = SavedMachine::read(&snapshot.bytes).map_err(|why| why.to_string())?;
        let seed = match self.seed.take() {
            Some(seed) => seed,
            None => draw_seed().map_err(|why| why.to_string())?,
        };
        let at = saved.at();
        let mut machine = Machine::restore(saved, seed).map_err(|why: Unusable| why.to_string())?;
        machine.tell_decisions(self.decisions);
        self.wake = machine.engine().wake_at();
        self.newest = self.newest.max(at);
        self.machine = Some(machine);
        Ok(())
    }

    /// Goes on from the newest snapshot that can be used: after which record. With why others were passed over.
    fn restore_newest(&mut self, reader: &dyn Reader) -> Result<(Tip, Vec<String>), StoreError> {
        let mut passed_over = Vec::new();
        for snapshot in reader.snapshots()? {
            match self.restore(&snapshot) {
                Ok(()) => return Ok((snapshot.after(), passed_over)),
                Err(why) => {
                    let number = snapshot.number;
                    passed_over.push(format!("the snapshot after record {number}: {why}"));
                }
            }
        }
        Ok((Tip::empty(), passed_over))
    }

    fn step<D>(&mut self, checked: Checked<D>) -> Result<(Stepped, D), ReplayError> {
        let Checked {
            number, at, turn, ..
        } = checked;
        let Some(turn) = turn else {
            return Err(ReplayError::Erased { number });
        };
        self.newest = self.newest.max(at);
        let cause = Cause {
            by: &turn.by,
            key: turn.key.as_deref(),
        };
        let of_catalog = |reason| ReplayError::Catalog { number, reason };
        let Some(machine) = &mut self.machine else {
            let seed = self.seed.take().or_else(|| draw_seed().ok());
            let (Event::Catalog { file, text }, Some(seed)) = (&turn.event, seed) else {
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

    /// Steps through a record, where it and all that it rests on can be read.
    fn step_or_pass(&mut self, checked: Checked<Box<RawValue>>) -> Result<Reread, ReplayError> {
        let number = checked.number;
        let Some(turn) = &checked.turn else {
            self.machine = None;
            return Ok(Reread::Erased(number));
        };
        if self.machine.is_none() && number > 1 {
            return Ok(Reread::Unfounded(number));
        }
        let not_kept = matches!(turn.event, Event::Refused { .. });
        let of_call = OfCall::of(&turn.event);
        let at = checked.at;
        let (stepped, recorded) = self.step(checked)?;
        Ok(if not_kept {
            Reread::NotKept(number)
        } else {
            Reread::Both(Box::new(Both {
                number,
                at,
                recorded,
                of_call,
                stepped,
            }))
        })
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

/// Reads a journal again from its newest snapshot on, with what was accepted after its newest record. Nothing: it is
/// empty. What lies before the snapshot is not checked here; `halo audit verify` reads everything.
///
/// Errors: it can't be read, or was changed. `progress` is told the number of records read so far.
pub fn replay(
    reader: Box<dyn Reader>,
    seed: Seed,
    mut progress: impl FnMut(u64),
) -> Result<Option<Replayed>, ReplayError> {
    let mut steps = Steps::new(seed, false);
    let (from, passed_over) = steps.restore_newest(&*reader)?;
    let reader = ahead(reader, from, |checked: Checked<IgnoredAny>| {
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
            from: from.number,
            passed_over,
        }
    }))
}

/// A record read again for an audit.
pub(crate) enum Reread {
    /// What it says was decided, and what is decided now.
    Both(Box<Both>),
    /// It is of a submission whose text was too long to keep.
    NotKept(u64),
    /// Its text was erased.
    Erased(u64),
    /// Its text is there; that of an earlier one is not, and no snapshot between them.
    Unfounded(u64),
}

impl Reread {
    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Both(both) => both.number,
            Self::NotKept(number) | Self::Erased(number) | Self::Unfounded(number) => *number,
        }
    }
}

/// A record with what it says was decided, and what came of it now.
pub(crate) struct Both {
    pub(crate) number: u64,
    pub(crate) at: Instant,
    pub(crate) recorded: Box<RawValue>,
    /// What it says of an adapter's call.
    pub(crate) of_call: Option<OfCall>,
    pub(crate) stepped: Stepped,
}

/// What a record says of an adapter's call.
#[derive(Clone, Copy)]
pub(crate) enum OfCall {
    /// An armed instance got its last look.
    LastLook(ComponentRef),
    /// What came of the call.
    Outcome(ComponentRef, u32, Outcome),
}

impl OfCall {
    fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Input(Input::LastLook { component, .. }) => Some(Self::LastLook(*component)),
            Event::Input(Input::Outcome {
                component,
                generation,
                outcome,
            }) => Some(Self::Outcome(*component, *generation, *outcome)),
            _ => None,
        }
    }
}

/// Reads a whole journal again for an audit: the chain from its first record on, and every decision that can still be
/// computed. After a record whose text was erased, that is from the next snapshot on. `each` is told the machine as it is
/// after the record.
///
/// Errors: the first record that does not belong there, or can't be read.
pub(crate) fn reread(
    reader: Box<dyn Reader>,
    seed: Seed,
    mut each: impl FnMut(Reread, Option<&Machine>),
) -> Result<(), ReplayError> {
    let mut steps = Steps::new(seed, true);
    let snapshots = reader.snapshots()?;
    ahead(reader, Tip::empty(), |checked: Checked<Box<RawValue>>| {
        let (number, tip) = (checked.number, checked.tip);
        let reread = steps.step_or_pass(checked)?;
        each(reread, steps.machine.as_ref());
        let here = snapshots.iter().find(|snapshot| snapshot.after() == tip);
        if let Some(snapshot) = here.filter(|_| steps.machine.is_none()) {
            steps
                .restore(snapshot)
                .map_err(|reason| ReplayError::Unreadable { number, reason })?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Reads and checks records on a thread of its own, ahead of those that are stepped through. Gives the reader back.
fn ahead<D: DeserializeOwned + Send>(
    reader: Box<dyn Reader>,
    from: Tip,
    mut step: impl FnMut(Checked<D>) -> Result<(), ReplayError>,
) -> Result<Box<dyn Reader>, ReplayError> {
    std::thread::scope(|scope| {
        let (pages, read) = mpsc::sync_channel(PAGES_AHEAD);
        let reading = scope.spawn(move || {
            let result = read_pages(&*reader, from, &pages);
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
    from: Tip,
    pages: &mpsc::SyncSender<Vec<Checked<D>>>,
) -> Result<(), ReplayError> {
    let mut checker = Checker(Verifier::after(from));
    let mut after = from.number;
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
