//! Merging in memory: what Git's `merge-ort` makes, without a program, a filter or a driver.

use crate::{Fault, FaultCode, Repository, attributes, history::Bases};
use gix_diff::Rewrites;
use gix_hash::ObjectId;
use gix_merge::{
    blob, commit,
    tree::{Conflict, Outcome, TreatAsUnresolved},
};
use gix_object::Kind;
use gix_odb::memory::{Proxy, Storage};
use gix_revwalk::Graph;
use gix_worktree::{
    Stack,
    glob::pattern::Case,
    stack::{State, state},
};

/// Larger files are merged as a whole: changed on both sides, they are a conflict.
pub(crate) const LARGEST_TEXT: u64 = 64 << 20;
/// How many candidates of renames are compared by content, as Git does for merges.
const RENAMES: usize = 7_000;
/// Most conflicting paths that a message names.
const SHOWN: usize = 3;

/// Which merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// The first parent: where the branch is.
    pub onto: ObjectId,
    /// The second: what is merged.
    pub commit: ObjectId,
}

/// A merge without conflicts. Nothing of it is in the repository yet.
pub struct Merged {
    /// The tree.
    pub tree: ObjectId,
    /// The objects that the repository does not have.
    pub(crate) objects: Storage,
}

/// Merges, in memory.
///
/// Errors: a conflict, no common ancestor, an object that can't be read; the repository is as it was.
pub fn merge(repository: &Repository, asked: Merge) -> Result<Merged, Fault> {
    let Merge { onto, commit } = asked;
    repository.commit(&onto)?;
    repository.commit(&commit)?;
    let objects = Proxy::new(repository.objects.clone(), repository.kind);
    let tree = {
        let cache = repository.commit_graph();
        let mut graph: Bases<'_, '_> = Graph::new(&repository.objects, cache.as_ref());
        // Walks again over what it holds, so asking first costs little.
        let bases = gix_revision::merge_base(onto, &[commit], &mut graph);
        let Some(bases) = bases.map_err(Fault::unreadable)? else {
            return Err(crate::history::unrelated(onto, commit));
        };
        if bases.first() == &commit {
            let text = format!("{onto} has {commit} already: there is nothing to merge");
            return Err(Fault::new(FaultCode::Merged, text));
        }
        let (mut diffs, mut blobs) = platforms(repository);
        let merged = gix_merge::commit(
            onto,
            commit,
            blob::builtin_driver::text::Labels::default(),
            &mut graph,
            &mut diffs,
            &mut blobs,
            &objects,
            &mut |id| id.to_string(),
            options(),
        );
        let mut merged = merged.map_err(Fault::unreadable)?.tree_merge;
        refuse_conflicts(&merged)?;
        attributes::refuse(repository, onto, commit, &merged)?;
        let write = |tree: &gix_object::Tree| gix_object::Write::write(&objects, tree);
        merged.tree.write(write).map_err(Fault::unreadable)?
    };
    let mut objects = objects;
    let mut made = objects.take_object_memory().unwrap_or_default();
    made.retain(|id, _| !gix_object::Exists::exists(&repository.objects, id));
    Ok(Merged {
        tree,
        objects: made,
    })
}

impl Merged {
    /// Takes an object into what is to be written.
    pub(crate) fn add(&mut self, kind: Kind, data: Vec<u8>, id: ObjectId) {
        self.objects.insert(id, (kind, data));
    }
}

fn options() -> commit::Options {
    commit::Options {
        allow_missing_merge_base: false,
        use_first_merge_base: false,
        tree_merge: gix_merge::tree::Options {
            rewrites: Some(Rewrites {
                limit: RENAMES,
                ..Rewrites::default()
            }),
            blob_merge: blob::platform::merge::Options {
                // As Git merges.
                text: blob::builtin_driver::text::Options {
                    diff_algorithm: gix_diff::blob::Algorithm::Histogram,
                    ..Default::default()
                },
                ..Default::default()
            },
            ..Default::default()
        },
    }
}

/// What compares and what merges contents. Neither knows attributes, filters, drivers or a working copy.
fn platforms(repository: &Repository) -> (gix_diff::blob::Platform, blob::Platform) {
    let stack = || {
        let state = State::AttributesStack(state::Attributes::default());
        let nowhere = std::path::Path::new("");
        Stack::new(nowhere, state, Case::Sensitive, Vec::new(), Vec::new())
    };
    let filter =
        || gix_filter::Pipeline::new(Default::default(), repository.kind, Default::default());
    let diffs = gix_diff::blob::Pipeline::new(
        Default::default(),
        filter(),
        Vec::new(),
        gix_diff::blob::pipeline::Options {
            large_file_threshold_bytes: LARGEST_TEXT,
            ..Default::default()
        },
    );
    let diffs = gix_diff::blob::Platform::new(
        gix_diff::blob::platform::Options {
            algorithm: Some(gix_diff::blob::Algorithm::Histogram),
            skip_internal_diff_if_external_is_configured: false,
        },
        diffs,
        gix_diff::blob::pipeline::Mode::ToGit,
        stack(),
    );
    let blobs = blob::Pipeline::new(
        Default::default(),
        filter(),
        blob::pipeline::Options {
            large_file_threshold_bytes: LARGEST_TEXT,
        },
    );
    let mode = blob::pipeline::Mode::ToGit;
    let blobs = blob::Platform::new(blobs, mode, stack(), Vec::new(), Default::default());
    (diffs, blobs)
}

fn refuse_conflicts(merged: &Outcome<'_>) -> Result<(), Fault> {
    let unresolved = |conflict: &&Conflict| conflict.is_unresolved(TreatAsUnresolved::git());
    let mut paths: Vec<String> = merged
        .conflicts
        .iter()
        .filter(unresolved)
        .map(|conflict| conflict.ours.location().to_string())
        .collect();
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        return Ok(());
    }
    let more = match paths.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    paths.truncate(SHOWN);
    let text = format!(
        "both sides changed {}{more}; rebase, or resolve by hand",
        paths.join(", ")
    );
    Err(Fault::new(FaultCode::Conflict, text))
}
