//! What text means: strict JSON, canonical bytes, digests and instants.
//!
//! Everything that enters HALO as text passes through [`Document::parse`] (P1), and everything that is
//! digested, compared or handed to an adapter is the canonical value of such a document (P4, RFC 8785).
//! This crate knows no protocol, no catalog, no clock and no I/O.

mod arena;
mod assemble;
mod builder;
mod digest;
mod error;
mod extract;
mod number;
mod order;
mod parse;
mod parsed;
mod schema;
mod text;
mod time;
mod value;
mod write;

pub use arena::{Document, Node};
pub use builder::Builder;
pub use digest::{Digest, DigestWriter, ParseDigestError};
pub use error::{Fault, JsonError};
pub use number::{MAX_INTEGER, write_number};
pub use schema::{Schema, SchemaError, Violation};
pub use time::{Duration, Instant, ParseTimeError};
pub use value::{Array, Kind, Object, Value};
pub use write::write_string;
