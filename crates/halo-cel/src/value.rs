//! Values during evaluation.

use crate::kinds::Kind;
use halo_canon::{Duration, Instant, Value};
use std::borrow::Cow;

/// A CEL value. Every number is a double (formats.md §1).
#[derive(Debug, Clone)]
pub enum Val<'a> {
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string.
    String(Cow<'a, str>),
    /// A timestamp.
    Timestamp(Instant),
    /// A duration.
    Duration(Duration),
    /// A list or map from a payload or a record; scalars stand in their own variants.
    Json(Value<'a>),
    /// A list made by the expression.
    List(Vec<Self>),
    /// A map made by the expression.
    Map(Vec<(Self, Self)>),
}

impl<'a> From<Value<'a>> for Val<'a> {
    /// Borrows; scalars become the variants for them.
    fn from(value: Value<'a>) -> Self {
        use halo_canon::Kind as Json;
        match value.kind() {
            Json::Null => Self::Null,
            Json::Bool(b) => Self::Bool(b),
            Json::Number(n) => Self::Number(n),
            Json::String(s) => Self::String(Cow::Borrowed(s)),
            Json::Array(_) | Json::Object(_) => Self::Json(value),
        }
    }
}

impl Val<'_> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Number(_) => Kind::Number,
            Self::String(_) => Kind::String,
            Self::Timestamp(_) => Kind::Timestamp,
            Self::Duration(_) => Kind::Duration,
            Self::Json(value) => json_kind(*value),
            Self::List(_) => Kind::List,
            Self::Map(_) => Kind::Map,
        }
    }
}

/// The kind of a JSON value.
pub(crate) fn json_kind(value: Value<'_>) -> Kind {
    use halo_canon::Kind as Json;
    match value.kind() {
        Json::Null => Kind::Null,
        Json::Bool(_) => Kind::Bool,
        Json::Number(_) => Kind::Number,
        Json::String(_) => Kind::String,
        Json::Array(_) => Kind::List,
        Json::Object(_) => Kind::Map,
    }
}
