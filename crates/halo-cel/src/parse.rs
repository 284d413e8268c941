//! Text to syntax tree, by the `cel` crate.

use crate::hints::{bare_error, clip, error};
use crate::{CompileError, MAX_DEPTH, Span};
use cel::common::ast::{IdedExpr, SourceInfo};
use cel::{Env, ParseError, ParseErrors};

/// What the parser's recursion takes at the depth limit in an unoptimised build is 24 MiB; only what is used is real.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Parses a text that [`crate::scan::scan`] accepted. Macros stay the calls that they are written as.
///
/// The parser runs on a stack of its own, so that what is deep enough for the caller's stack does not depend on the
/// caller or on the build; and a panic in it stays there.
pub(crate) fn parse(source: &str) -> Result<(IdedExpr, SourceInfo), Vec<CompileError>> {
    let whole = Span {
        start: 0,
        end: source.len(),
    };
    let failed = |message: &str| Err(vec![bare_error(whole, message)]);
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || parse_here(source));
        match parser.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(parsed)) => parsed,
            Ok(Err(_)) => failed("the parser failed on this expression"),
            Err(_) => failed("there is no thread to parse this expression on"),
        }
    })
}

fn parse_here(source: &str) -> Result<(IdedExpr, SourceInfo), Vec<CompileError>> {
    // Both limits are cel's own defaults; they stand here so that they cannot drift.
    Env::default()
        .with_optional_support(false)
        .parser()
        .enable_ident_escape_syntax(false)
        .max_recursion_depth(MAX_DEPTH as u16)
        .error_recovery_limit(30)
        .parse_with_source_info(source)
        .map_err(|errors| translate(source, errors))
}

fn translate(source: &str, errors: ParseErrors) -> Vec<CompileError> {
    let mut translated: Vec<CompileError> = Vec::new();
    for parse_error in &errors.errors {
        // What follows from an error that is reported already.
        let consequence = parse_error.msg.starts_with("No `")
            || parse_error.msg.starts_with("Incomplete ")
            || parse_error.msg.contains("recovery attempt limit")
            || parse_error.msg == "UNKNOWN";
        if consequence && !translated.is_empty() {
            continue;
        }
        let one = translate_one(source, parse_error);
        if !translated.iter().any(|known| known.message == one.message) {
            translated.push(one);
        }
        if translated.len() == 4 {
            break;
        }
    }
    translated
}

fn translate_one(source: &str, parse_error: &ParseError) -> CompileError {
    let message = parse_error
        .msg
        .strip_prefix("Syntax error: ")
        .unwrap_or(&parse_error.msg);
    let start = offset(source, parse_error.pos);
    let end = token_end(source, start);
    let span = Span { start, end };
    if message.contains("Recursion limit") {
        return bare_error(span, format!("nested deeper than {MAX_DEPTH} levels"));
    }
    if message == "invalid int literal" || message == "invalid uint literal" {
        return integer_too_large(span, &source[start..end]);
    }
    if let Some(text) = message.strip_prefix("token recognition error at: ") {
        let text = clip(text.trim_matches('\''));
        return error(
            span,
            format!("`{text}` is no valid text or string"),
            "strings know the escapes `\\\\ \\\" \\' \\n \\r \\t \\xHH \\uHHHH`; write `\\\\` for a backslash, or r\"…\"",
        );
    }
    let quoted = |lead: &str| {
        let rest = message.strip_prefix(lead)?;
        let end = rest
            .find("' expecting ")
            .unwrap_or(rest.len().saturating_sub(1));
        rest.get(..end)
    };
    let found = quoted("mismatched input '").or_else(|| quoted("extraneous input '"));
    match found.or_else(|| quoted("no viable alternative at input '")) {
        Some("<EOF>") => bare_error(span, "the expression ends here, where more is expected"),
        Some(found) => bare_error(span, format!("unexpected `{}`", clip(found))),
        None => bare_error(
            span,
            clip(&message.replace("'<EOF>'", "the end")).into_owned(),
        ),
    }
}

/// An integer literal that a double cannot carry exactly.
pub(crate) fn integer_too_large(span: Span, text: &str) -> CompileError {
    error(
        span,
        format!("the integer `{}` is larger than 2^53 − 1", clip(text)),
        "every number is a double; a larger integer would be another number",
    )
}

/// The byte of a line and column, both from 1 and columns in characters; 0 where there is none.
fn offset(source: &str, (line, column): (isize, isize)) -> usize {
    let (Ok(line), Ok(column)) = (usize::try_from(line - 1), usize::try_from(column - 1)) else {
        return 0;
    };
    let mut start = 0;
    for (number, text) in source.split_inclusive('\n').enumerate() {
        if number == line {
            let column = text.char_indices().nth(column);
            return start + column.map_or(text.len(), |(byte, _)| byte);
        }
        start += text.len();
    }
    source.len()
}

/// Where the word or character at `start` ends.
fn token_end(source: &str, start: usize) -> usize {
    let rest = &source[start..];
    let word = rest
        .find(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .unwrap_or(rest.len());
    match rest.chars().next() {
        Some(char) if word == 0 => start + char.len_utf8(),
        _ => start + word,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn first(source: &str) -> (String, &str) {
        let error = parse(source).unwrap_err().remove(0);
        let at = &source[error.span.start..error.span.end];
        (error.message, at)
    }

    #[test]
    fn errors_name_the_place_in_bytes() {
        assert_eq!(first("'éé' b"), ("unexpected `b`".into(), "b"));
        assert_eq!(first("'é' +\n 'é' b"), ("unexpected `b`".into(), "b"));
        let (message, at) = first("'é' + 99999999999999999999");
        assert!(message.contains("2^53"), "{message}");
        assert_eq!(at, "99999999999999999999");
    }

    #[test]
    fn errors_are_in_our_words() {
        let end = "the expression ends here, where more is expected";
        assert_eq!(first("a +").0, end);
        assert_eq!(first("").0, end);
        assert_eq!(first("a.?b").0, "unsupported syntax '.?'");
        assert!(first(r#""\q""#).0.contains("no valid text"));
        assert_eq!(first("if").0, "reserved identifier: if");
    }
}
