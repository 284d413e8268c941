//! From a directory to a connection that can be relied on.

use super::{error::failure, rows};
use crate::{ChainFault, StoreError, Tip, lock, verify};
use rusqlite::{Connection, OpenFlags};
use std::{
    fs::{self, OpenOptions},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// `HALO`, where SQLite keeps what a file is.
const APPLICATION_ID: i32 = 0x4841_4C4F;

/// The version of the tables below.
const FORMAT: i32 = 1;

const TABLES: &str = include_str!("tables.sql");

/// How long to wait for somebody else who reads or writes the file. Our own readers hold it for one page of records.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pages of write-ahead log before they are moved to the main file: 16 MiB, so that this is no part of most commits.
const CHECKPOINT_PAGES: i32 = 4096;

/// Where the journal of a data directory is.
pub(super) fn journal_file(directory: &Path) -> PathBuf {
    directory.join("journal.db")
}

/// Makes the directory where there is none, readable for its owner only, and its entry durable.
///
/// Errors: the system refuses.
pub(super) fn prepare(directory: &Path) -> Result<(), StoreError> {
    if directory.is_dir() {
        return Ok(());
    }
    let failed = |error| StoreError::io("create the data directory", directory, error);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).map_err(failed)?;
    let parent = directory.canonicalize().map_err(failed)?;
    match parent.parent() {
        Some(parent) => sync(parent),
        None => Ok(()),
    }
}

/// Makes the entries of a directory durable.
fn sync(directory: &Path) -> Result<(), StoreError> {
    fs::File::open(directory)
        .and_then(|file| file.sync_all())
        .map_err(|error| StoreError::io("make the directory durable", directory, error))
}

/// Opens the journal for writing, making it where there is none, and checks its end.
///
/// Errors: no journal of ours, a damaged one, or the medium fails.
pub(super) fn writer(file: &Path) -> Result<(Connection, Tip), StoreError> {
    create(file)?;
    let connection = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let failed = |doing| move |error| failure(doing, file, error);
    let new = check_format(&connection, file)?;
    settings(&connection, file)?;
    if new {
        let text = format!(
            "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}; COMMIT;"
        );
        connection
            .execute_batch(&text)
            .map_err(failed("make the tables of"))?;
    }
    let tip = sound_tip(&connection, file)?;
    Ok((connection, tip))
}

/// Opens the journal of a directory that may be in use.
///
/// Errors: none there, not ours, or the medium fails.
pub(super) fn reader(file: &Path) -> Result<Connection, StoreError> {
    if let Err(error) = fs::metadata(file) {
        return Err(StoreError::io("find the journal", file, error));
    }
    let connection = connect(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if check_format(&connection, file)? {
        return Err(foreign(file, "an empty database".to_owned()));
    }
    Ok(connection)
}

/// Makes an empty file, readable for its owner only; SQLite gives its other files the same mode.
fn create(file: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    // Never opens an existing one: closing it would drop the locks that SQLite holds on it in this process.
    options.write(true).create_new(true);
    lock::private(&mut options);
    let empty = match options.open(file) {
        Ok(_) => {
            if let Some(directory) = file.parent() {
                sync(directory)?;
            }
            true
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            fs::metadata(file).is_ok_and(|metadata| metadata.len() == 0)
        }
        Err(error) => return Err(StoreError::io("create the journal", file, error)),
    };
    let log = log_file(file);
    let logged = fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0);
    if empty && logged {
        // SQLite would take the log for a leftover and drop it, with all that was committed to it.
        return Err(StoreError::Corrupt {
            path: file.to_owned(),
            what: format!("it is empty or gone, and {} is not", log.display()),
        });
    }
    Ok(())
}

fn connect(file: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    // A connection has one user at a time: `Connection` is not `Sync`.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection =
        Connection::open_with_flags(file, flags).map_err(|error| failure("open", file, error))?;
    connection
        .busy_timeout(PATIENCE)
        .map_err(|error| failure("open", file, error))?;
    Ok(connection)
}

