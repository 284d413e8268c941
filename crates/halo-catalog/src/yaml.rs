//! YAML 1.2, core schema, with the place of everything; no anchors, aliases, tags or merge keys; no key twice.
//!
//! JSON is YAML here. Scenarios use this too.

use crate::Diagnostic;
use halo_canon::{Builder, Document, Fault};

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
    let _ = (file, text);
    todo!()
}

impl Yaml {
    /// The value of `key`, of a mapping.
    pub fn get(&self, key: &str) -> Option<&Yaml> {
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
    /// Adds this value to `builder` as JSON. Errors: a number that P1 refuses, with the place of the offending node.
    pub fn build(&self, builder: &mut Builder) -> Result<(), (Mark, Fault)> {
        let _ = builder;
        todo!()
    }
    /// This value as a JSON document.
    pub fn to_document(&self) -> Result<Document, (Mark, Fault)> {
        todo!()
    }
}
