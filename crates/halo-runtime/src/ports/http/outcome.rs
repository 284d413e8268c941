//! The `outcome` rule of an adapter: CEL over `status` and `body` that says what an answer means (formats.md §8).
//!
//! The predicate language knows `payload`; so the two names become `payload.status` and `payload.body` before it compiles, and
//! its findings are turned back.

use crate::ports::lane::evaluate;
use halo_canon::{Builder, Document};
use halo_cel::{
    CompileError, Component, Environment, Expect, MAX_SOURCE_BYTES, Program, RecordTable, Span,
};
use halo_core::Outcome;
use std::fmt;

/// What is put before each of the two names.
const PREFIX: &str = "payload.";
/// The variables of the rule.
const NAMES: [&str; 2] = ["status", "body"];
/// The variables of predicates, which are none here.
const OTHERS: [&str; 5] = ["payload", "component", "state", "now", "certificate"];
const HINT: &str = "the variables are `status` (a number) and `body` (JSON, else null); \
                    the result is `accepted`, `refused` or `in_doubt`";
/// Deepest JSON that an answer may be.
const MAX_DEPTH: u32 = 64;

/// A compiled rule.
#[derive(Clone)]
pub struct OutcomeRule {
    source: String,
    program: Program,
}

impl OutcomeRule {
    /// Compiles it. Errors: all that are found.
    pub fn compile(source: &str) -> Result<Self, Vec<CompileError>> {
        let environment = Environment {
            sources: &[],
            state: false,
        };
        let rewritten = Rewritten::of(source)?;
        let records = &mut RecordTable::default();
        match Program::compile(&rewritten.text, environment, Expect::String, records) {
            Ok(program) => Ok(Self {
                source: source.to_owned(),
                program,
            }),
            Err(errors) => Err(errors
                .into_iter()
                .map(|error| rewritten.back(error))
                .collect()),
        }
    }
    /// The source text.
    pub fn source(&self) -> &str {
        &self.source
    }
    /// What an answer means. Errors: it can't be told, so the action is in doubt.
    pub(super) fn judge(&self, status: u16, body: &[u8]) -> Result<Outcome, String> {
        const NOBODY: Component<'static> = Component {
            id: "",
            kind: "",
            digest: "",
            response: "",
        };
        let answer = answer(status, body).map_err(|fault| fault.to_string())?;
        let text = evaluate(&self.program, answer.root(), NOBODY)
            .map_err(|error| error.0.replace(PREFIX, ""))?;
        match text.as_str() {
            "accepted" => Ok(Outcome::Accepted),
            "refused" => Ok(Outcome::Refused),
            "in_doubt" => Ok(Outcome::Lost),
            // The text may hold a part of the answer.
            _ => Err("the `outcome` rule gives no outcome".to_owned()),
        }
    }
}

impl PartialEq for OutcomeRule {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl fmt::Debug for OutcomeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OutcomeRule({:?})", self.source)
    }
}

fn answer(status: u16, body: &[u8]) -> Result<Document, halo_canon::Fault> {
    let mut builder = Builder::new();
    builder.begin_object();
    builder.key("status");
    builder.number(f64::from(status))?;
    builder.key("body");
    match Document::parse(body, MAX_DEPTH) {
        Ok(document) => builder.value(document.root()),
        Err(_) => builder.null(),
    }
    builder.end_object()?;
    builder.finish()
}

/// A rule as the predicate language takes it.
struct Rewritten {
    text: String,
    /// Where the prefix was put in, in the new text.
    inserted: Vec<usize>,
}

impl Rewritten {
    fn of(source: &str) -> Result<Self, Vec<CompileError>> {
        let mut rewritten = Self {
            text: String::with_capacity(source.len()),
            inserted: Vec::new(),
        };
        if source.len() > MAX_SOURCE_BYTES {
            // Refused for its length by whoever compiles it.
            rewritten.text.push_str(source);
            return Ok(rewritten);
        }
        let mut foreign = Vec::new();
        for (word, kind) in words(source) {
            let text = source.get(word.start..word.end).unwrap_or_default();
            if kind == Kind::Variable && NAMES.contains(&text) {
                rewritten.inserted.push(rewritten.text.len());
                rewritten.text.push_str(PREFIX);
            }
            if kind == Kind::Variable && OTHERS.contains(&text) {
                foreign.push(CompileError {
                    span: word,
                    message: format!("`{text}` is not in scope here"),
                    hint: Some(HINT.to_owned()),
                });
            }
            rewritten.text.push_str(text);
        }
        if foreign.is_empty() {
            Ok(rewritten)
        } else {
            Err(foreign)
        }
    }

    /// An error about the new text as one about the old.
    fn back(&self, error: CompileError) -> CompileError {
        let hint = error.hint.filter(|hint| !hint.contains("payload"));
        CompileError {
            span: Span {
                start: self.old(error.span.start),
                end: self.old(error.span.end),
            },
            message: error.message.replace(PREFIX, ""),
            hint: Some(hint.unwrap_or_else(|| HINT.to_owned())),
        }
    }

