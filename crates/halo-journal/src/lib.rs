//! The journal: an append-only chain of records, and the stores that keep it.
//!
//! - [`Chain`] makes records, [`Verifier`] checks them: what was changed, lost or exchanged is named.
//! - [`Store`] is what a medium does; [`SqliteStore`] does it on a disk, [`MemoryStore`] only for tests and
//!   embedding, and [`conformance`] checks any of them.
//! - [`Committer`] writes on a thread of its own; what queues up while the disk is busy shares the next commit.
//!
//! Nothing here knows what a record says.

mod committer;
pub mod conformance;
mod error;
mod handover;
mod lock;
mod memory;
mod record;
mod sqlite;
mod store;
mod sync;
mod verify;

pub use committer::{Committer, Settled};
pub use error::{Cause, StoreError};
pub use handover::Backlog;
pub use memory::{MemoryDisk, MemoryStore};
pub use record::{Chain, Draft, Place, Record, Tip};
#[doc(hidden)]
pub use sqlite::Fault;
pub use sqlite::{SqliteReader, SqliteStore};
pub use store::{Batch, Current, Reader, Snapshot, Store};
pub use verify::{ChainFault, Verifier};
