//! The path `events`: emissions go to whoever listens to the runtime's event stream.

use super::{Answering, OutputPath, Remarks, message};
use halo_core::{EmitPermit, Outcome};
use std::sync::Arc;
use tokio::sync::broadcast;

/// What unread emissions may hold in memory, in payload bytes.
const MAX_HELD: usize = 64 << 20;
/// The fewest and the most emissions that a slow listener may be behind.
const BEHIND: (usize, usize) = (16, 1024);

/// One emission as listeners get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emitted {
    /// The path's name in the catalog.
    pub path: Arc<str>,
    /// What a path is given (formats.md §8), as JSON.
    pub text: Arc<str>,
}

/// Hands emissions to all who listen; bounded. A listener that is too far behind misses the oldest and is told how many.
#[derive(Debug, Clone)]
pub struct EmissionFeed {
    sender: broadcast::Sender<Emitted>,
}

impl EmissionFeed {
    /// A feed for payloads of at most `payload_bytes` (the catalog's limit), which decides how many are held.
    pub fn new(payload_bytes: usize) -> Self {
        let (fewest, most) = BEHIND;
        let held = (MAX_HELD / payload_bytes.max(1)).clamp(fewest, most);
        Self {
            sender: broadcast::Sender::new(held),
        }
    }
    /// Listens from now on.
    pub fn listen(&self) -> broadcast::Receiver<Emitted> {
        self.sender.subscribe()
    }
    /// The path of this name.
    pub fn path(&self, name: &str) -> EventsPath {
        EventsPath {
            name: name.into(),
            feed: self.clone(),
            remarks: Remarks::default(),
        }
    }
}

/// A path whose emissions go to a feed. Accepted once handed to it, also where nobody listens.
#[derive(Debug)]
pub struct EventsPath {
    name: Arc<str>,
    feed: EmissionFeed,
    remarks: Remarks,
}

impl EventsPath {
    /// Says there why something failed.
    pub fn remarking(mut self, remarks: Remarks) -> Self {
        self.remarks = remarks;
        self
    }
}

impl OutputPath for EventsPath {
    fn emit(&self, permit: EmitPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            match message::emission(&permit) {
                Ok(text) => {
                    // Without listeners this is an error, and nothing is kept.
                    let _ = self.feed.sender.send(Emitted {
                        path: self.name.clone(),
                        text: text.into(),
                    });
                    Outcome::Accepted
                }
                Err(fault) => {
                    self.remarks.say(&fault);
                    Outcome::Refused
                }
            }
        })
    }
}
