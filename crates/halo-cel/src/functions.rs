//! The functions that exist: names, arguments and results.

use crate::kinds::{Kind, Kinds};

/// What a call computes. `matches` has an operation of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    String,
    Double,
    Int,
    Bool,
    Timestamp,
    Duration,
    Dyn,
    Part(TimePart),
}

/// A part of a timestamp, or the whole of a duration in a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimePart {
    FullYear,
    Month,
    Date,
    DayOfMonth,
    DayOfWeek,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

/// How a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `f(x)`
    Global,
    /// `x.f()`
    Receiver,
    /// Both.
    Either,
}

/// A function; what stands before the dot is its first argument.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    pub(crate) function: Function,
    pub(crate) style: Style,
    pub(crate) params: &'static [Kinds],
    pub(crate) result: Kinds,
    /// For messages.
    pub(crate) usage: &'static str,
}

const STRING: Kinds = Kinds::of(Kind::String);
const NUMBER: Kinds = Kinds::of(Kind::Number);
const BOOL: Kinds = Kinds::of(Kind::Bool);
const TIMESTAMP: Kinds = Kinds::of(Kind::Timestamp);
const DURATION: Kinds = Kinds::of(Kind::Duration);
const SIZED: Kinds = STRING.or(Kind::List).or(Kind::Map);
const TIME: Kinds = TIMESTAMP.or(Kind::Duration);
const TEXTUAL: Kinds = TIME.or(Kind::String).or(Kind::Number).or(Kind::Bool);
const NUMERIC: Kinds = NUMBER.or(Kind::String);

const fn function(
    name: &'static str,
    function: Function,
    style: Style,
    params: &'static [Kinds],
    result: Kinds,
    usage: &'static str,
) -> Signature {
    Signature {
        name,
        function,
        style,
        params,
        result,
        usage,
    }
}

const fn part(
    name: &'static str,
    part: TimePart,
    params: &'static [Kinds],
    usage: &'static str,
) -> Signature {
    function(
        name,
        Function::Part(part),
        Style::Receiver,
        params,
        NUMBER,
        usage,
    )
}

#[rustfmt::skip]
static FUNCTIONS: [Signature; 21] = [
    function("size", Function::Size, Style::Either, &[SIZED], NUMBER, "size(x)"),
    function("contains", Function::Contains, Style::Receiver, &[STRING, STRING], BOOL, "text.contains(part)"),
    function("startsWith", Function::StartsWith, Style::Receiver, &[STRING, STRING], BOOL, "text.startsWith(part)"),
    function("endsWith", Function::EndsWith, Style::Receiver, &[STRING, STRING], BOOL, "text.endsWith(part)"),
    function("matches", Function::Matches, Style::Either, &[STRING, STRING], BOOL, "text.matches(\"pattern\")"),
    function("string", Function::String, Style::Global, &[TEXTUAL], STRING, "string(x)"),
    function("double", Function::Double, Style::Global, &[NUMERIC], NUMBER, "double(x)"),
    function("int", Function::Int, Style::Global, &[NUMERIC], NUMBER, "int(x)"),
    function("bool", Function::Bool, Style::Global, &[BOOL.or(Kind::String)], BOOL, "bool(x)"),
    function("timestamp", Function::Timestamp, Style::Global, &[TIMESTAMP.or(Kind::String)], TIMESTAMP, "timestamp(\"2026-01-31T12:00:00Z\")"),
    function("duration", Function::Duration, Style::Global, &[DURATION.or(Kind::String)], DURATION, "duration(\"1h30m\")"),
    function("dyn", Function::Dyn, Style::Global, &[Kinds::ANY], Kinds::ANY, "dyn(x)"),
    part("getFullYear", TimePart::FullYear, &[TIMESTAMP], "timestamp.getFullYear(), in UTC"),
    part("getMonth", TimePart::Month, &[TIMESTAMP], "timestamp.getMonth(), in UTC, from 0"),
    part("getDate", TimePart::Date, &[TIMESTAMP], "timestamp.getDate(), in UTC, from 1"),
    part("getDayOfMonth", TimePart::DayOfMonth, &[TIMESTAMP], "timestamp.getDayOfMonth(), in UTC, from 0"),
    part("getDayOfWeek", TimePart::DayOfWeek, &[TIMESTAMP], "timestamp.getDayOfWeek(), in UTC, Sunday is 0"),
    part("getHours", TimePart::Hours, &[TIME], "timestamp.getHours(), in UTC"),
    part("getMinutes", TimePart::Minutes, &[TIME], "timestamp.getMinutes(), in UTC"),
    part("getSeconds", TimePart::Seconds, &[TIME], "timestamp.getSeconds(), in UTC"),
    part("getMilliseconds", TimePart::Milliseconds, &[TIME], "timestamp.getMilliseconds(), in UTC"),
];

/// The function called `name`.
pub(crate) fn find(name: &str) -> Option<&'static Signature> {
    FUNCTIONS.iter().find(|signature| signature.name == name)
}

/// The names of all functions, macros first.
pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
    ["has", "all", "exists", "exists_one", "map", "filter"]
        .into_iter()
        .chain(FUNCTIONS.iter().map(|signature| signature.name))
}

/// The name of a function, for messages.
pub(crate) fn name_of(function: Function) -> &'static str {
    FUNCTIONS
        .iter()
        .find(|signature| signature.function == function)
        .map_or("this function", |signature| signature.name)
}
