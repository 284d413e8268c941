//! Why the store did not do what it was asked.

use crate::Place;
use std::{error::Error, path::PathBuf, sync::Arc};

/// What lies behind a [`StoreError`]; shared, because one failure answers everybody who waits for the store.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Why the store did not do what it was asked. Each says what, where, and what to do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// No room on the volume.
    #[error(
        "{path}: no space left, nothing of this was stored; free space on that volume, then go on"
    )]
    Full {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: Cause,
    },
    /// The system refused or failed an operation. What was being stored may be there or not: the tip says it.
    #[error("{path}: can't {doing}; check the volume and the access rights, then go on")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// What the system said.
        source: Cause,
    },
    /// What is stored is not what was written.
    #[error(
        "{path}: damaged, {what}; keep a copy of the directory, audit it, and restore a backup"
    )]
    Corrupt {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Another process works with this directory.
    #[error("{path}: in use by {}; stop it first, or give this one a directory of its own", holder(*pid))]
    InUse {
        /// The directory.
        path: PathBuf,
        /// That process, where it said who it is.
        pid: Option<u32>,
    },
    /// Somebody reads or writes the file and did not let go in time.
    #[error(
        "{path}: can't {doing}, another reader or writer of the file did not let go; end it, then try again"
    )]
    Busy {
        /// What was tried.
        doing: &'static str,
        /// Which file.
        path: PathBuf,
    },
    /// A record does not follow the newest one. Nothing of its batch was stored.
    #[error(
        "record {} does not follow: record {} is next, after {}; read the tip and link again",
        got.number, expected.number, expected.previous
    )]
    OutOfOrder {
        /// What would have followed.
        expected: Place,
        /// What came.
        got: Place,
    },
    /// Not a journal, or one of another version.
    #[error("{path}: {found}; {way_out}")]
    UnsupportedFormat {
        /// Which file.
        path: PathBuf,
        /// What it is.
        found: String,
        /// What to do.
        way_out: &'static str,
    },
    /// The thread that writes has ended; nothing is stored any more.
    #[error("the journal's writer has ended; start again")]
    Ended,
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(
        || "another process".to_owned(),
        |pid| format!("process {pid}"),
    )
}

impl StoreError {
    /// Whether more space on the volume would help.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// An operation on a file or directory that failed.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>, error: std::io::Error) -> Self {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        let path = path.into();
        let full = matches!(error.kind(), StorageFull | QuotaExceeded);
        let source: Cause = Arc::new(error);
        if full {
            Self::Full { path, source }
        } else {
            Self::Io {
                doing,
                path,
                source,
            }
        }
    }
}
