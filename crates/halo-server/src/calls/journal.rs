//! The journal, read page by page, as JSON.

use crate::{
    answer::{Out, json},
    app::{App, Call},
    page,
    problem::Problem,
};
use halo_canon::{Digest, Instant};
use halo_journal::{Reader, Record, StoreError};
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde_json::value::RawValue;

/// How much text a page holds before no further record is read for it.
const PAGE_BYTES: usize = 4 << 20;
/// The most records that are read at once.
const MOST: usize = 128;

/// A record as it is shown: in audits and on the event stream.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    pub(crate) number: u64,
    at: Instant,
    kind: Box<str>,
    hash: Digest,
    previous: Digest,
    body_digest: Digest,
    /// Null once it is erased.
    body: Option<Box<RawValue>>,
}

impl From<&Record> for Shown {
    fn from(record: &Record) -> Self {
        // The runtime writes JSON only.
        let body = record.body.clone();
        Self {
            number: record.number,
            at: record.at,
            kind: record.kind.clone(),
            hash: record.hash,
            previous: record.previous,
            body_digest: record.body_digest,
            body: body.and_then(|body| RawValue::from_string(body).ok()),
        }
    }
}

#[derive(Serialize)]
struct Page {
    records: Vec<Shown>,
    next: Option<String>,
}

/// Where a page begins, and which way it goes.
#[derive(Debug, Clone, Copy)]
enum Place {
    Above(u64),
    Below(u64),
}

pub(crate) async fn audit(call: Call) -> Result<Response<Out>, Problem> {
    let limit = call.query.limit()?;
    let (after, before) = (
        call.query.number("after")?,
        call.query.number::<u64>("before")?,
    );
    let from = match (after, before) {
        (after, None) => Place::Above(after.unwrap_or(0)),
        (None, Some(before)) => Place::Below(before),
        (Some(_), Some(_)) => {
            let detail = "give one of `after` and `before`";
            return Err(Problem::new("bad_request", detail));
        }
    };
    let records = call
        .app
        .runtime
        .journal(move |reader| page(reader, from, limit))
        .await?;
    let last = records.last().map(|record| record.number);
    let next = match from {
        // Going up there may always be more, later.
        Place::Above(_) => last.map(|last| page::link(&call, "after", last)),
        Place::Below(_) => last
            .filter(|last| *last > 1)
            .map(|last| page::link(&call, "before", last)),
    };
    let records = records.iter().map(Shown::from).collect();
    Ok(json(StatusCode::OK, &Page { records, next }))
}

/// Records in small steps: one of them may be as large as a response.
fn page(reader: &dyn Reader, from: Place, limit: usize) -> Result<Vec<Record>, StoreError> {
    let mut records: Vec<Record> = Vec::new();
    let (mut from, mut step, mut bytes) = (from, 1, 0);
    while records.len() < limit && bytes < PAGE_BYTES {
        let some = step.min(limit - records.len());
        let read = match from {
            Place::Above(after) => reader.read(after, some)?,
            Place::Below(before) => reader.newest(Some(before), some)?,
        };
        let Some(last) = read.last() else {
            break;
        };
        from = match from {
            Place::Above(_) => Place::Above(last.number),
            Place::Below(_) => Place::Below(last.number),
        };
        let size = read.iter().map(size).sum::<usize>();
        step = next_step(step, size);
        bytes += size;
        records.extend(read);
    }
    Ok(records)
}

fn size(record: &Record) -> usize {
    record.body.as_ref().map_or(0, String::len)
}

/// How many to read next, when the last so many were this large.
fn next_step(step: usize, bytes: usize) -> usize {
    if bytes > PAGE_BYTES / 8 {
        1
    } else {
        (step * 2).min(MOST)
    }
}

impl App {
    /// A page of records above `after`, for those who read all of them in order.
    pub(crate) async fn records_above(&self, after: u64) -> Result<Vec<Record>, Problem> {
        let read = move |reader: &dyn Reader| page(reader, Place::Above(after), MOST);
        Ok(self.runtime.journal(read).await?)
    }

    /// The number of the newest durable record.
    pub(crate) async fn newest_record(&self) -> Result<u64, Problem> {
        let tip = self.runtime.journal(|reader: &dyn Reader| reader.tip());
        Ok(tip.await?.number)
    }
}
