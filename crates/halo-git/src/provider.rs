//! What of a repository a decision about a change rests on.

use crate::{Change, Fault, FaultCode, Repository, patch::patch_id};
use gix_hash::ObjectId;
use halo_runtime::ports::{Answering, Provider};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::Semaphore;

/// Longest key, in bytes: two names and three dots.
const LONGEST_KEY: usize = 512;
/// How long a push that holds the branch at this moment is waited for.
const PATIENCE: Duration = Duration::from_millis(250);
/// How many readings go on at once: one that is given up at its time limit goes on all the same, and must not pile up.
const AT_ONCE: usize = 4;
/// How many changes' bases and patch ids are kept.
const KEPT: usize = 1_024;

/// A provider of a keyed source of changes: the key is `target...source`.
#[derive(Debug, Clone)]
pub struct GitProvider {
    path: PathBuf,
    known: Arc<Mutex<HashMap<Heads, Told>>>,
    places: Arc<Semaphore>,
}

/// Target and source.
type Heads = (ObjectId, ObjectId);

/// What is a function of the two heads.
#[derive(Debug, Clone)]
struct Told {
    base: ObjectId,
    patch: Option<ObjectId>,
}

impl GitProvider {
    /// Reads the bare repository at `path` whenever it is asked.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            known: Arc::default(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// The record of one change. Where something is wrong with the repository, it says so in `fault`, and no head is in it.
    ///
    /// Errors: a key that names no change.
    pub fn record(&self, key: &str) -> Result<Value, Fault> {
        if key.len() > LONGEST_KEY {
            return Err(Fault::new(
                FaultCode::BadName,
                "the key is longer than 512 bytes",
            ));
        }
        let change = Change::parse(key)?;
        let names = json!({"target": change.target.name(), "source": change.source.name()});
        let value = self
            .read(&change)
            .unwrap_or_else(|fault| json!({"fault": fault}));
        Ok(json!({"provenance": "git", "value": joined(names, value)}))
    }

    fn read(&self, change: &Change) -> Result<Value, Fault> {
        let repository = Repository::open(&self.path)?;
        repository.unlocked(&change.target, PATIENCE)?;
        let target = repository.head(&change.target)?;
        let source = repository.head(&change.source)?;
        let Told { base, patch } = self.told(&repository, (target, source))?;
        Ok(json!({
            "target_head": target.to_string(),
            "source_head": source.to_string(),
            "base": base.to_string(),
            "patch": patch.map(|patch| patch.to_string()),
            "merged": base == source,
        }))
    }

    /// Heads are names of their content: what was told of them once holds for ever.
    fn told(&self, repository: &Repository, heads: Heads) -> Result<Told, Fault> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = known().get(&heads) {
            return Ok(told.clone());
        }
        let base = repository.merge_base(heads.0, heads.1)?;
        let patch = patch_id(repository, base, heads.1)?;
        let told = Told { base, patch };
        let mut known = known();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(heads, told.clone());
        Ok(told)
    }

    /// The repository.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn joined(mut first: Value, second: Value) -> Value {
    if let (Some(first), Value::Object(second)) = (first.as_object_mut(), second) {
        first.extend(second);
    }
    first
}

impl Provider for GitProvider {
    fn ask<'a>(&'a self, key: Option<&'a str>) -> Answering<'a, Result<Vec<u8>, String>> {
        Box::pin(async move {
            let (this, key) = (self.clone(), key.unwrap_or_default().to_owned());
            let place = self.places.clone().acquire_owned().await;
            let place = place.map_err(|_| "the repository's reader has ended".to_owned())?;
            let reading = tokio::task::spawn_blocking(move || {
                let record = this.record(&key);
                drop(place);
                record
            });
            let record = reading
                .await
                .map_err(|error| format!("the repository's reader failed: {error}"))?;
            record
                .map(|record| record.to_string().into_bytes())
                .map_err(|fault| fault.text)
        })
    }
}
