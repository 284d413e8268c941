//! Bodies: limited while they are read, and strict.

use crate::{access::Holder, app::App, problem::Problem};
use halo_canon::{Document, Object, Value};
use http_body_util::BodyExt as _;
use hyper::{
    HeaderMap,
    body::{Body as _, Incoming},
    header::{CONTENT_TYPE, EXPECT},
};
use std::{sync::atomic::Ordering, time::Duration};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

/// Up to here a body needs no place among the large ones.
const SMALL: usize = 64 * 1024;
/// The largest state record.
const STATE: usize = 1 << 20;
/// What stands around candidates.
const AROUND: usize = 1_024;
/// How much of a body that is too large is read for the client's sake, and for how long.
const PASSED_OVER: usize = 16 << 20;
const PASSING: Duration = Duration::from_millis(500);
/// The deepest body of the small calls.
const DEPTH: u32 = 8;

/// How long a body may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// 64 KiB.
    Small,
    /// A state record: 1 MiB.
    State,
    /// A response: what the catalog says.
    Response,
}

impl Limit {
    pub(crate) fn bytes(self, app: &App) -> usize {
        let response = app.response_bytes.load(Ordering::Relaxed);
        match self {
            Self::Small => SMALL,
            Self::State => STATE,
            Self::Response => response.saturating_add(AROUND),
        }
    }
}

/// A body that was read, with the place that it takes.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) bytes: Vec<u8>,
    _place: Option<OwnedSemaphorePermit>,
}

/// Reads a body of at most `limit`. Whoever sends slowly is not waited for, and nobody holds more than a few large ones.
pub(crate) async fn read(
    app: &App,
    holder: &Holder,
    headers: &HeaderMap,
    body: Incoming,
    limit: usize,
) -> Result<Read, Problem> {
    let too_large = || {
        Problem::new(
            "too_large",
            format!("the body is longer than {limit} bytes"),
        )
    };
    let least = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if least > limit {
        if !headers.contains_key(EXPECT) {
            pass_over(body).await;
        }
        return Err(too_large());
    }
    if !body.is_end_stream() && !is_json(headers) {
        let detail = "send `Content-Type: application/json`";
        return Err(Problem::new("unsupported_media_type", detail));
    }
    let reading = pieces(app, holder, body, limit, too_large);
    timeout(app.patience.body, reading)
        .await
        .unwrap_or_else(|_| Err(slow()))
}

async fn pieces(
    app: &App,
    holder: &Holder,
    mut body: Incoming,
    limit: usize,
    too_large: impl Fn() -> Problem,
) -> Result<Read, Problem> {
    let mut text: Vec<u8> = Vec::new();
    let mut place = None;
    loop {
        let Ok(next) = timeout(app.patience.body_pause, body.frame()).await else {
            return Err(slow());
        };
        let Some(frame) = next else {
            break;
        };
        let Ok(frame) = frame else {
            return Err(Problem::new("bad_request", "the body broke off"));
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if text.len() + data.len() > limit {
            drop((text, place));
            pass_over(body).await;
            return Err(too_large());
        }
        if text.len() + data.len() > SMALL && place.is_none() {
            let waiting = holder.large_bodies.clone().acquire_owned();
            place = waiting.await.ok();
        }
        text.extend_from_slice(&data);
    }
    Ok(Read {
        bytes: text,
        _place: place,
    })
}

/// Reads what is left of a body and forgets it, for a moment: a client that is told while it sends may never read it.
async fn pass_over(mut body: Incoming) {
    let passing = async {
        let mut passed = 0;
        while let Some(Ok(frame)) = body.frame().await {
            passed += frame.data_ref().map_or(0, |data| data.len());
            if passed > PASSED_OVER {
                return;
            }
        }
    };
    let _ = timeout(PASSING, passing).await;
}

fn slow() -> Problem {
    Problem::new("too_slow", "the body did not arrive in time")
}

/// Anything else is what a browser's form could send without being asked.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value.map(|value| value.split(';').next().unwrap_or("").trim());
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
}

/// A small body as a document. Empty is `{}`.
pub(crate) fn small(bytes: &[u8]) -> Result<Document, Problem> {
    parse(bytes, DEPTH)
}

/// A body as a document of at most this depth.
pub(crate) fn parse(bytes: &[u8], depth: u32) -> Result<Document, Problem> {
    let text = if bytes.is_empty() { b"{}" } else { bytes };
    Document::parse(text, depth).map_err(|error| Problem::new("bad_json", error.to_string()))
}

/// The members of an object that has all of `needed`, perhaps some of `other`, and no more.
pub(crate) fn members<'a>(
    document: &'a Document,
    needed: &[&str],
    other: &[&str],
) -> Result<Object<'a>, Problem> {
    let wrong = |detail: String| Problem::new("bad_request", detail);
    let object = document
        .root()
        .as_object()
        .ok_or_else(|| wrong("the body must be a JSON object".into()))?;
    let known = |name: &str| needed.contains(&name) || other.contains(&name);
    if object.iter().any(|(name, _)| !known(name)) {
        let all: Vec<&str> = needed.iter().chain(other).copied().collect();
        let all = match all.is_empty() {
            true => "none".to_owned(),
            false => all.join(", "),
        };
        return Err(wrong(format!(
            "the body has an unknown member; known are: {all}"
        )));
    }
    match needed.iter().find(|name| object.get(name).is_none()) {
        Some(name) => Err(wrong(format!("the body lacks `{name}`"))),
        None => Ok(object),
    }
}

/// A member that is text.
pub(crate) fn text<'a>(object: Object<'a>, name: &str) -> Result<&'a str, Problem> {
    let text = object.get(name).and_then(Value::as_str);
    text.ok_or_else(|| Problem::new("bad_request", format!("`{name}` must be text")))
}
