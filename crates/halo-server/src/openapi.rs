//! The OpenAPI 3.1 document, made from the table of calls.

use crate::{
    answer::{Out, whole},
    app::Call,
    problem::{Problem, meaning},
    routes::{Answer, Gives, Parameter, ROUTES, Route, Takes, Who},
};
use hyper::{Response, StatusCode, body::Bytes};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::LazyLock};

/// The schemas that the table names, with examples.
const SCHEMAS: &str = include_str!("openapi/schemas.json");

const ABOUT: &str = "HALO decides, component by component, which parts of an AI agent's response may stay and act. \
Submit a response; read where its components stand; refresh state; answer obligations with fresh candidates. \
A denial is an answer with its reasons, never an error. Every answer is durable when it arrives.";

static TEXT: LazyLock<Bytes> = LazyLock::new(|| document().into());

pub(crate) async fn serve(_: Call) -> Result<Response<Out>, Problem> {
    Ok(whole(StatusCode::OK, "application/json", TEXT.clone()))
}

/// The document as text, as it is served and checked in.
pub fn document() -> String {
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for route in ROUTES {
        let path = route.path.replace("*}", "}");
        let method = route.method.as_str().to_ascii_lowercase();
        paths
            .entry(path)
            .or_default()
            .insert(method, operation(route));
    }
    // The tests see to it that it can be read.
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap_or_default();
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "HALO",
            "version": "v1",
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:8700", "description": "Where it listens unless told otherwise."}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token with roles. Where none are configured, none is needed, and only this machine can call.",
                },
            },
        },
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": route.operation,
        "summary": route.summary,
        "parameters": parameters(route),
        "responses": answers(route),
        "security": [],
    });
    let Some(members) = operation.as_object_mut() else {
        return operation;
    };
    if let Who::Roles(roles) = route.who {
        let names: Vec<_> = roles.iter().map(|role| role.name()).collect();
        let who = format!(
            "Needs a token with one of these roles: {}.",
            names.join(", ")
        );
        members.insert("description".into(), who.into());
        members.insert("security".into(), json!([{"bearer": names}, {}]));
        members.insert("x-roles".into(), json!(names));
    }
    if let Takes::Json {
        schema, optional, ..
    } = route.body
    {
        let body = json!({"required": !optional, "content": json_content(schema)});
        members.insert("requestBody".into(), body);
    }
    operation
}

fn json_content(schema: &str) -> Value {
    json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}})
}

fn parameters(route: &Route) -> Vec<Value> {
    let placeholders = route.path.split('/').filter_map(|segment| {
        let name = segment.strip_prefix('{')?.strip_suffix('}')?;
        Some(name.strip_suffix('*').unwrap_or(name))
    });
    let in_path = placeholders.map(|name| {
        let (what, schema) = placeholder(name);
        json!({"name": name, "in": "path", "required": true, "description": what, "schema": schema})
    });
    let others = route.parameters.iter().map(|parameter| {
        let (what, schema) = meaning_of(*parameter);
        let place = if parameter.is_in_query() {
            "query"
        } else {
            "header"
        };
        json!({"name": parameter.name(), "in": place, "description": what, "schema": schema})
    });
    in_path.chain(others).collect()
}

fn placeholder(name: &str) -> (&'static str, Value) {
    let id = json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"});
    match name {
        "response" => ("The response's id.", id),
        "component" => ("The component's id.", id),
        "obligation" => (
            "The obligation's number.",
            json!({"type": "integer", "minimum": 0}),
        ),
        "source" => (
            "The source's name in the catalog.",
            json!({"type": "string"}),
        ),
        _ => (
            "The record's key. A slash in it may stand as it is, or as `%2F`.",
            json!({"type": "string"}),
        ),
    }
}

