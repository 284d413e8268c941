//! A response as it is kept: its components by position and by id.

use crate::{
    component::{Component, UnderWay},
    graph::{GraphEdge, ResponseGraph},
};
use foldhash::quality::SeedableRandomState;
use halo_canon::Document;
use hashbrown::HashTable;
use std::{hash::BuildHasher, sync::Arc};

/// A response that was accepted.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) id: Box<str>,
    /// As submitted: the same id with other content is a conflict (formats.md §2).
    pub(crate) document: Arc<Document>,
    pub(crate) components: Vec<Component>,
    pub(crate) graph: ResponseGraph,
    pub(crate) index: IdIndex,
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
