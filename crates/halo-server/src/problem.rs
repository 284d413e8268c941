//! Errors as RFC 9457 problems. A denial by the gate is none: it is an answer.

use crate::answer::{Out, With as _, whole};
use halo_journal::StoreError;
use halo_runtime::{api::Failure, runtime::Unserved};
use hyper::{
    Response, StatusCode,
    header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE},
};
use serde_json::json;

/// Every code with its status and its title. The first group is the protocol's (formats.md §5), the second ours.
pub(crate) const CODES: &[(&str, u16, &str)] = &[
    ("bad_json", 400, "The text is no JSON that P1 takes"),
    ("bad_envelope", 400, "The envelope is not as it must be"),
    ("bad_state", 400, "The state record is not as it must be"),
    (
        "bad_candidate",
        400,
        "The candidates are not as they must be",
    ),
    ("too_large", 413, "Too large, or too many"),
    ("malformed", 422, "A component is malformed"),
    (
        "future_update",
        422,
        "The record lies too far in the future",
    ),
    (
        "catalog_mismatch",
        409,
        "Another catalog, or another version, is in force",
    ),
    (
        "response_conflict",
        409,
        "The id was used with other content",
    ),
    ("stale_update", 409, "A newer record is in force"),
    ("epoch_regression", 409, "A higher epoch is in force"),
    ("epoch_conflict", 409, "That epoch has another value"),
    (
        "out_of_scope",
        409,
        "A candidate is outside the obligation's scope",
    ),
    (
        "obligation_not_ready",
        409,
        "The obligation is not ready yet",
    ),
    ("obligation_closed", 409, "The obligation is over"),
    ("not_rolling", 409, "Not a rolling action that left"),
    (
        "not_refreshed",
        409,
        "A record was not observed again since",
    ),
    ("not_retained", 409, "The instance is not live"),
    ("not_in_doubt", 409, "The action is not in doubt"),
    (
        "not_awaiting_approval",
        409,
        "The instance does not wait for approval",
    ),
    ("no_such_component", 404, "No such component"),
    ("unknown_source", 404, "The catalog has no such source"),
    ("no_obligation", 404, "No such obligation"),
    ("bad_request", 400, "The request is not as it must be"),
    ("incomplete", 400, "The request lacks something"),
    ("unauthorized", 401, "No token, or one that is not known"),
    ("forbidden", 403, "The token may not do this"),
    ("origin_refused", 403, "Browsers may not call from there"),
    ("not_found", 404, "Not found"),
    ("method_not_allowed", 405, "Not with this method"),
    ("gone", 410, "It was there, and is not kept any more"),
    ("too_slow", 408, "The body did not arrive in time"),
    ("outdated", 409, "What you saw is not what is there"),
    ("ambiguous", 409, "Several owners have one of that id"),
    (
        "known_version",
        409,
        "That version of the catalog is known with other content",
    ),
    ("unsupported_media_type", 415, "Not JSON"),
    (
        "host_refused",
        421,
        "Not a host that this server answers for",
    ),
    ("bad_catalog", 422, "The catalog can't be put in force"),
    ("rate_limited", 429, "Too many calls"),
    ("limit_reached", 429, "A limit of the token is reached"),
    ("store_unavailable", 503, "The journal can't be written"),
    ("stopping", 503, "The server is stopping"),
    ("busy", 503, "Too many are waiting"),
];

/// The longest detail, in characters: problems name things, they do not repeat payloads.
const LONGEST: usize = 1_000;

/// A problem.
#[derive(Debug)]
pub(crate) struct Problem {
    code: &'static str,
    detail: String,
    /// The methods that the path has.
    allowed: Option<String>,
}

impl Problem {
    /// A problem of a known code. What is wrong, and the way out, stands in `detail`.
    pub(crate) fn new(code: &'static str, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        if let Some((end, _)) = detail.char_indices().nth(LONGEST) {
            detail.truncate(end);
            detail.push('…');
        }
        Self {
            code,
            detail,
            allowed: None,
        }
    }

    /// The method is not one of those that the path has.
    pub(crate) fn method(allowed: String) -> Self {
        Self {
            allowed: Some(allowed.clone()),
            ..Self::new("method_not_allowed", format!("allowed: {allowed}"))
        }
    }

    /// The code.
    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// The answer that tells it.
    pub(crate) fn answer(self) -> Response<Out> {
        let (status, title) = meaning(self.code);
        let body = json!({
            "type": format!("urn:halo:problem:{}", self.code),
            "title": title,
            "status": status.as_u16(),
            "code": self.code,
            "detail": self.detail,
        });
        let answer = whole(status, "application/problem+json", body.to_string());
        match (self.code, self.allowed) {
            ("unauthorized", _) => answer.with(WWW_AUTHENTICATE, "Bearer realm=\"halo\""),
            ("rate_limited" | "store_unavailable" | "stopping" | "busy", _) => {
                answer.with(RETRY_AFTER, "1")
            }
            (_, Some(allowed)) => answer.with(ALLOW, &allowed),
            _ => answer,
        }
    }
}

/// Status and title of a code.
pub(crate) fn meaning(code: &str) -> (StatusCode, &'static str) {
    let found = CODES.iter().find(|(name, ..)| *name == code);
    let (_, status, title) = found
        .copied()
        .unwrap_or(("", 500, "An error of the server"));
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, title)
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let detail = failure.to_string();
        match failure {
            Failure::Refused(refusal) => Self::new(refusal.code.name(), refusal.message),
            Failure::NotFound(_) => Self::new("not_found", detail),
            Failure::Ambiguous(_) => Self::new("ambiguous", detail),
            Failure::Gone(_) => Self::new("gone", detail),
            Failure::Outdated(_) => Self::new("outdated", detail),
            Failure::Forbidden(_) => Self::new("forbidden", detail),
            Failure::Incomplete(_) => Self::new("incomplete", detail),
            Failure::Limit(_) => Self::new("limit_reached", detail),
            Failure::Unserved(unserved) => unserved.into(),
        }
    }
}

impl From<Unserved> for Problem {
    fn from(unserved: Unserved) -> Self {
        match unserved {
            Unserved::Store(error) => Self::store(&error),
            Unserved::Stopping => Self::new("stopping", "the runtime is stopping"),
        }
    }
}

impl Problem {
    /// The store fails. Where it stands is the operator's to know, who reads it in the log.
    pub(crate) fn store(error: &StoreError) -> Self {
        let what = match error {
            StoreError::Full { .. } => "no space is left for the journal",
            _ => "the journal can't be written or read",
        };
        Self::new(
            "store_unavailable",
            format!("{what}; nothing was decided, try again"),
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn every_code_stands_once() {
        let mut names: Vec<_> = CODES.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn every_code_of_the_protocol_has_a_status() {
        let protocol = "bad_json bad_envelope malformed catalog_mismatch too_large response_conflict unknown_source \
            bad_state epoch_regression epoch_conflict stale_update future_update out_of_scope obligation_not_ready \
            obligation_closed no_obligation bad_candidate not_rolling not_refreshed not_retained not_in_doubt \
            not_awaiting_approval no_such_component";
        for code in protocol.split_whitespace() {
            assert_ne!(meaning(code).0.as_u16(), 500, "{code}");
        }
    }

    #[test]
    fn details_are_short() {
        let problem = Problem::new("bad_json", "ä".repeat(10_000));
        assert_eq!(problem.detail.chars().count(), LONGEST + 1);
    }
}
