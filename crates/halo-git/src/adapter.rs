//! The adapter: one merge commit for one permit.

use crate::{
    Branch, Change, Fault, FaultCode, GitObserver, Merge, Moved, Repository, history::trailer,
    merge, names::object_id, publish,
};
use gix_hash::ObjectId;
use gix_object::date::Time;
use halo_core::{DispatchPermit, Outcome};
use halo_runtime::ports::{Adapter, Answering, Observer, Remarks};
use serde::Deserialize;
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

/// Longest message that an agent may give, in bytes.
const LONGEST_MESSAGE: usize = 16 << 10;

/// Who commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committer {
    name: String,
    email: String,
}

impl Committer {
    /// Takes `Name <address>`. Nothing where it is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once('<')?;
        let (name, email) = (name.trim(), rest.strip_suffix('>')?.trim());
        let odd = |text: &str| text.is_empty() || text.contains(['<', '>', '\n', '\0']);
        (!odd(name) && !odd(email)).then(|| Self {
            name: name.to_owned(),
            email: email.to_owned(),
        })
    }
}

impl Default for Committer {
    fn default() -> Self {
        Self {
            name: "HALO".to_owned(),
            email: "halo@localhost".to_owned(),
        }
    }
}

/// An adapter that merges into one bare repository.
pub struct GitAdapter {
    path: PathBuf,
    head_path: String,
    committer: Committer,
    remarks: Remarks,
    observer: GitObserver,
    /// Held while a branch moves: whoever looks for a merge waits until no call of this process can still make it.
    moving: Arc<Mutex<()>>,
}

/// What a merge action's payload says; the catalog may ask for more.
#[derive(Debug, Deserialize)]
pub(crate) struct Payload {
    /// `target...source`
    pub(crate) change: String,
    /// The whole id of the commit that is merged.
    pub(crate) commit: String,
    /// The message above the trailers.
    pub(crate) message: Option<String>,
}

/// The payload in terms of the repository.
pub(crate) struct Wanted {
    pub(crate) change: Change,
    pub(crate) merge: Merge,
    message: Option<String>,
}

impl Wanted {
    /// `head_path` is the bound path that has the target's head.
    pub(crate) fn read(
        payload: &str,
        bound: &[(Box<str>, String)],
        head_path: &str,
    ) -> Result<Self, Fault> {
        let bad = |text: String| Fault::new(FaultCode::BadName, text);
        let payload: Payload = serde_json::from_str(payload)
            .map_err(|error| bad(format!("the payload needs `change` and `commit`: {error}")))?;
        let head = bound.iter().find(|(path, _)| **path == *head_path);
        let head = head.and_then(|(_, text)| serde_json::from_str::<String>(text).ok());
        let head = head.ok_or_else(|| bad(format!("the action does not bind `{head_path}`")))?;
        let message = payload.message.filter(|message| !message.trim().is_empty());
        if message.as_deref().is_some_and(is_odd) {
            return Err(bad(
                "`message` is longer than 16 KiB, or has control characters".into(),
            ));
        }
        Ok(Self {
            change: Change::parse(&payload.change)?,
            merge: Merge {
                onto: object_id(&head)?,
                commit: object_id(&payload.commit)?,
            },
            message,
        })
    }
}

/// Whether a message could be more than text in a log.
fn is_odd(message: &str) -> bool {
    let control = |sign: char| sign.is_control() && !matches!(sign, '\n' | '\t');
    message.len() > LONGEST_MESSAGE || message.chars().any(control)
}

/// One call: it either moves the branch or was dropped before, never both.
#[derive(Default)]
struct Claim(AtomicU8);

const OPEN: u8 = 0;
const TAKEN: u8 = 1;
const DROPPED: u8 = 2;

