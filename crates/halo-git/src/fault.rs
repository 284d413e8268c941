//! Why something about a repository can't be told or done.

use serde::Serialize;
use std::fmt;

/// A fault, for predicates and people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Which kind.
    pub code: FaultCode,
    /// Place, value and way out.
    pub text: String,
}

/// Kinds of faults; the names stand in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    /// No branch and no commit can have that name.
    BadName,
    /// The repository is not there, or of a form that is not supported.
    Repository,
    /// There is no such branch.
    NoBranch,
    /// Something else than a commit.
    NotACommit,
    /// The two have no common ancestor.
    Unrelated,
    /// Another process holds the branch, or left its lock behind.
    Locked,
    /// An object is missing or damaged.
    Unreadable,
    /// Both sides changed the same.
    Conflict,
    /// There is nothing to merge.
    Merged,
    /// The branch is not where the last look saw it.
    Moved,
}

impl Fault {
    /// A fault of that kind.
    pub fn new(code: FaultCode, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    /// An object that can't be read.
    pub(crate) fn unreadable(error: impl fmt::Display) -> Self {
        Self::new(
            FaultCode::Unreadable,
            format!("{error}; `git fsck` shows what is damaged"),
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Fault {}
