//! Obligations: listed, supported, refused, answered with candidates.

use super::{
    components::{empty, kept, nested},
    responses::seen_as,
};
use crate::{
    answer::{Out, json},
    app::Call,
    body::{members, parse, small, text},
    page,
    problem::Problem,
};
use hyper::{Response, StatusCode};

type Answer = Result<Response<Out>, Problem>;

pub(crate) async fn list(call: Call) -> Answer {
    let (limit, open) = (call.query.limit()?, call.query.flag("open")?);
    let after = call.query.number("after")?;
    let obligations = match seen_as(&call) {
        None => Vec::new(),
        Some(caller) => {
            let runtime = &call.app.runtime;
            runtime.obligations(caller, open, after, limit).await?
        }
    };
    let last = obligations
        .last()
        .and_then(|listed| listed.entry.obligation)
        .filter(|_| obligations.len() == limit);
    let next = last.map(|last| page::link(&call, "after", u64::from(last.0)));
    Ok(json(
        StatusCode::OK,
        &page::Obligations { obligations, next },
    ))
}

pub(crate) async fn support(call: Call) -> Answer {
    empty(&call)?;
    let obligation = call.obligation()?;
    let runtime = &call.app.runtime;
    kept(runtime.support(call.caller.clone(), obligation).await)
}

pub(crate) async fn refuse(call: Call) -> Answer {
    let words = {
        let document = small(&call.body.bytes)?;
        text(members(&document, &["text"], &[])?, "text")?.to_owned()
    };
    let obligation = call.obligation()?;
    let runtime = &call.app.runtime;
    kept(runtime.refuse(call.caller.clone(), obligation, words).await)
}

pub(crate) async fn candidates(call: Call) -> Answer {
    let candidates = {
        let document = parse(&call.body.bytes, nested(&call))?;
        let candidates = members(&document, &["candidates"], &[])?.get("candidates");
        let array = candidates.filter(|value| value.as_array().is_some());
        array
            .map(|array| array.to_canonical().into_bytes())
            .ok_or_else(|| Problem::new("bad_request", "`candidates` must be an array"))?
    };
    let obligation = call.obligation()?;
    let runtime = &call.app.runtime;
    kept(
        runtime
            .candidates(call.caller.clone(), obligation, candidates)
            .await,
    )
}
