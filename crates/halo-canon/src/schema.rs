//! JSON Schema 2020-12 over [`Document`](crate::Document)s, without converting them.

mod representation;

use std::fmt;
use std::sync::Arc;

use jsonschema::{PatternOptions, ValidationError, Validator};

use crate::Value;
use representation::{Canon, SchemaNode, Stack};

/// A compiled schema. Patterns run in linear time; no reference leaves the schema itself.
#[derive(Clone)]
pub struct Schema {
    validator: Arc<Validator<Canon>>,
}

/// Why a schema does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaError {
    /// JSON pointer into the schema to the place at fault, as far as known.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

/// The first thing by which a value breaks a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at `{pointer}`)")]
pub struct Violation {
    /// JSON pointer into the value.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

/// Validation recurses where a schema does; a value nested deeper than this is refused rather than the stack risked.
const MAX_VALUE_DEPTH: u32 = 512;
/// Compilation recurses too, and its time grows faster than the schema.
const MAX_SCHEMA_DEPTH: u32 = 64;
const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// A pattern such as `(a{1000}){1000}` is short and compiles to gigabytes.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;
/// Messages quote the value they refuse; longer ones leave it out.
const MAX_MESSAGE: usize = 240;

impl Schema {
    /// Compiles a schema (draft 2020-12 unless it says `$schema`).
    pub fn compile(schema: Value<'_>) -> Result<Self, SchemaError> {
        check_size(schema)?;
        let validator = jsonschema::options_for::<Canon>()
            .offline()
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(MAX_PATTERN_BYTES)
                    .dfa_size_limit(MAX_PATTERN_BYTES),
            )
            .build(&schema.to_serde())
            .map_err(|error| SchemaError {
                pointer: error.instance_path().to_string(),
                message: message(&error),
            })?;
        Ok(Self {
            validator: Arc::new(validator),
        })
    }

    /// Whether `value` satisfies it. Allocates nothing for the usual keywords.
    ///
    /// A value is refused when it is nested deeper than 512 levels, or so deep that judging it would need more stack
    /// than is safe.
    pub fn is_valid(&self, value: Value<'_>) -> bool {
        let stack = Stack::from_here();
        !is_too_deep(value)
            && self.validator.is_valid(SchemaNode::Value(value, &stack))
            && !stack.is_exhausted()
    }

    /// The first violation, for messages; nothing exactly when [`Schema::is_valid`].
    pub fn explain(&self, value: Value<'_>) -> Option<Violation> {
        // Asked first, because explaining needs more stack than judging.
        if self.is_valid(value) {
            return None;
        }
        let whole = |message: String| Violation {
            pointer: String::new(),
            message,
        };
        if is_too_deep(value) {
            return Some(whole(format!(
                "nested deeper than {MAX_VALUE_DEPTH} levels"
            )));
        }
        let stack = Stack::from_here();
        match self.validator.validate(SchemaNode::Value(value, &stack)) {
            Err(error) if !stack.is_exhausted() => Some(Violation {
                pointer: error.instance_path().to_string(),
                message: message(&error),
            }),
            _ => Some(whole("nested too deep for this schema".to_owned())),
        }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

/// The document's depth is known; only in a document that is too deep itself the value must be looked at.
fn is_too_deep(value: Value<'_>) -> bool {
    value.document.depth() > MAX_VALUE_DEPTH && value.depth() > MAX_VALUE_DEPTH
}

fn check_size(schema: Value<'_>) -> Result<(), SchemaError> {
    let refuse = |message: String| {
        Err(SchemaError {
            pointer: String::new(),
            message,
        })
    };
    if schema.depth() > MAX_SCHEMA_DEPTH {
        return refuse(format!(
            "the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels"
        ));
    }
    if schema.to_canonical().len() > MAX_SCHEMA_BYTES {
        return refuse(format!(
            "the schema is longer than {MAX_SCHEMA_BYTES} bytes"
        ));
    }
    Ok(())
}

fn message(error: &ValidationError<'_>) -> String {
    let full = error.to_string();
    if full.len() <= MAX_MESSAGE {
        return full;
    }
    let masked = error.masked().to_string();
    match masked.char_indices().nth(MAX_MESSAGE) {
        None => masked,
        Some((end, _)) => format!("{}…", &masked[..end]),
    }
}
