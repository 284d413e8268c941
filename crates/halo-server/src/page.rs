//! Pages of lists, and the way to the next.

use crate::{app::Call, target::encode};
use halo_runtime::api::{Kept, Listed, StateRecord, Waiting};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(crate) struct Responses {
    pub(crate) responses: Vec<Kept>,
    pub(crate) next: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Obligations {
    pub(crate) obligations: Vec<Listed>,
    pub(crate) next: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Approvals {
    pub(crate) approvals: Vec<Waiting>,
}

#[derive(Serialize)]
pub(crate) struct State {
    pub(crate) state: BTreeMap<String, StateRecord>,
}

/// The same request, going on at `at`.
pub(crate) fn link(call: &Call, name: &str, at: u64) -> String {
    let kept = call.query.all().filter(|(other, _)| *other != name);
    let mut link = format!("{}?{name}={at}", call.at);
    for (name, value) in kept {
        link.push_str(&format!("&{name}={}", encode(value)));
    }
    link
}
