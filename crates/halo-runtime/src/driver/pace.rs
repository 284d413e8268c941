//! When what was decided goes to the disk: at once where somebody waits for it, unless as many again are about to come.
//!
//! A commit costs the disk the same for one record as for many. Those who were answered by the last one, and the calls that
//! it let out, come back within moments; a commit for the first of them would make all others wait for two.

use super::Driver;
use std::time::{Duration, Instant};

/// How long records that nobody waits for may stay in memory.
const LINGER: Duration = Duration::from_millis(2);
/// More of them do not.
const AT_MOST: usize = 4_096;
/// The share of a commit that must pass without a word before nobody more is expected.
const SILENCE: u32 = 8;

/// What is known of the disk and of those who may come back.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// When the oldest record was made that was not sent.
    since: Option<Instant>,
    /// How many the last commit let go.
    expected: usize,
    /// When it did.
    settled_at: Instant,
    /// How long it took.
    commit: Duration,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            since: None,
            expected: 0,
            settled_at: Instant::now(),
            commit: Duration::ZERO,
        }
    }

    pub(super) fn recorded(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    pub(super) fn sent(&mut self) {
        self.since = None;
        self.expected = 0;
    }

    /// A commit that was sent at `sent` let `waits` go.
    pub(super) fn settled(&mut self, sent: Instant, waits: usize) {
        self.settled_at = Instant::now();
        self.commit = self.settled_at.duration_since(sent);
        self.expected += waits;
    }
}

impl Driver {
    /// How long what was decided may stay in memory if nothing else comes. Nothing: it goes to the disk now.
    pub fn patience(&self) -> Option<Duration> {
        if self.ended || self.stopping || self.halted.is_some() || self.is_flushed() {
            return None;
        }
        if self.unsent.records.len() > AT_MOST {
            return None;
        }
        let Pace {
            since,
            expected,
            settled_at,
            commit,
        } = self.pace;
        let left = if !self.unsent_waits.is_empty() {
            let more = self.unsent_waits.len() < expected && settled_at.elapsed() < commit;
            more.then_some(commit / SILENCE)
        } else {
            since.and_then(|since| LINGER.checked_sub(since.elapsed()))
        };
        left.filter(|left| !left.is_zero())
    }

    /// Nothing came in the time that was given: nobody more is expected.
    pub fn nobody_came(&mut self) {
        self.pace.expected = 0;
    }
}
