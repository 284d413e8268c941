//! P17 by ancestry: is the merge commit with that binding reachable from the branch?

use crate::{Fault, FaultCode, Repository, adapter::Wanted};
use halo_runtime::ports::{Answering, Attempt, Observer, Sighting};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// Looks for merges of one adapter.
#[derive(Debug, Clone)]
pub struct GitObserver {
    path: PathBuf,
    head_path: String,
    moving: Arc<Mutex<()>>,
}

impl GitObserver {
    pub(crate) fn new(path: &Path, head_path: &str, moving: Arc<Mutex<()>>) -> Self {
        Self {
            path: path.to_owned(),
            head_path: head_path.to_owned(),
            moving,
        }
    }

    fn find(&self, attempt: &Attempt) -> Result<Sighting, Fault> {
        // No call of this process moves a branch meanwhile, and one that was dropped never will.
        let _still = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = Wanted::read(&attempt.payload, &attempt.bound, &self.head_path)?;
        let repository = Repository::open(&self.path)?;
        let head = repository.head(&wanted.change.target)?;
        let (since, commit) = (wanted.merge.onto, wanted.merge.commit);
        let binding = attempt.binding.to_string();
        match repository.find_binding(head, since, commit, &binding)? {
            Some(true) => Ok(Sighting::Done),
            Some(false) => Ok(Sighting::NotDone),
            None => {
                let text = format!(
                    "the branch `{}` was rewritten: {since} is no ancestor of {head} any more, so whether it was merged can't be told; find out, and settle it",
                    wanted.change.target.name()
                );
                Err(Fault::new(FaultCode::Moved, text))
            }
        }
    }
}

impl Observer for GitObserver {
    fn look<'a>(&'a self, attempt: &'a Attempt) -> Answering<'a, Result<Sighting, String>> {
        Box::pin(async move {
            let (this, attempt) = (self.clone(), attempt.clone());
            let looking = tokio::task::spawn_blocking(move || this.find(&attempt));
            let found = looking
                .await
                .map_err(|error| format!("the look failed: {error}"))?;
            found.map_err(|fault| fault.text)
        })
    }
}
