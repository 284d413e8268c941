//! Ancestry: merge bases, and the commit that carries a binding.

use crate::{Fault, FaultCode, Repository};
use gix_hash::ObjectId;
use gix_object::FindExt as _;
use gix_revision::merge_base::Flags;
use gix_revwalk::{Graph, graph};
use std::collections::{BinaryHeap, HashSet};

/// The trailer that a merge commit of this adapter carries, as its last line.
pub const BINDING_TRAILER: &str = "Halo-Binding";

/// The graph in which merge bases are looked for.
pub(crate) type Bases<'f, 'c> = Graph<'f, 'c, graph::Commit<Flags>>;

impl Repository {
    /// The commit graph's file, where there is one that can be used: it makes walks shorter and never changes what they find.
    pub(crate) fn commit_graph(&self) -> Option<gix_commitgraph::Graph> {
        let info = self.path.join("objects").join("info");
        gix_commitgraph::Graph::at(&info, self.kind, None).ok()
    }

    /// The best common ancestor of two commits. Of several that are equally good, the first that Git's order gives.
    ///
    /// Errors: there is none; a commit can't be read.
    pub fn merge_base(&self, first: ObjectId, second: ObjectId) -> Result<ObjectId, Fault> {
        let cache = self.commit_graph();
        let mut graph: Bases<'_, '_> = Graph::new(&self.objects, cache.as_ref());
        let bases = gix_revision::merge_base(first, &[second], &mut graph);
        let bases = bases.map_err(Fault::unreadable)?;
        bases
            .map(|bases| *bases.first())
            .ok_or_else(|| unrelated(first, second))
    }

    /// Looks for the commit with `binding` and `parent` as its second parent among what `head` has and `since` has not.
    /// Whether it is there; nothing where `since` is no ancestor any more, so that it can't be told.
    ///
    /// Errors: a commit can't be read.
    pub fn find_binding(
        &self,
        head: ObjectId,
        since: ObjectId,
        parent: ObjectId,
        binding: &str,
    ) -> Result<Option<bool>, Fault> {
        let mut seen = HashSet::from([head]);
        // The newest first: what is looked for was made moments ago.
        let mut queue = BinaryHeap::from([(i64::MAX, head)]);
        let mut buffer = Vec::new();
        let mut met = false;
        while let Some((_, id)) = queue.pop() {
            if id == since {
                met = true;
                continue;
            }
            let commit = self.objects.find_commit(&id, &mut buffer);
            let commit = commit.map_err(Fault::unreadable)?;
            let parents: Vec<ObjectId> = commit.parents().collect();
            if parents.get(1) == Some(&parent) && last_line(commit.message) == trailer(binding) {
                return Ok(Some(true));
            }
            let seconds = commit.time().map_or(i64::MIN, |time| time.seconds);
            for parent in parents {
                if seen.insert(parent) {
                    queue.push((seconds, parent));
                }
            }
        }
        Ok(met.then_some(false))
    }
}

/// The line that carries a binding.
pub(crate) fn trailer(binding: &str) -> String {
    format!("{BINDING_TRAILER}: {binding}")
}

/// Only the last line counts: above it stands what an agent wrote.
fn last_line(message: &[u8]) -> &str {
    let text = std::str::from_utf8(message).unwrap_or_default();
    text.trim_end_matches('\n')
        .lines()
        .next_back()
        .unwrap_or_default()
}

pub(crate) fn unrelated(first: ObjectId, second: ObjectId) -> Fault {
    let text = format!(
        "{first} and {second} have no common ancestor; histories that are not related are not merged"
    );
    Fault::new(FaultCode::Unrelated, text)
}
