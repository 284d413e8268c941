//! YAML 1.2, core schema, with the place of everything; no anchors, aliases, tags or merge keys; no key twice.
//!
//! JSON is YAML here. Scenarios use this too.
//!
//! Text that is JSON is read as JSON: YAML knows neither `\/` nor surrogate pairs, and disagrees about tabs. All else
//! goes the YAML way, whose findings are the better ones for text that is neither.

mod events;
mod json;
mod place;
mod scalar;

use crate::{Diagnostic, cursor::Findings};
use halo_canon::{Builder, Document, Fault};
use std::collections::HashMap;

/// Longest text in bytes.
pub const MAX_TEXT_BYTES: usize = 64 << 20;
/// Deepest nesting of lists and mappings; the outermost is 1.
pub const MAX_DEPTH: usize = 128;

/// A node of the file.
#[derive(Debug, Clone)]
pub struct Yaml {
    /// Where it starts.
    pub mark: Mark,
    /// What it is.
    pub data: Data,
}

/// A place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// Line from 1.
    pub line: u32,
    /// Column from 1, in characters.
    pub column: u32,
    /// Byte offset.
    pub offset: usize,
    /// Bytes, of a scalar as written; 0 otherwise.
    pub len: usize,
}

/// What a node is, after the core schema.
#[derive(Debug, Clone)]
pub enum Data {
    /// `null`, `~`, nothing.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number: its JSON literal (`0x1f` already as `31`).
    Number(String),
    /// Any other scalar.
    String(String),
    /// A sequence.
    Sequence(Vec<Yaml>),
    /// A mapping, in file order; keys are text.
    Mapping(Vec<(Key, Yaml)>),
}

/// A mapping's key.
#[derive(Debug, Clone)]
pub struct Key {
    /// Where it stands.
    pub mark: Mark,
    /// Its text.
    pub text: String,
}

/// Parses one document. `file` is named in diagnostics. Errors: every finding.
pub fn parse(file: &str, text: &str) -> Result<Yaml, Vec<Diagnostic>> {
    let mut findings = Findings::new(file, text);
    if text.len() > MAX_TEXT_BYTES {
        findings.error_hint(
            Mark {
                line: 1,
                column: 1,
                ..Mark::default()
            },
            "the file is longer than 64 MiB",
            "split it",
        );
        return Err(findings.sorted());
    }
    let tree = if text.trim_start().starts_with(['{', '[']) {
        match json::read(&mut findings, text) {
            Ok(tree) => tree,
            Err(fault) if file.ends_with(".json") => {
                findings.error(fault.mark, fault.message);
                None
            }
            Err(_) => events::read(&mut findings, text),
        }
    } else {
        events::read(&mut findings, text)
    };
    match tree {
        Some(tree) if !findings.has_errors() => Ok(tree),
        _ => Err(findings.sorted()),
    }
}

impl Yaml {
    /// The value of `key`, of a mapping.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.data {
            Data::Mapping(entries) => entries.iter().find(|(k, _)| k.text == key).map(|(_, v)| v),
            _ => None,
        }
    }
    /// The text, of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }
    /// What it is, in words for messages: `a number`, `nothing`.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "a boolean",
            Data::Number(_) => "a number",
            Data::String(_) => "text",
            Data::Sequence(_) => "a list",
            Data::Mapping(_) => "a mapping",
        }
    }
    /// Adds this value to `builder` as JSON. Errors: a number that P1 refuses, with the place of the offending node.
    pub fn build(&self, builder: &mut Builder) -> Result<(), (Mark, Fault)> {
        match &self.data {
            Data::Null => builder.null(),
            Data::Bool(value) => builder.bool(*value),
            Data::Number(literal) => builder
                .literal(literal)
                .map_err(|fault| (self.mark, fault))?,
            Data::String(text) => builder.string(text),
            Data::Sequence(items) => {
                builder.begin_array();
                for item in items {
                    item.build(builder)?;
                }
                builder.end_array();
            }
            Data::Mapping(entries) => {
                builder.begin_object();
                for (key, value) in entries {
                    builder.key(&key.text);
                    value.build(builder)?;
                }
                builder.end_object().map_err(|fault| (self.mark, fault))?;
            }
        }
        Ok(())
    }
    /// This value as a JSON document.
    pub fn to_document(&self) -> Result<Document, (Mark, Fault)> {
        let mut builder = Builder::new();
        self.build(&mut builder)?;
        builder.finish().map_err(|fault| (self.mark, fault))
    }
}

/// Reports every key of `entries` that stood there before.
fn check_duplicates(findings: &mut Findings<'_>, entries: &[(Key, Yaml)]) {
    let mut first: HashMap<&str, Mark> = HashMap::with_capacity(entries.len());
    for (key, _) in entries {
        if let Some(earlier) = first.get(key.text.as_str()) {
            findings.error_hint(
                key.mark,
                format!(
                    "the key `{}` stands twice: first in line {}, column {}",
                    key.text, earlier.line, earlier.column
                ),
                "a mapping has each key once; remove one of them",
            );
        } else {
            first.insert(&key.text, key.mark);
        }
    }
}
