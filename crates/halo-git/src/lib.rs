//! Merges gated on a real bare Git repository (ARCHITECTURE.md, "The Git domain").
//!
//! - [`GitProvider`]: what of a repository a decision about a change rests on, read at the gate.
//! - [`GitAdapter`]: makes the merge commit and moves the branch, from the head that the last look read and from no other.
//! - [`GitObserver`]: finds by ancestry whether that happened.
//! - [`kinds`]: how they stand in `halo.yaml`.
//!
//! No program runs, whatever a repository's configuration or attributes say, and names come from agents: they are checked
//! before they touch a path.

mod adapter;
mod attributes;
mod diff;
mod entries;
mod fault;
mod format;
mod history;
mod merge;
mod names;
mod observer;
mod patch;
mod provider;
mod publish;
mod recent;
mod repair;
mod repository;

pub use adapter::{Committer, GitAdapter};
pub use entries::kinds;
pub use fault::{Fault, FaultCode};
pub use history::BINDING_TRAILER;
pub use merge::{Merge, Merged, merge};
pub use names::{Branch, Change};
pub use observer::GitObserver;
pub use provider::GitProvider;
pub use publish::{Moved, publish};
pub use repository::Repository;
