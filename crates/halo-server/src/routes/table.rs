//! The table itself.

use super::{Answer, Gives, Parameter, Route, Takes, Who};
use crate::{
    body::Limit,
    calls::{components, journal, obligations, operations, responses, state},
    console, events, openapi,
};
use halo_runtime::deployment::Role;
use hyper::Method;

const AGENT: Who = Who::Roles(&[Role::Agent]);
const AGENT_OPERATOR: Who = Who::Roles(&[Role::Agent, Role::Operator]);
const AGENT_ASSIGNEE: Who = Who::Roles(&[Role::Agent, Role::Assignee]);
const PROVIDER_OPERATOR: Who = Who::Roles(&[Role::Provider, Role::Operator]);
const ASSIGNEE: Who = Who::Roles(&[Role::Assignee]);
const APPROVER: Who = Who::Roles(&[Role::Approver]);
const OBSERVER: Who = Who::Roles(&[Role::Observer]);
const OPERATOR: Who = Who::Roles(&[Role::Operator]);

const NOTHING: Takes = Takes::Nothing;
const EMPTY: Takes = Takes::Json {
    schema: "Empty",
    limit: Limit::Small,
    optional: true,
};

const fn needs(schema: &'static str, limit: Limit) -> Takes {
    Takes::Json {
        schema,
        limit,
        optional: false,
    }
}

const fn json(status: u16, schema: &'static str, what: &'static str) -> Answer {
    Answer {
        status,
        what,
        body: Gives::Json(schema),
    }
}

const fn other(media_type: &'static str, what: &'static str) -> Answer {
    Answer {
        status: 200,
        what,
        body: Gives::Other(media_type),
    }
}

const fn empty(status: u16, what: &'static str) -> Answer {
    Answer {
        status,
        what,
        body: Gives::Nothing,
    }
}

const RECORD: &[Answer] = &[json(200, "Response", "The response as it is kept.")];
const OWNER: &[Parameter] = &[Parameter::Owner];
/// What a call about one component may be told.
const ABOUT: &[&str] = &["not_found", "no_such_component", "ambiguous"];

