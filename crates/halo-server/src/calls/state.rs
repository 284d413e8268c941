//! State: written record by record, read as one snapshot.

use crate::{
    answer::{Out, json, nothing},
    app::Call,
    page,
    problem::Problem,
};
use hyper::{Response, StatusCode};

type Answer = Result<Response<Out>, Problem>;

pub(crate) async fn put(mut call: Call) -> Answer {
    let address = match call.path.iter().find(|(name, _)| *name == "key") {
        Some((_, key)) => format!("{}/{key}", call.part("source")),
        None => call.part("source"),
    };
    let source = source_of(&address);
    if !call.holder.reaches(source) {
        let detail = "that source is not one of the token's `sources`";
        return Err(Problem::new("forbidden", detail));
    }
    let record = std::mem::take(&mut call.body.bytes);
    let runtime = &call.app.runtime;
    runtime
        .write_state(call.caller.clone(), address, record)
        .await?;
    Ok(nothing(StatusCode::NO_CONTENT))
}

pub(crate) async fn get(call: Call) -> Answer {
    let holder = call.holder.clone();
    let wanted = move |address: &str| holder.reaches(source_of(address));
    let records = call.app.runtime.state(wanted).await?;
    let state = records.into_iter().collect();
    Ok(json(StatusCode::OK, &page::State { state }))
}

/// The source of an address, as the engine takes it apart: an escaped slash in a path is one too.
fn source_of(address: &str) -> &str {
    address.split('/').next().unwrap_or(address)
}
