//! The one table of calls (formats.md §7). Requests are matched by it, and the OpenAPI document is made from it.

mod table;

use crate::{answer::Out, app::Call, body::Limit, problem::Problem, target::fits};
use halo_runtime::deployment::Role;
use hyper::{Method, Response};
use std::pin::Pin;

pub(crate) use table::ROUTES;

/// One call.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// With placeholders as [`fits`] knows them.
    pub(crate) path: &'static str,
    /// `operationId`
    pub(crate) operation: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) who: Who,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) body: Takes,
    pub(crate) answers: &'static [Answer],
    /// Codes of problems beside those that every call of its kind may have.
    pub(crate) problems: &'static [&'static str],
    pub(crate) serve: fn(Call) -> Serving,
}

/// A call being served.
pub(crate) type Serving = Pin<Box<dyn Future<Output = Result<Response<Out>, Problem>> + Send>>;

/// Who may call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Who {
    /// Also without a token.
    Anyone,
    /// Tokens with one of these roles.
    Roles(&'static [Role]),
}

/// What a call may be given beside its path and body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    Owner,
    Wait,
    Limit,
    Before,
    After,
    Open,
    IdempotencyKey,
    IfNoneMatch,
    LastEventId,
}

impl Parameter {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Wait => "wait",
            Self::Limit => "limit",
            Self::Before => "before",
            Self::After => "after",
            Self::Open => "open",
            Self::IdempotencyKey => "Idempotency-Key",
            Self::IfNoneMatch => "If-None-Match",
            Self::LastEventId => "Last-Event-ID",
        }
    }

    /// Whether it stands behind the question mark, and not in a header.
    pub(crate) fn is_in_query(self) -> bool {
        !matches!(
            self,
            Self::IdempotencyKey | Self::IfNoneMatch | Self::LastEventId
        )
    }
}

/// What a call takes as its body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Takes {
    /// Nothing is read.
    Nothing,
    /// JSON of this schema; perhaps nothing at all.
    Json {
        schema: &'static str,
        limit: Limit,
        optional: bool,
    },
}

/// An answer that is no problem.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) what: &'static str,
    pub(crate) body: Gives,
}

/// What an answer holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Gives {
    Nothing,
    /// JSON of this schema.
    Json(&'static str),
    /// Something else, of this media type.
    Other(&'static str),
}

impl Route {
    /// Names that may stand in the query.
    pub(crate) fn query_names(&self) -> Vec<&'static str> {
        let in_query = self.parameters.iter().filter(|one| one.is_in_query());
        in_query.map(|one| one.name()).collect()
    }
}

/// What a method and a path lead to.
pub(crate) enum Found<'a> {
    /// A call, with what its placeholders took.
    Route(&'static Route, Vec<(&'static str, &'a str)>),
    /// The path has these methods, not the one asked for.
    Methods(Vec<&'static str>),
    /// No call has such a path.
    Nothing,
}

/// Looks a request up. `HEAD` is `GET` without the body.
pub(crate) fn find<'a>(method: &Method, path: &'a str) -> Found<'a> {
    let method = match *method {
        Method::HEAD => &Method::GET,
        ref other => other,
    };
    let mut methods = Vec::new();
    for route in ROUTES {
        let Some(taken) = fits(route.path, path) else {
            continue;
        };
        if route.method == *method {
            return Found::Route(route, taken);
        }
        methods.push(route.method.as_str());
        if route.method == Method::GET {
            methods.push("HEAD");
        }
    }
    if methods.is_empty() {
        Found::Nothing
    } else {
        Found::Methods(methods)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_and_places_stand_once() {
        for (index, route) in ROUTES.iter().enumerate() {
            for other in ROUTES.iter().skip(index + 1) {
                assert_ne!(route.operation, other.operation);
                assert!(route.method != other.method || route.path != other.path);
            }
        }
    }

    #[test]
    fn problems_of_the_table_are_known() {
        for route in ROUTES {
            for code in route.problems {
                let known = crate::problem::CODES.iter().any(|(name, ..)| name == code);
                assert!(known, "{code}");
            }
        }
    }
}
