//! What operators and their tools ask: health, readiness, metrics, another catalog.

use super::super::metrics;
use crate::{
    answer::{Out, json, whole},
    app::Call,
    problem::Problem,
};
use hyper::{Response, StatusCode};
use serde_json::json;

type Answer = Result<Response<Out>, Problem>;

pub(crate) async fn health(_: Call) -> Answer {
    let health = json!({"status": "alive", "version": env!("CARGO_PKG_VERSION")});
    Ok(json(StatusCode::OK, &health))
}

pub(crate) async fn readiness(call: Call) -> Answer {
    let faults = metrics::faults(&call.app).await;
    let status = match faults.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    let document = json!({"ready": faults.is_empty(), "faults": faults});
    Ok(json(status, &document))
}

pub(crate) async fn metrics(call: Call) -> Answer {
    let text = metrics::text(&call.app).await;
    Ok(whole(
        StatusCode::OK,
        "text/plain; version=0.0.4; charset=utf-8",
        text,
    ))
}

pub(crate) async fn reload(call: Call) -> Answer {
    super::components::empty(&call)?;
    let (changed, in_force) = call.app.reload().await?;
    let document = json!({
        "changed": changed,
        "catalog": in_force.name,
        "catalog_version": in_force.version,
    });
    Ok(json(StatusCode::OK, &document))
}
