//! Responses: submitted, listed, read, waited for.

use crate::{
    answer::{Out, With as _, json, nothing, tagged},
    app::{Call, stopped},
    page,
    problem::Problem,
    target::encode,
};
use halo_runtime::api::{Address, Caller, Kept};
use hyper::{
    Response, StatusCode,
    header::{IF_NONE_MATCH, LOCATION},
};
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

type Answer = Result<Response<Out>, Problem>;

/// The longest `Idempotency-Key`: it may serve as an id.
const LONGEST_KEY: usize = 128;

pub(crate) async fn submit(mut call: Call) -> Answer {
    let wait = call.query.wait()?;
    let key = idempotency_key(&call)?;
    // Taken before anything is decided: a caller that can't wait should not submit twice.
    let place = wait.map(|_| call.wait_place()).transpose()?;
    let text = std::mem::take(&mut call.body.bytes);
    let (caller, room) = (call.caller.clone(), call.holder.room());
    let submitted = call.app.runtime.submit(caller, text, key, room).await?;
    let mut kept = submitted.kept;
    if let Some(wait) = wait {
        // It is the caller's own, whatever else they see.
        let address = Address {
            id: kept.response.clone(),
            owner: Some(call.caller.name.clone()),
        };
        kept = until(&call, &address, kept, wait, |kept| !kept.moving).await?;
    }
    drop(place);
    let status = match submitted.new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    let location = format!("/v1/responses/{}", encode(&kept.response));
    Ok(tagged(json(status, &kept), kept.changed).with(LOCATION, &location))
}

/// The key, as an id may be.
fn idempotency_key(call: &Call) -> Result<Option<String>, Problem> {
    let mut values = call.headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let fits = |key: &&str| {
        let mut bytes = key.bytes();
        let first = bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric());
        let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
        first && key.len() <= LONGEST_KEY && bytes.all(rest)
    };
    let key = value.to_str().ok().filter(fits);
    match (key, values.next()) {
        (Some(key), None) => Ok(Some(key.to_owned())),
        _ => Err(Problem::new(
            "bad_request",
            "`Idempotency-Key` must be one id: a letter or digit, then up to 127 of those and `._:-`",
        )),
    }
}

pub(crate) async fn list(call: Call) -> Answer {
    let limit = call.query.limit()?;
    let before = call.query.number("before")?;
    let Some(caller) = seen_as(&call) else {
        return Ok(json(
            StatusCode::OK,
            &json!({"responses": [], "next": null}),
        ));
    };
    let (responses, next) = call.app.runtime.responses(caller, before, limit).await?;
    let next = next.map(|next| page::link(&call, "before", u64::from(next)));
    Ok(json(StatusCode::OK, &page::Responses { responses, next }))
}

/// As whom a list is read: `?owner=` narrows it to the things of one. Nothing: they are none of the caller's.
pub(crate) fn seen_as(call: &Call) -> Option<Caller> {
    let caller = call.caller.clone();
    match call.query.get("owner") {
        None => Some(caller),
        Some(owner) if caller.sees_all || owner == caller.name => Some(Caller {
            name: owner.to_owned(),
            sees_all: false,
        }),
        Some(_) => None,
    }
}

pub(crate) async fn get(call: Call) -> Answer {
    let wait = call.query.wait()?;
    let place = wait.map(|_| call.wait_place()).transpose()?;
    let known = version(&call)?;
    let address = call.address();
    let mut kept = call
        .app
        .runtime
        .response(call.caller.clone(), address.clone())
        .await?;
    if let Some(wait) = wait {
        kept = match known {
            Some(known) => {
                let changed = |kept: &Kept| kept.changed != known;
                until(&call, &address, kept, wait, changed).await?
            }
            None => until(&call, &address, kept, wait, |kept| !kept.moving).await?,
        };
    }
    drop(place);
    let answer = match known == Some(kept.changed) {
        true => nothing(StatusCode::NOT_MODIFIED),
        false => json(StatusCode::OK, &kept),
    };
    Ok(tagged(answer, kept.changed))
}

/// The version that the caller knows.
fn version(call: &Call) -> Result<Option<u64>, Problem> {
    let Some(value) = call.headers.get(IF_NONE_MATCH) else {
        return Ok(None);
    };
    let text = value
        .to_str()
        .ok()
        .map(|text| text.trim_start_matches("W/"));
    let quoted = text.and_then(|text| text.strip_prefix('"')?.strip_suffix('"'));
    let number = quoted.and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| {
        Problem::new(
            "bad_request",
            "`If-None-Match` must be one `ETag` that this call gave",
        )
    })
}

/// Reads a response again and again as it changes, until it is as wanted, the time is over, or the server stops.
async fn until(
    call: &Call,
    address: &Address,
    mut kept: Kept,
    wait: Duration,
    wanted: impl Fn(&Kept) -> bool,
) -> Result<Kept, Problem> {
    let deadline = Instant::now() + wait;
    let mut stopping = call.app.stopping.clone();
    while !wanted(&kept) {
        let changed = call
            .app
            .runtime
            .changed(call.caller.clone(), address.clone(), kept.changed);
        let waited = tokio::select! {
            waited = timeout_at(deadline, changed) => waited,
            () = stopped(&mut stopping) => break,
        };
        let Ok(changed) = waited else {
            break;
        };
        changed?;
        kept = call
            .app
            .runtime
            .response(call.caller.clone(), address.clone())
            .await?;
    }
    Ok(kept)
}
