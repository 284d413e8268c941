//! The hints of compile errors: what exists, and what was probably meant.

use crate::{CompileError, SourceDecl, Span};
use std::fmt::Write;

/// The variables of a predicate; without state only the first two.
pub(crate) const VARIABLES: [&str; 5] = ["payload", "component", "state", "now", "certificate"];
/// The fields of `component`.
pub(crate) const COMPONENT_FIELDS: [&str; 4] = ["id", "type", "digest", "response"];
/// The fields of a record.
pub(crate) const RECORD_FIELDS: [&str; 5] = ["epoch", "observed_at", "age", "provenance", "value"];
/// The forms of a key.
pub(crate) const KEY_FORMS: &str = "a key is one of `[payload.a.b]`, `[component.id]`, `[component.response]`, `[component.digest]` or a string literal";
/// The forms of an index in a declared path.
pub(crate) const INDEX_FORMS: &str = "an index is one of `[payload.a.b]`, `[component.id]`, `[component.response]`, `[component.digest]`, a string literal or a number literal";

/// An error with a hint.
pub(crate) fn error(
    span: Span,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> CompileError {
    CompileError {
        span,
        message: message.into(),
        hint: Some(hint.into()),
    }
}

/// An error that says all there is to say.
pub(crate) fn bare_error(span: Span, message: impl Into<String>) -> CompileError {
    CompileError {
        span,
        message: message.into(),
        hint: None,
    }
}

/// "did you mean …?" for a near miss, and what exists: `the sources are …`.
pub(crate) fn did_you_mean<'n>(
    found: &str,
    names: impl Iterator<Item = &'n str> + Clone,
    plural: &str,
) -> String {
    let mut hint = String::new();
    if let Some(near) = nearest(found, names.clone()) {
        let _ = write!(hint, "did you mean `{near}`? ");
    }
    let mut listed = names.take(40).peekable();
    if listed.peek().is_none() {
        let _ = write!(hint, "there are no {plural}");
        return hint;
    }
    let _ = write!(hint, "the {plural} are ");
    for (position, name) in listed.enumerate() {
        let separator = if position > 0 { ", " } else { "" };
        let _ = write!(hint, "{separator}`{}`", clip(name));
    }
    hint
}

/// The name that is at most a third of its letters away.
pub(crate) fn nearest<'n>(found: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names
        .map(|name| (distance(found, name), name))
        .filter(|(distance, name)| *distance <= 1.max(name.chars().count() / 3).min(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Edits (insert, delete, replace, swap neighbours) between two names, without regard to case.
fn distance(left: &str, right: &str) -> usize {
    if left.len() > 64 || right.len() > 64 {
        return usize::MAX;
    }
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let replaced = above[j] + usize::from(l != r);
            let mut best = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *l == right[j - 1] && left[i - 1] == *r {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[right.len()]
}

/// At most 80 characters of `text`, for messages.
pub(crate) fn clip(text: &str) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(80) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

/// A source by name, or why not.
pub(crate) fn find_source(
    name: &str,
    span: Span,
    sources: &[SourceDecl],
) -> Result<(u16, bool), CompileError> {
    sources
        .iter()
        .position(|source| source.name == name)
        .and_then(|position| {
            let number = u16::try_from(position).ok()?;
            Some((number, sources[position].keyed))
        })
        .ok_or_else(|| {
            error(
                span,
                format!("unknown source `{}`", clip(name)),
                did_you_mean(
                    name,
                    sources.iter().map(|source| source.name.as_str()),
                    "sources",
                ),
            )
        })
}

/// `name` is keyed but stands without a key.
pub(crate) fn key_missing(span: Span, prefix: &str, name: &str) -> CompileError {
    error(
        span,
        format!("`{name}` is a keyed source: it holds a record for each key"),
        format!("write `{prefix}{name}[KEY]`; {KEY_FORMS}"),
    )
}

/// `name` is not keyed but stands with a key.
pub(crate) fn key_unwanted(span: Span, prefix: &str, name: &str) -> CompileError {
    error(
        span,
        format!("`{name}` is not keyed: it holds one record"),
        format!(
            "write `{prefix}{name}.value` and the index after it, or declare the source with `keyed: true`"
        ),
    )
}

/// The step after a record is none of its fields.
pub(crate) fn unknown_record_field(span: Span, record: &str, field: &str) -> CompileError {
    let near = nearest(field, RECORD_FIELDS.into_iter());
    let guess = match near {
        Some(near) => format!("did you mean `{}.{near}`?", clip(record)),
        None => format!("did you mean `{}.value.{}`?", clip(record), clip(field)),
    };
    error(
        span,
        format!("a record has no field `{}`", clip(field)),
        format!("{guess} {}", record_fields()),
    )
}

/// The fields of a record, as a sentence.
pub(crate) fn record_fields() -> &'static str {
    "the fields of a record are `epoch`, `observed_at`, `age`, `provenance`, `value`"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_found_and_others_are_not() {
        let names = ["traffic", "map", "legs"];
        assert_eq!(nearest("trafic", names.into_iter()), Some("traffic"));
        assert_eq!(nearest("tarffic", names.into_iter()), Some("traffic"));
        assert_eq!(nearest("Map", names.into_iter()), Some("map"));
        assert_eq!(nearest("weather", names.into_iter()), None);
        assert_eq!(nearest(&"x".repeat(1000), names.into_iter()), None);
    }
}