    fn old(&self, at: usize) -> usize {
        let before = self.inserted.iter().take_while(|start| **start < at);
        let added: usize = before.map(|start| (at - start).min(PREFIX.len())).sum();
        at - added
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Variable,
    Other,
}

/// The text in pieces: names that can be variables, and everything between them.
fn words(source: &str) -> Vec<(Span, Kind)> {
    let bytes = source.as_bytes();
    let mut pieces = Vec::new();
    let (mut at, mut after_dot) = (0, false);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let rest = source.get(at..).unwrap_or_default();
        let is_name = byte.is_ascii_alphabetic() || byte == b'_';
        at += if let Some(len) = string_len(rest) {
            len
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if is_name || byte.is_ascii_digit() {
            rest.bytes()
                .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                .count()
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        let blank = byte.is_ascii_whitespace() || rest.starts_with("//");
        let plain_name = is_name && string_len(rest).is_none();
        let kind = match plain_name && !after_dot {
            true => Kind::Variable,
            false => Kind::Other,
        };
        pieces.push((Span { start, end: at }, kind));
        if !blank {
            after_dot = byte == b'.';
        }
    }
    pieces
}

/// How long the string is that `rest` starts with, its prefix included; up to the end where it is never closed.
fn string_len(rest: &str) -> Option<usize> {
    let quote_at = rest.find(['"', '\'']).filter(|at| *at <= 2)?;
    let (prefix, body) = rest.split_at(quote_at);
    let raw = match prefix.to_ascii_lowercase().as_str() {
        "" | "b" => false,
        "r" | "br" => true,
        _ => return None,
    };
    let triple = body.starts_with("\"\"\"") || body.starts_with("'''");
    let quote = body.get(..if triple { 3 } else { 1 })?;
    let mut at = quote.len();
    while let Some(left) = body.get(at..).filter(|left| !left.is_empty()) {
        if left.starts_with(quote) {
            return Some(quote_at + at + quote.len());
        }
        let mut chars = left.chars();
        let first = chars.next().map_or(1, char::len_utf8);
        let escaped = match left.starts_with('\\') && !raw {
            true => chars.next().map_or(0, char::len_utf8),
            false => 0,
        };
        at += first + escaped;
    }
    Some(rest.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn judge(rule: &str, status: u16, body: &str) -> Result<Outcome, String> {
        let rule = OutcomeRule::compile(rule).unwrap();
        rule.judge(status, body.as_bytes())
    }

    #[test]
    fn it_sees_status_and_body() {
        let rule = "status == 200 ? (body.ok ? 'accepted' : 'refused') : 'in_doubt'";
        assert_eq!(judge(rule, 200, r#"{"ok":true}"#), Ok(Outcome::Accepted));
        assert_eq!(judge(rule, 200, r#"{"ok":false}"#), Ok(Outcome::Refused));
        assert_eq!(judge(rule, 503, ""), Ok(Outcome::Lost));
        // No JSON, JSON with a key twice: null, which has nothing below it.
        assert!(judge(rule, 200, "fine").is_err());
        assert!(judge(rule, 200, r#"{"ok":true,"ok":true}"#).is_err());
        assert!(judge("'yes'", 200, "").is_err());
        let error = judge(rule, 200, r#"{"ok":1}"#).unwrap_err();
        assert!(!error.contains("payload"), "{error}");
    }

    #[test]
    fn names_in_strings_fields_and_comments_stay() {
        let rule = r#"body.status == "status" && body["body"] == r'\' // body
            ? 'accepted' : 'refused'"#;
        let body = r#"{"status":"status","body":"\\"}"#;
        assert_eq!(judge(rule, 200, body), Ok(Outcome::Accepted));
        let rule = r#"body . status == 'a\'status' ? "accepted" : "in_doubt""#;
        let body = r#"{"status":"a'status"}"#;
        assert_eq!(judge(rule, 200, body), Ok(Outcome::Accepted));
    }

    #[test]
    fn faults_stand_where_they_are_written() {
        for (rule, at, message) in [
            (
                "status == 200 && 'ü' == body ? x : 'a'",
                "x",
                "unknown variable `x`",
            ),
            (
                "payload.status == 200 ? 'a' : 'b'",
                "payload",
                "`payload` is not in scope here",
            ),
            (
                "status == 200",
                "status == 200",
                "gives a boolean, not a string",
            ),
            (
                "body.a.exists(status, true) ? 'a' : 'b'",
                "status",
                "a loop variable is a plain name",
            ),
        ] {
            let error = OutcomeRule::compile(rule).unwrap_err().remove(0);
            assert_eq!(
                rule.get(error.span.start..error.span.end),
                Some(at),
                "{error}"
            );
            assert_eq!(error.message, message);
            assert!(!error.hint.unwrap().contains("payload"));
        }
    }
}