impl Claim {
    fn take(&self, to: u8) -> bool {
        self.0
            .compare_exchange(OPEN, to, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// Ends a call with its future.
struct DropsClaim(Arc<Claim>);

impl Drop for DropsClaim {
    fn drop(&mut self) {
        self.0.take(DROPPED);
    }
}

impl GitAdapter {
    /// Merges into the bare repository at `path`, onto the head that a permit has under the bound path `head_path`.
    pub fn new(path: impl Into<PathBuf>, head_path: impl Into<String>) -> Self {
        let (path, head_path) = (path.into(), head_path.into());
        let moving = Arc::<Mutex<()>>::default();
        Self {
            observer: GitObserver::new(&path, &head_path, moving.clone()),
            path,
            head_path,
            committer: Committer::default(),
            remarks: Remarks::default(),
            moving,
        }
    }

    /// Commits as somebody.
    pub fn committing(mut self, committer: Committer) -> Self {
        self.committer = committer;
        self
    }

    /// Says there why a call was refused or is in doubt.
    pub fn remarking(mut self, remarks: Remarks) -> Self {
        self.remarks = remarks;
        self
    }

    /// Everything but the move: what can be refused.
    fn job(&self, permit: &DispatchPermit, claim: Arc<Claim>) -> Result<Job, Fault> {
        let wanted = Wanted::read(permit.payload(), permit.bound(), &self.head_path)?;
        let target = wanted.change.target.name();
        let source = wanted.change.source.name();
        let message = wanted
            .message
            .clone()
            .unwrap_or_else(|| format!("Merge {source} into {target}"));
        let message = format!(
            "{}\n\nHalo-Response: {}\nHalo-Component: {}\n{}\n",
            message.trim_end(),
            permit.response(),
            permit.id(),
            trailer(&permit.binding().to_string()),
        );
        Ok(Job {
            path: self.path.clone(),
            branch: wanted.change.target,
            merge: wanted.merge,
            message,
            committer: self.committer.clone(),
            claim,
            moving: self.moving.clone(),
        })
    }
}

/// What runs where blocking is no harm.
struct Job {
    path: PathBuf,
    branch: Branch,
    merge: Merge,
    message: String,
    committer: Committer,
    claim: Arc<Claim>,
    moving: Arc<Mutex<()>>,
}

impl Job {
    fn run(self) -> Moved {
        let repository = match Repository::open(&self.path) {
            Ok(repository) => repository,
            Err(fault) => return Moved::Not(fault),
        };
        let merged = match merge(&repository, self.merge) {
            Ok(merged) => merged,
            Err(fault) => return Moved::Not(fault),
        };
        let commit = self.commit(merged.tree);
        let mut moving = None;
        let may_move = || {
            moving = Some(self.moving.lock().unwrap_or_else(PoisonError::into_inner));
            self.claim.take(TAKEN)
        };
        publish(
            &repository,
            &self.branch,
            self.merge,
            merged,
            commit,
            may_move,
        )
    }

    fn commit(&self, tree: ObjectId) -> gix_object::Commit {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let time = Time {
            seconds: i64::try_from(since.as_secs()).unwrap_or_default(),
            offset: 0,
        };
        let signature = gix_actor::Signature {
            name: self.committer.name.as_str().into(),
            email: self.committer.email.as_str().into(),
            time,
        };
        gix_object::Commit {
            tree,
            parents: [self.merge.onto, self.merge.commit].into_iter().collect(),
            author: signature.clone(),
            committer: signature,
            encoding: None,
            message: self.message.as_str().into(),
            extra_headers: Vec::new(),
        }
    }
}

impl Adapter for GitAdapter {
    fn target(&self) -> String {
        format!("git {}", self.path.display())
    }

    fn call(&self, permit: DispatchPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            let claim = Arc::<Claim>::default();
            let _dropped = DropsClaim(claim.clone());
            let moved = match self.job(&permit, claim) {
                Err(fault) => Moved::Not(fault),
                Ok(job) => tokio::task::spawn_blocking(move || job.run())
                    .await
                    .unwrap_or_else(|error| {
                        Moved::Unknown(format!("the merge was cut off: {error}"))
                    }),
            };
            match moved {
                Moved::To(_) => Outcome::Accepted,
                Moved::Not(fault) => {
                    self.remarks
                        .say(&format!("`{}` was not merged: {fault}", permit.id()));
                    Outcome::Refused
                }
                Moved::Unknown(why) => {
                    self.remarks.say(&format!("`{}`: {why}", permit.id()));
                    Outcome::Lost
                }
            }
        })
    }

    fn observer(&self) -> Option<&dyn Observer> {
        Some(&self.observer)
    }
}
