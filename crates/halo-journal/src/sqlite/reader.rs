//! Reading beside the writer, or without one.

use super::{error::failure, open, rows};
use crate::{Current, Reader, Record, Snapshot, StoreError, Tip};
use rusqlite::Connection;
use std::path::PathBuf;

/// A view of a journal for one thread. Each call sees what is durable when it begins.
#[derive(Debug)]
pub struct SqliteReader {
    file: PathBuf,
    connection: Connection,
}

impl SqliteReader {
    pub(super) fn open(file: PathBuf) -> Result<Self, StoreError> {
        let connection = open::reader(&file)?;
        Ok(Self { file, connection })
    }

    fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        question(&self.connection).map_err(|error| failure("read", &self.file, error))
    }
}

impl Reader for SqliteReader {
    fn tip(&self) -> Result<Tip, StoreError> {
        self.ask(rows::tip)
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