/// Whether the file is new. Nothing is changed before this says that it is ours.
fn check_format(connection: &Connection, file: &Path) -> Result<bool, StoreError> {
    let ask = |sql| {
        connection
            .query_row(sql, [], |row| row.get::<_, i32>(0))
            .map_err(|error| failure("read the header of", file, error))
    };
    let id = ask("PRAGMA application_id")?;
    let format = ask("PRAGMA user_version")?;
    let tables = ask("SELECT count(*) FROM sqlite_schema")?;
    match (id, format, tables) {
        (APPLICATION_ID, FORMAT, _) => Ok(false),
        (APPLICATION_ID, newer, _) => Err(StoreError::UnsupportedFormat {
            path: file.to_owned(),
            found: format!("a journal of format {newer}, this program knows format {FORMAT}"),
            way_out: "use the version of the program that wrote it, or a later one",
        }),
        (0, 0, 0) => Ok(true),
        _ => Err(foreign(
            file,
            "an SQLite database of something else".to_owned(),
        )),
    }
}

fn foreign(file: &Path, found: String) -> StoreError {
    StoreError::UnsupportedFormat {
        path: file.to_owned(),
        found: format!("no journal but {found}"),
        way_out: "name another data directory",
    }
}

/// What durability and erasure rest on is set and read back: builds of SQLite differ in their defaults.
fn settings(connection: &Connection, file: &Path) -> Result<(), StoreError> {
    let failed = |error| failure("set up", file, error);
    let log: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(failed)?;
    if log != "wal" {
        return Err(refused(file, "write-ahead log"));
    }
    let settings = [
        ("synchronous", 2),
        ("fullfsync", 1),
        ("checkpoint_fullfsync", 1),
        ("secure_delete", 1),
        ("wal_autocheckpoint", CHECKPOINT_PAGES),
        ("cache_size", -16_384),
        ("temp_store", 2),
    ];
    for (name, value) in settings {
        connection
            // Some answer when they are set, some do not.
            .execute_batch(&format!("PRAGMA {name} = {value}"))
            .map_err(failed)?;
        let set: i32 = connection
            .query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
            .map_err(failed)?;
        if set != value {
            return Err(refused(file, name));
        }
    }
    Ok(())
}

fn refused(file: &Path, setting: &str) -> StoreError {
    StoreError::UnsupportedFormat {
        path: file.to_owned(),
        found: format!("SQLite does not take the setting `{setting}` here"),
        way_out: "use a local file system",
    }
}

/// The newest record, which a start relies on. It and its link are checked; the whole chain is for an audit.
fn sound_tip(connection: &Connection, file: &Path) -> Result<Tip, StoreError> {
    let last = rows::newest(connection, None, 2).map_err(|error| failure("read", file, error))?;
    let corrupt = |fault: ChainFault| StoreError::Corrupt {
        path: file.to_owned(),
        what: fault.to_string(),
    };
    let Some(newest) = last.first() else {
        return Ok(Tip::empty());
    };
    let mut verifier = match last.get(1) {
        Some(before) => {
            verify::check_itself(before).map_err(corrupt)?;
            verify::Verifier::after(before.tip())
        }
        None => verify::Verifier::default(),
    };
    verifier.check(newest).map_err(corrupt)?;
    Ok(newest.tip())
}

/// SQLite's write-ahead log of `file`.
fn log_file(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Writes the log once more, as it stands.
///
/// After a flush that failed the system may take the pages for written although they never reached the disk, and say so
/// at the next flush. Only what is written anew is flushed anew.
///
/// Errors: the medium still fails.
pub(super) fn rewrite_log(file: &Path) -> Result<(), StoreError> {
    let path = log_file(file);
    let rewrite = || {
        let mut log = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let mut bytes = Vec::new();
        log.read_to_end(&mut bytes)?;
        log.seek(SeekFrom::Start(0))?;
        log.write_all(&bytes)?;
        log.sync_all()
    };
    rewrite().map_err(|error| StoreError::io("write the log once more", &path, error))
}
