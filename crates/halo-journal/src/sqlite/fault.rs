//! Media that fail on demand, for tests.

use rusqlite::{Connection, Error, Result, Transaction, ffi};

/// How the medium fails.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// There is room for so many pages of 4 KiB; without a number, for any.
    Room(Option<u32>),
    /// The next commit reports a failed flush. `stored`: what was to be flushed is there all the same.
    Flush {
        /// Whether it is there.
        stored: bool,
    },
}

/// The faults that are to come.
#[derive(Debug, Default)]
pub(super) struct Faults {
    room: Option<u32>,
    flush: Option<bool>,
}

impl Faults {
    pub(super) fn note(&mut self, fault: Fault) {
        match fault {
            Fault::Room(pages) => self.room = pages,
            Fault::Flush { stored } => self.flush = Some(stored),
        }
    }

    /// Tells a connection how much room there is.
    pub(super) fn apply(&self, connection: &Connection) -> Result<()> {
        let pages = self.room.unwrap_or(u32::MAX - 1);
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
    }

    /// Commits, unless that is to fail.
    pub(super) fn commit(&mut self, transaction: Transaction<'_>) -> Result<()> {
        let Some(stored) = self.flush.take() else {
            return transaction.commit();
        };
        if stored {
            transaction.commit()?;
        }
        Err(Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_IOERR_FSYNC),
            None,
        ))
    }
}
