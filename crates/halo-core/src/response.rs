//! A response as it is kept: its components by position and by id.

use crate::{
    component::{Component, UnderWay},
    graph::{GraphEdge, ResponseGraph},
};
use foldhash::quality::SeedableRandomState;
use halo_canon::Document;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::{hash::BuildHasher, sync::Arc};

/// How a response is named: by its owner and its id. In a run with one owner, by its id alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Form", into = "Form")]
pub struct ResponseName {
    /// Who submitted it; empty in a run with one owner.
    pub owner: Box<str>,
    /// The id.
    pub id: Box<str>,
}

/// The serialized form of a name.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Id(Box<str>),
    Owned { owner: Box<str>, id: Box<str> },
}

impl From<Form> for ResponseName {
    fn from(form: Form) -> Self {
        match form {
            Form::Id(id) => Self {
                owner: Box::from(""),
                id,
            },
            Form::Owned { owner, id } => Self { owner, id },
        }
    }
}

impl From<ResponseName> for Form {
    fn from(name: ResponseName) -> Self {
        if name.owner.is_empty() {
            Self::Id(name.id)
        } else {
            Self::Owned {
                owner: name.owner,
                id: name.id,
            }
        }
    }
}

impl From<&str> for ResponseName {
    fn from(id: &str) -> Self {
        Self {
            owner: Box::from(""),
            id: id.into(),
        }
    }
}

impl From<String> for ResponseName {
    fn from(id: String) -> Self {
        id.as_str().into()
    }
}

/// A borrowed [`ResponseName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRef<'a> {
    /// Who submitted it; empty in a run with one owner.
    pub owner: &'a str,
    /// The id.
    pub id: &'a str,
}

impl<'a> From<&'a ResponseName> for NameRef<'a> {
    fn from(name: &'a ResponseName) -> Self {
        Self {
            owner: &name.owner,
            id: &name.id,
        }
    }
}

impl<'a> From<&'a str> for NameRef<'a> {
    fn from(id: &'a str) -> Self {
        Self { owner: "", id }
    }
}

impl<'a> From<&'a String> for NameRef<'a> {
    fn from(id: &'a String) -> Self {
        Self { owner: "", id }
    }
}

/// A response that was accepted.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) owner: Box<str>,
    pub(crate) id: Box<str>,
    /// As submitted: the same id with other content is a conflict (formats.md §2).
    pub(crate) document: Arc<Document>,
    pub(crate) components: Vec<Component>,
    pub(crate) graph: ResponseGraph,
    pub(crate) index: IdIndex,
    /// Its obligations, in order of creation.
    pub(crate) obligations: Vec<u32>,
    /// Whether who lost a prerequisite is lost (P9).
    pub(crate) closure: bool,
}

/// Positions by id: the first bearer of each.
#[derive(Debug, Default)]
pub(crate) struct IdIndex(HashTable<u32>);

impl IdIndex {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self(HashTable::with_capacity(capacity))
    }

    /// Enters `position`; gives the first bearer of the id where there is one already. `id_of` gives the id at a
    /// position.
    pub(crate) fn insert<'a>(
        &mut self,
        hasher: &SeedableRandomState,
        id: &str,
        position: u32,
        id_of: impl Fn(u32) -> &'a str,
    ) -> Option<u32> {
        let hash = hasher.hash_one(id);
        if let Some(first) = self.0.find(hash, |other| id_of(*other) == id) {
            return Some(*first);
        }
        self.0
            .insert_unique(hash, position, |other| hasher.hash_one(id_of(*other)));
        None
    }

    pub(crate) fn find<'a>(
        &self,
        hasher: &SeedableRandomState,
        id: &str,
        id_of: impl Fn(u32) -> &'a str,
    ) -> Option<u32> {
        self.0
            .find(hasher.hash_one(id), |other| id_of(*other) == id)
            .copied()
    }
}

impl Response {
    pub(crate) fn name(&self) -> NameRef<'_> {
        NameRef {
            owner: &self.owner,
            id: &self.id,
        }
    }

    pub(crate) fn position(&self, hasher: &SeedableRandomState, id: &str) -> Option<u32> {
        self.index.find(hasher, id, |position| {
            self.components
                .get(position as usize)
                .map_or("", Component::id)
        })
    }

    #[inline]
    pub(crate) fn get(&self, position: u32) -> Option<&Component> {
        self.components.get(position as usize)
    }

    /// Whether an edge's parent is in `A*` for its child: the parent that the child was admitted with, live, or left
    /// with its current support where that still matters (P9).
    pub(crate) fn edge_holds(&self, edge: &GraphEdge) -> bool {
        self.parent_holds(edge)
            || !self.closure
            || self.get(edge.child).is_some_and(|child| child.shadow)
    }

    /// The same, whatever is enforced.
    pub(crate) fn parent_holds(&self, edge: &GraphEdge) -> bool {
        let Some(parent) = self.get(edge.parent) else {
            return false;
        };
        if parent.version != edge.version {
            return false;
        }
        if parent.phase.is_live() {
            // With its call out, it left for all that its support still matters to.
            return !parent.lapsed || (edge.until_left && parent.under_way == UnderWay::Calling);
        }
        parent.phase.has_left() && (edge.until_left || parent.monitored)
    }

    /// Whether that is so of every prerequisite of a component.
    pub(crate) fn prerequisites_hold(&self, position: u32) -> bool {
        let edges = self.graph.prerequisites(position);
        edges.iter().all(|edge| self.edge_holds(edge))
    }
}
