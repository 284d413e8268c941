//! Rows in and out. Statements are prepared once.

use crate::{Batch, Current, Record, Snapshot, Tip};
use halo_canon::{Digest, Instant};
use rusqlite::{
    Connection, Error, OptionalExtension as _, Params, Result, Row, params, types::Type,
};

const INSERT_RECORD: &str =
    "INSERT INTO record (number, at, kind, body, body_digest, previous, hash)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const READ: &str = "SELECT number, at, kind, body, body_digest, previous, hash FROM record
    WHERE number > ?1 ORDER BY number LIMIT ?2";
const NEWEST: &str = "SELECT number, at, kind, body, body_digest, previous, hash FROM record
    WHERE number < ?1 ORDER BY number DESC LIMIT ?2";
const TIP: &str = "SELECT number, hash FROM record ORDER BY number DESC LIMIT 1";
const HASH: &str = "SELECT hash FROM record WHERE number = ?1";
const ERASE: &str = "UPDATE record SET body = NULL WHERE number = ?1 AND body IS NOT NULL";
const UPSERT_CURRENT: &str =
    "INSERT INTO current (address, accepted_at, since, record) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (address) DO UPDATE SET
      accepted_at = excluded.accepted_at, since = excluded.since, record = excluded.record";
const CURRENT: &str = "SELECT address, accepted_at, since, record FROM current ORDER BY address";
const INSERT_SNAPSHOT: &str =
    "INSERT OR REPLACE INTO snapshot (number, hash, digest, bytes) VALUES (?1, ?2, ?3, ?4)";
const KEEP_TWO_SNAPSHOTS: &str = "DELETE FROM snapshot
    WHERE number NOT IN (SELECT number FROM snapshot ORDER BY number DESC LIMIT 2)";
const FORGET_SNAPSHOTS: &str = "DELETE FROM snapshot WHERE number < ?1";
const SNAPSHOTS: &str = "SELECT number, hash, digest, bytes FROM snapshot ORDER BY number DESC";

pub(super) fn insert(connection: &Connection, batch: &Batch) -> Result<()> {
    let mut insert = connection.prepare_cached(INSERT_RECORD)?;
    for record in &batch.records {
        insert.execute(params![
            number(record.number),
            record.at.to_string(),
            record.kind,
            record.body,
            record.body_digest.as_bytes(),
            record.previous.as_bytes(),
            record.hash.as_bytes(),
        ])?;
    }
    let mut upsert = connection.prepare_cached(UPSERT_CURRENT)?;
    for current in &batch.current {
        upsert.execute(params![
            current.address,
            current.accepted_at.to_string(),
            // The same 64 bits: the whole range comes back.
            current.since.cast_signed(),
            current.record,
        ])?;
    }
    Ok(())
}

pub(super) fn read(connection: &Connection, after: u64, limit: usize) -> Result<Vec<Record>> {
    all(
        connection,
        READ,
        params![number(after), count(limit)],
        record,
    )
}

pub(super) fn newest(
    connection: &Connection,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<Record>> {
    let before = before.map_or(i64::MAX, number);
    all(connection, NEWEST, params![before, count(limit)], record)
}

pub(super) fn tip(connection: &Connection) -> Result<Tip> {
    let tip = connection
        .prepare_cached(TIP)?
        .query_row([], |row| {
            Ok(Tip {
                number: unsigned(row, 0)?,
                hash: digest(row, 1)?,
            })
        })
        .optional()?;
    Ok(tip.unwrap_or_else(Tip::empty))
}

pub(super) fn erase(connection: &Connection, numbers: &[u64]) -> Result<()> {
    let mut erase = connection.prepare_cached(ERASE)?;
    for erased in numbers {
        erase.execute([number(*erased)])?;
    }
    Ok(())
}

pub(super) fn current(connection: &Connection) -> Result<Vec<Current>> {
    all(connection, CURRENT, [], |row| {
        Ok(Current {
            address: row.get(0)?,
            accepted_at: instant(row, 1)?,
            since: row.get::<_, i64>(2)?.cast_unsigned(),
            record: row.get(3)?,
        })
    })
}

/// Whether the chain has that record with that hash.
pub(super) fn has(connection: &Connection, tip: Tip) -> Result<bool> {
    if tip.number == 0 {
        return Ok(tip == Tip::empty());
    }
    let hash = connection
        .prepare_cached(HASH)?
        .query_row([number(tip.number)], |row| digest(row, 0))
        .optional()?;
    Ok(hash == Some(tip.hash))
}

pub(super) fn save_snapshot(connection: &Connection, snapshot: &Snapshot) -> Result<()> {
    connection
        .prepare_cached(INSERT_SNAPSHOT)?
        .execute(params![
            number(snapshot.number),
            snapshot.hash.as_bytes(),
            snapshot.digest.as_bytes(),
            snapshot.bytes,
        ])?;
    connection.prepare_cached(KEEP_TWO_SNAPSHOTS)?.execute([])?;
    Ok(())
}

pub(super) fn forget_snapshots(connection: &Connection, below: u64) -> Result<()> {
    connection
        .prepare_cached(FORGET_SNAPSHOTS)?
        .execute([number(below)])?;
    Ok(())
}

pub(super) fn latest_snapshot(connection: &Connection) -> Result<Option<Snapshot>> {
    Ok(snapshots(connection, 1)?.into_iter().next())
}

/// The newest `most` that are sound and follow a record of the chain, newest first.
pub(super) fn snapshots(connection: &Connection, most: usize) -> Result<Vec<Snapshot>> {
    let mut sound = Vec::new();
    let mut statement = connection.prepare_cached(SNAPSHOTS)?;
    let mut rows = statement.query([])?;
    while sound.len() < most
        && let Some(row) = rows.next()?
    {
        let snapshot = Snapshot {
            number: unsigned(row, 0)?,
            hash: digest(row, 1)?,
            digest: digest(row, 2)?,
            bytes: row.get(3)?,
        };
        if snapshot.is_sound() && has(connection, snapshot.after())? {
            sound.push(snapshot);
        }
    }
    Ok(sound)
}

fn all<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    connection
        .prepare_cached(sql)?
        .query_map(parameters, read)?
        .collect()
}

fn record(row: &Row<'_>) -> Result<Record> {
    Ok(Record {
        number: unsigned(row, 0)?,
        at: instant(row, 1)?,
        kind: row.get(2)?,
        body: row.get(3)?,
        body_digest: digest(row, 4)?,
        previous: digest(row, 5)?,
        hash: digest(row, 6)?,
    })
}

/// SQLite counts to 2^63; a chain does not come that far.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, column: usize) -> Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| Error::IntegralValueOutOfRange(column, value))
}

fn digest(row: &Row<'_>, column: usize) -> Result<Digest> {
    row.get(column).map(Digest::from_bytes)
}

fn instant(row: &Row<'_>, column: usize) -> Result<Instant> {
    let text = row.get_ref(column)?.as_str()?;
    Instant::parse(text)
        .map_err(|error| Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}
