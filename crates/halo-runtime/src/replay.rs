//! The journal read again: records in, the machine as it was out.

use crate::{
    machine::{BadCatalog, Cause, Machine, Stepped},
    turn::{Accepted, Event, Turn},
};
use halo_canon::Instant;
use halo_core::Seed;
use halo_journal::{ChainFault, Current, Reader, Record, StoreError, Tip, Verifier};
use serde_json::value::RawValue;

/// Records read at once.
const PAGE: usize = 1_000;

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

/// Reads records again, one after the other.
pub struct Replay {
    machine: Option<Machine>,
    verifier: Verifier,
    seed: Option<Seed>,
    newest: Instant,
    wake: Option<Instant>,
}

/// A record read again.
pub struct Reread {
    /// What came of it now.
    pub stepped: Stepped,
    /// What the record says came of it.
    pub decisions: Box<RawValue>,
    /// Whether the text that was refused was too long to keep.
    pub kept_nothing: bool,
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

impl Replay {
    /// From the beginning. `seed` is drawn anew: no token outlives a process.
    pub fn new(seed: Seed) -> Self {
        Self {
            machine: None,
            verifier: Verifier::default(),
            seed: Some(seed),
            newest: Instant::MIN,
            wake: None,
        }
    }

    /// The next record.
    ///
    /// Errors: it does not belong there, or can't be read.
    pub fn read(&mut self, record: &Record) -> Result<Reread, ReplayError> {
        self.verifier.check(record).map_err(ReplayError::Chain)?;
        let number = record.number;
        let Some(body) = &record.body else {
            return Err(ReplayError::Erased { number });
        };
        let turn: Turn<Box<RawValue>> =
            serde_json::from_str(body).map_err(|error| ReplayError::Unreadable {
                number,
                reason: error.to_string(),
            })?;
        let stepped = self
            .step(record, &turn)
            .map_err(|reason| ReplayError::Catalog { number, reason })?
            .ok_or_else(|| ReplayError::Unreadable {
                number,
                reason: "the first record must be a catalog".into(),
            })?;
        if let Some(machine) = &mut self.machine {
            machine.note_record(number, &stepped.touched);
        }
        self.newest = self.newest.max(record.at);
        self.wake = stepped.wake.or(self.wake);
        Ok(Reread {
            kept_nothing: matches!(turn.event, Event::Refused { .. }),
            stepped,
            decisions: turn.decisions,
        })
    }

    fn step(
        &mut self,
        record: &Record,
        turn: &Turn<Box<RawValue>>,
    ) -> Result<Option<Stepped>, BadCatalog> {
        let Some(machine) = &mut self.machine else {
            let (Event::Catalog { file, text }, Some(seed)) = (&turn.event, self.seed.take())
            else {
                return Ok(None);
            };
            self.machine = Some(Machine::new(record.at, seed, file, text)?);
            return Ok(Some(Stepped::default()));
        };
        for accepted in &turn.state {
            let stepped = machine.accept(accepted);
            self.wake = stepped.wake.or(self.wake);
        }
        let cause = Cause {
            by: &turn.by,
            key: turn.key.as_deref(),
        };
        machine.step(record.at, cause, turn.event.clone()).map(Some)
    }

    /// The machine so far, to read.
    pub fn machine(&self) -> Option<&Machine> {
        self.machine.as_ref()
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
    reader: &dyn Reader,
    seed: Seed,
    mut progress: impl FnMut(u64),
) -> Result<Option<Replayed>, ReplayError> {
    let mut replay = Replay::new(seed);
    let mut after = 0;
    loop {
        let page = reader.read(after, PAGE)?;
        let Some(last) = page.last() else {
            break;
        };
        after = last.number;
        for record in &page {
            replay.read(record)?;
        }
        progress(after);
    }
    let tip = reader.tip()?;
    let fresh = replay.take_current(tip, reader.current()?);
    Ok(replay.machine.map(|machine| Replayed {
        machine,
        tip,
        newest: replay.newest,
        wake: replay.wake,
        fresh,
    }))
}
