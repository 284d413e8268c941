//! PX4's ULog files: strict, in one pass, in bounded memory.
//!
//! A ULog has no checksums. What can be checked is checked (lengths against formats, ids, marks, sections), and the
//! first thing that is wrong ends the reading, with its byte; what came before it stands. Nothing is searched for behind
//! it: bytes that happen to look like a message would be taken for one.

mod format;
mod message;
mod reader;
mod source;

pub use format::{Basic, Field};
pub use reader::{Event, Reader, Topic};

/// Why reading ended before the end of the file.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The file ends inside of a message, as logs do whose vehicle lost power.
    #[error("cut at byte {at}: {what}")]
    Cut {
        /// Where the message begins that is not whole.
        at: u64,
        /// What is missing.
        what: String,
    },
    /// What is there is no ULog.
    #[error("damaged at byte {at}: {what}")]
    Damaged {
        /// Where the message begins that is wrong.
        at: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The file can't be read.
    #[error("can't be read at byte {at}: {error}")]
    Unreadable {
        /// From where on.
        at: u64,
        /// Why.
        error: std::io::Error,
    },
}

impl Stop {
    fn damaged(at: u64, what: impl Into<String>) -> Self {
        Self::Damaged {
            at,
            what: what.into(),
        }
    }
}
