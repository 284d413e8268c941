//! What SQLite says, in our words.

use crate::StoreError;
use rusqlite::{Error, ErrorCode};
use std::{path::Path, sync::Arc};

/// `doing` failed on `file`.
pub(super) fn failure(doing: &'static str, file: &Path, error: Error) -> StoreError {
    let path = file.to_owned();
    match &error {
        Error::SqliteFailure(cause, _) => match cause.code {
            ErrorCode::DiskFull => StoreError::Full {
                path,
                source: Arc::new(error),
            },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy { doing, path },
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => corrupt(path, &error),
            _ => StoreError::Io {
                doing,
                path,
                source: Arc::new(error),
            },
        },
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => corrupt(path, &error),
        _ => StoreError::Io {
            doing,
            path,
            source: Arc::new(error),
        },
    }
}

fn corrupt(path: std::path::PathBuf, error: &Error) -> StoreError {
    StoreError::Corrupt {
        path,
        what: error.to_string(),
    }
}
