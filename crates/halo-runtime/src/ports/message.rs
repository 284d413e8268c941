//! What adapters, paths and providers are given (formats.md §8).

use halo_canon::{Digest, Instant};
use halo_core::{DispatchPermit, EmitPermit};
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
struct Action<'a> {
    binding: Digest,
    sequence: u64,
    response: &'a str,
    component: &'a str,
    generation: u32,
    r#type: &'a str,
    payload: &'a RawValue,
    valid_until: Option<Instant>,
}

#[derive(Serialize)]
struct Emission<'a> {
    emission: Digest,
    response: &'a str,
    component: &'a str,
    generation: u32,
    r#type: &'a str,
    payload: &'a RawValue,
    digest: Digest,
}

#[derive(Serialize)]
struct Question<'a> {
    source: &'a str,
    key: Option<&'a str>,
}

/// What an adapter is given, as one line of JSON; the payload stands in it as it was digested. Errors: a payload that is
/// no JSON, which no permit has.
pub fn action(permit: &DispatchPermit) -> Result<String, String> {
    text(&Action {
        binding: permit.binding(),
        sequence: permit.sequence(),
        response: permit.response(),
        component: permit.id(),
        generation: permit.generation(),
        r#type: permit.type_name(),
        payload: payload(permit.payload())?,
        valid_until: permit.valid_until(),
    })
}

/// What a path is given, as one line of JSON. Errors: as of [`action`].
pub fn emission(permit: &EmitPermit) -> Result<String, String> {
    text(&Emission {
        emission: permit.emission(),
        response: permit.response(),
        component: permit.id(),
        generation: permit.generation(),
        r#type: permit.type_name(),
        payload: payload(permit.payload())?,
        digest: permit.digest(),
    })
}

/// What a provider that is a command is asked: `{"source","key"}`, the key null where the source has none.
pub(crate) fn question(source: &str, key: Option<&str>) -> Result<String, String> {
    text(&Question { source, key })
}

fn payload(canonical: &str) -> Result<&RawValue, String> {
    serde_json::from_str(canonical).map_err(|_| "the payload is no JSON".to_owned())
}

fn text(message: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(message).map_err(|_| "the message is no JSON".to_owned())
}
