//! The machine as it is saved after a record, and from that again.

use super::{Machine, compile, holdings::Holdings};
use crate::books::{Books, SavedBooks};
use halo_canon::{Digest, Instant};
use halo_core::{ComponentRef, Engine, Saved, Seed};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What the bytes of a snapshot begin with: another form is another machine's.
const FORM: &str = "halo snapshot v1";

/// [`Machine`], with the texts of the catalogs that something refers to.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedMachine {
    form: String,
    /// When it was saved: time never runs behind it.
    at: Instant,
    /// File and text of each of the engine's catalogs.
    catalogs: Vec<(String, String)>,
    engine: Saved,
    books: SavedBooks,
    intended: BTreeSet<ComponentRef>,
    epoch: u64,
    targets: BTreeMap<String, String>,
    /// Name, version and content of every catalog ever in force.
    versions: Vec<(String, String, Digest)>,
}

/// Why a snapshot can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It is none of this form.
    #[error("a snapshot of another form: {0}")]
    Form(String),
    /// What it says does not hang together.
    #[error(transparent)]
    Damaged(#[from] halo_core::Damaged),
    /// A catalog of it does not compile.
    #[error(transparent)]
    Catalog(#[from] super::BadCatalog),
}

impl SavedMachine {
    /// As text.
    pub fn bytes(&self) -> Vec<u8> {
        // Its parts are text, numbers and lists, and maps with text keys: it has a JSON form.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// From text.
    ///
    /// Errors: it is none of this form.
    pub fn read(bytes: &[u8]) -> Result<Self, Unusable> {
        let saved: Self =
            serde_json::from_slice(bytes).map_err(|error| Unusable::Form(error.to_string()))?;
        if saved.form == FORM {
            Ok(saved)
        } else {
            Err(Unusable::Form(saved.form))
        }
    }

    /// When it was saved.
    pub fn at(&self) -> Instant {
        self.at
    }
}

impl Machine {
    /// The machine as data, between two steps. Texts of catalogs that nothing refers to any more are let go.
    pub fn save(&mut self, at: Instant) -> SavedMachine {
        let engine = self.engine.save();
        self.texts
            .retain(|content, _| engine.catalogs().contains(content));
        let texts = engine.catalogs().iter();
        // Every catalog came with its text.
        let catalogs = texts.filter_map(|content| self.texts.get(content));
        let versions = self.versions.iter();
        let mut versions: Vec<(String, String, Digest)> = versions
            .map(|((name, version), content)| (name.clone(), version.clone(), *content))
            .collect();
        versions.sort_unstable();
        SavedMachine {
            form: FORM.into(),
            at,
            catalogs: catalogs.map(|named| (**named).clone()).collect(),
            engine,
            books: self.books.save(),
            intended: self.intended.clone(),
            epoch: self.epoch,
            targets: self.targets.clone(),
            versions,
        }
    }

    /// A machine that goes on where the saved one was. `seed` is drawn anew: no token outlives a process.
    ///
    /// Errors: the data does not hang together.
    pub fn restore(saved: SavedMachine, seed: Seed) -> Result<Self, Unusable> {
        let mut catalogs = Vec::with_capacity(saved.catalogs.len());
        let mut texts = std::collections::HashMap::new();
        let mut catalog_text = Arc::default();
        for named in saved.catalogs {
            let catalog = compile(&named.0, &named.1)?;
            catalog_text = Arc::new(named);
            texts.insert(catalog.content, Arc::clone(&catalog_text));
            catalogs.push(catalog);
        }
        let versions = saved.versions.into_iter();
        let engine = Engine::restore(saved.engine, catalogs, seed)?;
        Ok(Self {
            holdings: Holdings::of(&engine),
            engine,
            intended: saved.intended,
            books: Books::restore(saved.books),
            epoch: saved.epoch,
            targets: saved.targets,
            versions: versions
                .map(|(name, version, content)| ((name, version), content))
                .collect(),
            catalog_text,
            texts,
            tells: true,
        })
    }
}
