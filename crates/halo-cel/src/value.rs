//! Values during evaluation.

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
    /// A list or map from a payload or a record.
    Json(Value<'a>),
    /// A list made by the expression.
    List(Vec<Val<'a>>),
    /// A map made by the expression.
    Map(Vec<(Val<'a>, Val<'a>)>),
}