/// Every call. Of two paths that a request fits, the first counts.
pub(crate) static ROUTES: &[Route] = &[
    Route {
        method: Method::POST,
        path: "/v1/responses",
        operation: "submitResponse",
        summary: "Submit an agent's response: every component is admitted or withheld, and what may leave leaves.",
        who: AGENT,
        parameters: &[Parameter::IdempotencyKey, Parameter::Wait],
        body: needs("Submission", Limit::Response),
        answers: &[
            json(
                201,
                "Response",
                "Accepted; the record. A component that is withheld is part of the answer, not an error.",
            ),
            json(
                200,
                "Response",
                "The same was submitted before; its record. Nothing was made.",
            ),
        ],
        problems: &[
            "bad_envelope",
            "catalog_mismatch",
            "response_conflict",
            "malformed",
            "incomplete",
            "outdated",
            "limit_reached",
        ],
        serve: |call| Box::pin(responses::submit(call)),
    },
    Route {
        method: Method::GET,
        path: "/v1/responses",
        operation: "listResponses",
        summary: "List responses, newest first. An agent sees its own.",
        who: AGENT_OPERATOR,
        parameters: &[Parameter::Owner, Parameter::Limit, Parameter::Before],
        body: NOTHING,
        answers: &[json(200, "Responses", "A page.")],
        problems: &[],
        serve: |call| Box::pin(responses::list(call)),
    },
    Route {
        method: Method::GET,
        path: "/v1/responses/{response}",
        operation: "getResponse",
        summary: "Read one response, perhaps once nothing of it is on its way, or once it changed.",
        who: AGENT_OPERATOR,
        parameters: &[Parameter::Owner, Parameter::Wait, Parameter::IfNoneMatch],
        body: NOTHING,
        answers: &[
            json(200, "Response", "The response as it is kept."),
            empty(304, "Not changed since the version in `If-None-Match`."),
        ],
        problems: &["not_found", "ambiguous"],
        serve: |call| Box::pin(responses::get(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/responses/{response}/components/{component}/dispatch",
        operation: "dispatchComponent",
        summary: "Ask the gate to let an action leave. A denial is an answer, not an error.",
        who: AGENT_OPERATOR,
        parameters: OWNER,
        body: EMPTY,
        answers: &[json(200, "GateAnswer", "What the gate says.")],
        problems: &["not_found", "ambiguous"],
        serve: |call| Box::pin(components::dispatch(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/responses/{response}/components/{component}/roll",
        operation: "rollComponent",
        summary: "Admit the next window of a rolling action.",
        who: AGENT,
        parameters: &[],
        body: Takes::Json {
            schema: "Roll",
            limit: Limit::Response,
            optional: true,
        },
        answers: RECORD,
        problems: &[
            "not_found",
            "no_such_component",
            "not_rolling",
            "not_refreshed",
            "bad_candidate",
        ],
        serve: |call| Box::pin(components::roll(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/responses/{response}/components/{component}/approve",
        operation: "approveComponent",
        summary: "Approve the very instance that you saw. Never your own.",
        who: APPROVER,
        parameters: OWNER,
        body: needs("Approval", Limit::Small),
        answers: RECORD,
        problems: &[
            "not_found",
            "no_such_component",
            "ambiguous",
            "outdated",
            "not_awaiting_approval",
        ],
        serve: |call| Box::pin(components::approve(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/responses/{response}/components/{component}/reject",
        operation: "rejectComponent",
        summary: "Reject the very instance that you saw: it is withheld for good.",
        who: APPROVER,
        parameters: OWNER,
        body: needs("Rejection", Limit::Small),
        answers: RECORD,
        problems: &[
            "not_found",
            "no_such_component",
            "ambiguous",
            "outdated",
            "not_awaiting_approval",
        ],
        serve: |call| Box::pin(components::reject(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/responses/{response}/components/{component}/withdraw",
        operation: "withdrawComponent",
        summary: "Take back what has not left.",
        who: AGENT_OPERATOR,
        parameters: OWNER,
        body: EMPTY,
        answers: RECORD,
        problems: &[
            "not_found",
            "no_such_component",
            "ambiguous",
            "not_retained",
        ],
        serve: |call| Box::pin(components::withdraw(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/responses/{response}/components/{component}/settle",
        operation: "settleComponent",
        summary: "Say what became of an action in doubt.",
        who: OPERATOR,
        parameters: OWNER,
        body: needs("Settlement", Limit::Small),
        answers: RECORD,
        problems: &[
            "not_found",
            "no_such_component",
            "ambiguous",
            "not_in_doubt",
        ],
        serve: |call| Box::pin(components::settle(call)),
    },
    Route {
        method: Method::GET,
        path: "/v1/responses/{response}/components/{component}/explain",
        operation: "explainComponent",
        summary: "Why a component stands where it does, and what would let it back.",
        who: AGENT_OPERATOR,
        parameters: OWNER,
        body: NOTHING,
        answers: &[json(200, "Explanation", "The explanation.")],
        problems: ABOUT,
        serve: |call| Box::pin(components::explain(call)),
    },
    Route {
        method: Method::PUT,
        path: "/v1/state/{source}",
        operation: "writeState",
        summary: "Write the record of a source. Providers write their own sources only.",
        who: PROVIDER_OPERATOR,
        parameters: &[],
        body: needs("StateUpdate", Limit::State),
        answers: &[empty(204, "Accepted, and durable.")],
        problems: STATE,
        serve: |call| Box::pin(state::put(call)),
    },
    Route {
        method: Method::PUT,
        path: "/v1/state/{source}/{key*}",
        operation: "writeKeyedState",
        summary: "Write one record of a keyed source. The key is everything after the source's slash.",
        who: PROVIDER_OPERATOR,
        parameters: &[],
        body: needs("StateUpdate", Limit::State),
        answers: &[empty(204, "Accepted, and durable.")],
        problems: STATE,
        serve: |call| Box::pin(state::put(call)),
    },
    Route {
        method: Method::GET,
        path: "/v1/state",
        operation: "readState",
        summary: "Read all records in force, as one snapshot. A provider sees its own sources.",
        who: PROVIDER_OPERATOR,
        parameters: &[],
        body: NOTHING,
        answers: &[json(200, "State", "The snapshot.")],
        problems: &[],
        serve: |call| Box::pin(state::get(call)),
    },
    Route {
        method: Method::GET,
        path: "/v1/obligations",
        operation: "listObligations",
        summary: "List obligations, oldest first.",
        who: ASSIGNEE,
        parameters: &[
            Parameter::Open,
            Parameter::Owner,
            Parameter::Limit,
            Parameter::After,
        ],
        body: NOTHING,
        answers: &[json(200, "Obligations", "A page.")],
        problems: &[],
        serve: |call| Box::pin(obligations::list(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/obligations/{obligation}/support",
        operation: "supportObligation",
        summary: "Report that support arrived. It makes ready only an obligation with nothing to refresh.",
        who: ASSIGNEE,
        parameters: &[],
        body: EMPTY,
        answers: RECORD,
        problems: &["not_found", "no_obligation", "obligation_closed"],
        serve: |call| Box::pin(obligations::support(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/obligations/{obligation}/refuse",
        operation: "refuseObligation",
        summary: "Decline an obligation: its component is over for good.",
        who: ASSIGNEE,
        parameters: &[],
        body: needs("Refusal", Limit::Small),
        answers: RECORD,
        problems: &["not_found", "no_obligation", "obligation_closed"],
        serve: |call| Box::pin(obligations::refuse(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/obligations/{obligation}/candidates",
        operation: "offerCandidates",
        summary: "Offer fresh candidates for a blocked component, and for those in its obligation's scope.",
        who: AGENT_ASSIGNEE,
        parameters: &[],
        body: needs("Candidates", Limit::Response),
        answers: RECORD,
        problems: &[
            "not_found",
            "no_obligation",
            "obligation_closed",
            "obligation_not_ready",
            "out_of_scope",
            "bad_candidate",
        ],
        serve: |call| Box::pin(obligations::candidates(call)),
    },
    Route {
        method: Method::GET,
        path: "/v1/approvals",
        operation: "listApprovals",
        summary: "List what waits for a person, oldest first.",
        who: APPROVER,
        parameters: &[Parameter::Limit],
        body: NOTHING,
        answers: &[json(200, "Approvals", "What waits.")],
        problems: &[],
        serve: |call| Box::pin(components::approvals(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/observations",
        operation: "observe",
        summary: "Report a downstream milestone of what left under a binding.",
        who: OBSERVER,
        parameters: &[],
        body: needs("Observation", Limit::Small),
        answers: &[empty(204, "Recorded, and durable.")],
        problems: &["not_found"],
        serve: |call| Box::pin(components::observe(call)),
    },
    Route {
        method: Method::GET,
        path: "/v1/events",
        operation: "events",
        summary: "Every decision, live: server-sent events. An event's `id` is the record's number, its `event` the record's kind, its `data` one `JournalRecord`. Emissions of `events` paths come as `emission`, without an id.",
        who: OPERATOR,
        parameters: &[Parameter::LastEventId, Parameter::After],
        body: NOTHING,
        answers: &[other("text/event-stream", "The stream.")],
        problems: &["outdated", "busy"],
        serve: |call| Box::pin(events::stream(call)),
    },
    Route {
        method: Method::GET,
        path: "/v1/audit",
        operation: "audit",
        summary: "Read the journal: from its beginning, or above `after`; with `before`, downwards from there.",
        who: OPERATOR,
        parameters: &[Parameter::After, Parameter::Before, Parameter::Limit],
        body: NOTHING,
        answers: &[json(200, "Audit", "A page.")],
        problems: &[],
        serve: |call| Box::pin(journal::audit(call)),
    },
    Route {
        method: Method::POST,
        path: "/v1/catalog/reload",
        operation: "reloadCatalog",
        summary: "Read the catalog's file again, and put it in force. One that does not validate is not: the old one stays.",
        who: OPERATOR,
        parameters: &[],
        body: EMPTY,
        answers: &[json(200, "Reloaded", "The catalog in force.")],
        problems: &["bad_catalog", "known_version"],
        serve: |call| Box::pin(operations::reload(call)),
    },
    Route {
        method: Method::GET,
        path: "/healthz",
        operation: "health",
        summary: "Whether the process is alive.",
        who: Who::Anyone,
        parameters: &[],
        body: NOTHING,
        answers: &[json(200, "Health", "Alive.")],
        problems: &[],
        serve: |call| Box::pin(operations::health(call)),
    },
    Route {
        method: Method::GET,
        path: "/readyz",
        operation: "readiness",
        summary: "Whether everything that decisions need is there; otherwise what is at fault.",
        who: Who::Anyone,
        parameters: &[],
        body: NOTHING,
        answers: &[
            json(200, "Readiness", "Ready."),
            json(503, "Readiness", "Not ready, and what is at fault."),
        ],
        problems: &[],
        serve: |call| Box::pin(operations::readiness(call)),
    },
    Route {
        method: Method::GET,
        path: "/metrics",
        operation: "metrics",
        summary: "Figures in the text format of Prometheus, without payloads, ids and owners.",
        who: Who::Anyone,
        parameters: &[],
        body: NOTHING,
        answers: &[other("text/plain", "The figures.")],
        problems: &[],
        serve: |call| Box::pin(operations::metrics(call)),
    },
    Route {
        method: Method::GET,
        path: "/openapi.json",
        operation: "openapi",
        summary: "This document.",
        who: Who::Anyone,
        parameters: &[],
        body: NOTHING,
        answers: &[other("application/json", "The document.")],
        problems: &[],
        serve: |call| Box::pin(openapi::serve(call)),
    },
    Route {
        method: Method::GET,
        path: "/",
        operation: "console",
        summary: "A page that shows responses, obligations, approvals and events.",
        who: Who::Anyone,
        parameters: &[],
        body: NOTHING,
        answers: &[other("text/html", "The page.")],
        problems: &[],
        serve: |call| Box::pin(console::page(call)),
    },
];

const STATE: &[&str] = &[
    "unknown_source",
    "future_update",
    "bad_state",
    "stale_update",
    "epoch_regression",
    "epoch_conflict",
];
