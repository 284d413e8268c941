//! One component: asked to leave, rolled, approved, rejected, withdrawn, settled, observed, explained.

use crate::{
    answer::{Out, json, nothing, tagged},
    app::Call,
    body::{members, parse, small, text},
    page,
    problem::Problem,
};
use halo_canon::{Digest, Document, Object, Value};
use halo_core::{Reply as Milestone, Settlement, Voice};
use halo_runtime::api::{Failure, Kept};
use hyper::{Response, StatusCode};
use serde_json::json;
use std::sync::atomic::Ordering;

type Answer = Result<Response<Out>, Problem>;

/// The largest generation.
const MAX_GENERATION: f64 = u32::MAX as f64;

/// The response afterwards.
pub(super) fn kept(kept: Result<Kept, Failure>) -> Answer {
    let kept = kept?;
    Ok(tagged(json(StatusCode::OK, &kept), kept.changed))
}

/// A body in which nothing stands.
pub(super) fn empty(call: &Call) -> Result<(), Problem> {
    members(&small(&call.body.bytes)?, &[], &[]).map(|_| ())
}

pub(crate) async fn dispatch(call: Call) -> Answer {
    empty(&call)?;
    let (address, component) = (call.address(), call.part("component"));
    let runtime = &call.app.runtime;
    let answer = runtime
        .dispatch(call.caller.clone(), address, component)
        .await?;
    Ok(json(StatusCode::OK, &json!({"answer": answer.name()})))
}

pub(crate) async fn roll(call: Call) -> Answer {
    let document = parse(&call.body.bytes, nested(&call))?;
    let payload = members(&document, &[], &["payload"])?
        .get("payload")
        .map(|payload| payload.to_canonical().into_bytes());
    let (address, component) = (call.address(), call.part("component"));
    let runtime = &call.app.runtime;
    kept(
        runtime
            .roll(call.caller.clone(), address, component, payload)
            .await,
    )
}

/// How deep a body may be in which parts of responses stand.
pub(super) fn nested(call: &Call) -> u32 {
    call.app.depth.load(Ordering::Relaxed).saturating_add(1)
}

pub(crate) async fn approve(call: Call) -> Answer {
    let document = small(&call.body.bytes)?;
    let seen = seen(members(&document, &["generation", "digest"], &[])?)?;
    voice(call, document, seen, Voice::Approve).await
}

pub(crate) async fn reject(call: Call) -> Answer {
    let document = small(&call.body.bytes)?;
    let object = members(&document, &["generation", "digest", "text"], &[])?;
    let seen = seen(object)?;
    let text = text(object, "text")?.to_owned();
    voice(call, document, seen, Voice::Reject { text }).await
}

async fn voice(call: Call, _: Document, seen: (u32, Digest), voice: Voice) -> Answer {
    let (address, component) = (call.address(), call.part("component"));
    let runtime = &call.app.runtime;
    let said = runtime
        .voice(call.caller.clone(), address, component, Some(seen), voice)
        .await;
    kept(said)
}

/// The instance that an approver saw.
fn seen(object: Object<'_>) -> Result<(u32, Digest), Problem> {
    let wrong = |detail| Problem::new("bad_request", detail);
    let generation = object
        .get("generation")
        .and_then(Value::as_f64)
        .filter(|number| number.fract() == 0.0 && (1.0..=MAX_GENERATION).contains(number))
        .ok_or_else(|| wrong("`generation` must be a positive integer"))?;
    let digest = text(object, "digest")?
        .parse()
        .map_err(|_| wrong("`digest` must be `sha256:` and 64 hexadecimal digits"))?;
    Ok((generation as u32, digest))
}

pub(crate) async fn withdraw(call: Call) -> Answer {
    empty(&call)?;
    let (address, component) = (call.address(), call.part("component"));
    let runtime = &call.app.runtime;
    kept(
        runtime
            .withdraw(call.caller.clone(), address, component)
            .await,
    )
}

pub(crate) async fn settle(call: Call) -> Answer {
    let settlement = {
        let document = small(&call.body.bytes)?;
        match text(members(&document, &["outcome"], &[])?, "outcome")? {
            "happened" => Settlement::Happened,
            "did_not_happen" => Settlement::DidNotHappen,
            _ => return Err(outcomes("`happened` or `did_not_happen`")),
        }
    };
    let (address, component) = (call.address(), call.part("component"));
    let runtime = &call.app.runtime;
    kept(
        runtime
            .settle(call.caller.clone(), address, component, settlement)
            .await,
    )
}

pub(crate) async fn observe(call: Call) -> Answer {
    let (binding, milestone) = {
        let document = small(&call.body.bytes)?;
        let object = members(&document, &["binding", "outcome"], &[])?;
        let binding: Digest = text(object, "binding")?.parse().map_err(|_| {
            let detail = "`binding` must be `sha256:` and 64 hexadecimal digits";
            Problem::new("bad_request", detail)
        })?;
        let milestone = match text(object, "outcome")? {
            "success" => Milestone::Success,
            "failure" => Milestone::Failure,
            _ => return Err(outcomes("`success` or `failure`")),
        };
        (binding, milestone)
    };
    let runtime = &call.app.runtime;
    runtime
        .observe(call.caller.clone(), binding, milestone)
        .await?;
    Ok(nothing(StatusCode::NO_CONTENT))
}

fn outcomes(which: &str) -> Problem {
    Problem::new("bad_request", format!("`outcome` must be {which}"))
}

pub(crate) async fn explain(call: Call) -> Answer {
    let (address, component) = (call.address(), call.part("component"));
    let runtime = &call.app.runtime;
    let explanation = runtime
        .explain(call.caller.clone(), address, component)
        .await?;
    Ok(json(StatusCode::OK, &explanation))
}

pub(crate) async fn approvals(call: Call) -> Answer {
    let limit = call.query.limit()?;
    let approvals = call.app.runtime.approvals(limit).await?;
    Ok(json(StatusCode::OK, &page::Approvals { approvals }))
}
