//! The catalog language (formats.md §1): YAML text in, a compiled [`Catalog`] or every diagnostic out.
//!
//! Knows text, schemas and predicates; knows nothing of responses, phases or the gate, and does no I/O.

pub mod cursor;
pub mod decode;
pub mod diagnostic;
mod findings;
pub mod model;
pub mod report;
pub mod suggest;
pub mod yaml;

pub use diagnostic::{Diagnostic, Severity};
pub use model::*;
pub use report::{CatalogReport, report};
