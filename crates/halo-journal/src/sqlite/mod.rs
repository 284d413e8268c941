//! The journal in an SQLite file: write-ahead log, flushed at every commit, one connection that writes.
//!
//! A data directory has `journal.db`, what SQLite keeps beside it, and `lock`.

mod error;
mod fault;
mod open;
mod reader;
mod rows;

use crate::{Batch, Current, Reader, Record, Snapshot, Store, StoreError, Tip, lock::Lock, store};
use error::failure;
pub use fault::Fault;
pub use reader::SqliteReader;
use rusqlite::{Connection, TransactionBehavior};
use std::path::{Path, PathBuf};

/// The writer of a data directory.
#[derive(Debug)]
pub struct SqliteStore {
    file: PathBuf,
    /// The connection, or why there is none since a commit failed: what such a connection believes is not to be relied on.
    database: Result<Connection, StoreError>,
    tip: Tip,
    /// For tests.
    faults: fault::Faults,
    /// Given back last.
    _lock: Lock,
}

impl SqliteStore {
    /// Opens the journal of a data directory; makes both where there is none, readable for their owner only.
    ///
    /// Errors: [`StoreError::InUse`] where another store has the directory; no journal of ours, or a damaged one; the
    /// medium fails.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, StoreError> {
        let directory = directory.as_ref();
        open::prepare(directory)?;
        let lock = Lock::take(directory)?;
        let file = open::journal_file(directory);
        let (connection, tip) = open::writer(&file)?;
        Ok(Self {
            file,
            database: Ok(connection),
            tip,
            faults: fault::Faults::default(),
            _lock: lock,
        })
    }

    /// Reads the journal of a directory that may be in use, and changes nothing. For audits.
    ///
    /// Errors: no journal there, or not ours; the medium fails.
    pub fn open_read_only(directory: impl AsRef<Path>) -> Result<SqliteReader, StoreError> {
        SqliteReader::open(open::journal_file(directory.as_ref()))
    }

    /// For tests, of this crate and of those above it: the medium fails.
    ///
    /// Errors: it fails already.
    #[doc(hidden)]
    pub fn inject(&mut self, fault: Fault) -> Result<(), StoreError> {
        self.faults.note(fault);
        let connection = self.database.as_ref().map_err(Clone::clone)?;
        self.faults
            .apply(connection)
            .map_err(|error| failure("set up", &self.file, error))
    }

    /// Runs `change` in a transaction that is durable when this returns.
    fn write(
        &mut self,
        doing: &'static str,
        change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        if self.database.is_err() {
            self.recover()?;
        }
        let connection = self.database.as_mut().map_err(|error| error.clone())?;
        let Err((error, reliable)) = transact(connection, change, &mut self.faults) else {
            return Ok(());
        };
        let error = failure(doing, &self.file, error);
        if !reliable {
            self.database = Err(error.clone());
            // Whether it succeeds or not: the caller learns of the first failure.
            let _ = self.recover();
        }
        Err(error)
    }

    /// Moves the log into the main file and empties it, so that no old content is left in it.
    fn empty_log(&self, doing: &'static str) -> Result<(), StoreError> {
        let connection = self.database.as_ref().map_err(Clone::clone)?;
        empty_log(connection, &self.file, doing)
    }

    fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let connection = self.database.as_ref().map_err(Clone::clone)?;
        question(connection).map_err(|error| failure("read", &self.file, error))
    }
}

/// Errors: SQLite's, and whether the connection may still be relied on: nothing was committed, and it knows it.
fn transact(
    connection: &mut Connection,
    change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    faults: &mut fault::Faults,
) -> Result<(), (rusqlite::Error, bool)> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| (error, true))?;
    match change(&transaction) {
        Ok(()) => faults.commit(transaction).map_err(|error| (error, false)),
        Err(error) => {
            drop(transaction);
            let rolled_back = connection.is_autocommit();
            let medium = error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure);
            Err((error, rolled_back && !medium))
        }
    }
}

fn empty_log(connection: &Connection, file: &Path, doing: &'static str) -> Result<(), StoreError> {
    let busy: bool = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map_err(|error| failure(doing, file, error))?;
    if busy {
        let path = file.to_owned();
        return Err(StoreError::Busy { doing, path });
    }
    Ok(())
}

impl Store for SqliteStore {
    fn append(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if self.database.is_err() {
            self.recover()?;
        }
        let tip = store::follows(self.tip, batch)?;
        if !batch.is_empty() {
            self.write("append records", |connection| {
                rows::insert(connection, batch)
            })?;
            self.tip = tip;
        }
        Ok(())
    }

    fn erase(&mut self, numbers: &[u64]) -> Result<(), StoreError> {
        const DOING: &str = "erase bodies";
        self.write(DOING, |connection| rows::erase(connection, numbers))?;
        self.empty_log(DOING)
    }

    fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let after = snapshot.after();
        if !self.ask(|connection| rows::has(connection, after))? {
            let expected = self.tip.next();
            let got = after.next();
            return Err(StoreError::OutOfOrder { expected, got });
        }
        self.write("save a snapshot", |connection| {
            rows::save_snapshot(connection, snapshot)
        })
    }

    fn forget_snapshots(&mut self, number: u64) -> Result<(), StoreError> {
        const DOING: &str = "drop snapshots";
        self.write(DOING, |connection| {
            rows::forget_snapshots(connection, number)
        })?;
        self.empty_log(DOING)
    }

    fn recover(&mut self) -> Result<Tip, StoreError> {
        if self.database.is_ok() {
            self.tip = self.ask(rows::tip)?;
            return Ok(self.tip);
        }
        open::rewrite_log(&self.file)?;
        let (connection, tip) = open::writer(&self.file)?;
        // What a failed commit left in the log must not come to life at some later start. A reader can keep it there for
        // now; the next commit overwrites it then.
        match empty_log(&connection, &self.file, "empty the log") {
            Ok(()) | Err(StoreError::Busy { .. }) => {}
            Err(error) => return Err(error),
        }
        self.faults
            .apply(&connection)
            .map_err(|error| failure("set up", &self.file, error))?;
        self.database = Ok(connection);
        self.tip = tip;
        Ok(tip)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(SqliteReader::open(self.file.clone())?))
    }
}

impl Reader for SqliteStore {
    fn tip(&self) -> Result<Tip, StoreError> {
        match &self.database {
            Ok(_) => Ok(self.tip),
            Err(error) => Err(error.clone()),
        }
    }

    fn read(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.ask(|connection| rows::read(connection, after, limit))
    }

    fn newest(&self, before: Option<u64>, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.ask(|connection| rows::newest(connection, before, limit))
    }

    fn current(&self) -> Result<Vec<Current>, StoreError> {
        self.ask(rows::current)
    }

    fn latest_snapshot(&self) -> Result<Option<Snapshot>, StoreError> {
        self.ask(rows::latest_snapshot)
    }

    fn snapshots(&self) -> Result<Vec<Snapshot>, StoreError> {
        self.ask(|connection| rows::snapshots(connection, usize::MAX))
    }
}