fn meaning_of(parameter: Parameter) -> (&'static str, Value) {
    let number = json!({"type": "integer", "minimum": 0});
    match parameter {
        Parameter::Owner => (
            "Whose: for callers that see the things of all, where an id alone does not tell. In lists: of this owner only.",
            json!({"type": "string"}),
        ),
        Parameter::Wait => (
            "Answer once nothing of the response is on its way, or, with `If-None-Match`, once it changed; at the latest after this time, at most a minute.",
            json!({"type": "string", "pattern": "^[0-9]+(ms|s|m)$", "examples": ["5s"]}),
        ),
        Parameter::Limit => (
            "How many things at most.",
            json!({"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
        ),
        Parameter::Before => (
            "Only what comes before this number, newest first. `next` has it.",
            number,
        ),
        Parameter::After => (
            "Only what comes after this number, oldest first. `next` has it.",
            number,
        ),
        Parameter::Open => (
            "Only open ones.",
            json!({"type": "boolean", "default": false}),
        ),
        Parameter::IdempotencyKey => (
            "Makes a retry safe: the same key with the same body gives the same record. Serves as the response's id where the body has none.",
            json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"}),
        ),
        Parameter::IfNoneMatch => (
            "The `ETag` of the version that you have: not changed is 304.",
            json!({"type": "string", "examples": ["\"17\""]}),
        ),
        Parameter::LastEventId => (
            "Go on after this record: nothing is left out, nothing comes twice.",
            number,
        ),
    }
}

fn answers(route: &Route) -> Map<String, Value> {
    let mut all = Map::new();
    for answer in route.answers {
        all.insert(answer.status.to_string(), said(answer));
    }
    for (status, codes) in problems(route) {
        let text = format!("A problem: {}.", codes.join(", "));
        let schema = json!({"allOf": [
            {"$ref": "#/components/schemas/Problem"},
            {"properties": {"status": {"const": status}, "code": {"enum": codes}}},
        ]});
        // A status may be an answer and a problem: 503 of readiness.
        let entry = all
            .entry(status.to_string())
            .or_insert_with(|| json!({"description": text, "content": {}}));
        if let Some(content) = entry.get_mut("content").and_then(Value::as_object_mut) {
            content.insert("application/problem+json".into(), json!({"schema": schema}));
        }
    }
    all
}

fn said(answer: &Answer) -> Value {
    match answer.body {
        Gives::Nothing => json!({"description": answer.what}),
        Gives::Json(schema) => {
            json!({"description": answer.what, "content": json_content(schema)})
        }
        Gives::Other(media_type) => {
            json!({"description": answer.what, "content": {media_type: {}}})
        }
    }
}

/// The codes that a call may answer with, by status.
fn problems(route: &Route) -> BTreeMap<u16, Vec<&'static str>> {
    let mut codes = vec!["bad_request", "host_refused", "origin_refused"];
    if matches!(route.who, Who::Roles(_)) {
        codes.extend([
            "unauthorized",
            "forbidden",
            "rate_limited",
            "store_unavailable",
            "stopping",
        ]);
    }
    if matches!(route.body, Takes::Json { .. }) {
        codes.extend([
            "bad_json",
            "too_large",
            "too_slow",
            "unsupported_media_type",
        ]);
    }
    if route.parameters.contains(&Parameter::Wait) {
        codes.push("busy");
    }
    codes.extend(route.problems);
    let mut by_status: BTreeMap<u16, Vec<&'static str>> = BTreeMap::new();
    for code in codes {
        let of = by_status.entry(meaning(code).0.as_u16()).or_default();
        if !of.contains(&code) {
            of.push(code);
        }
    }
    by_status
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn every_schema_that_is_named_is_there() {
        let document: Value = serde_json::from_str(&document()).unwrap();
        let mut named = Vec::new();
        references(&document, &mut named);
        assert!(named.len() > 40);
        for reference in named {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    fn references(value: &Value, into: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    match value.as_str() {
                        Some(text) if name == "$ref" => into.push(text.into()),
                        _ => references(value, into),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, into)),
            _ => {}
        }
    }
}
