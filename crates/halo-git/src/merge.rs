//! Merging in memory: what Git's `merge-ort` makes, without a program, a filter or a driver.

use crate::{
    Fault, FaultCode, Repository, attributes,
    history::{Bases, unrelated},
    repair,
};
use gix_diff::Rewrites;
use gix_hash::ObjectId;
use gix_merge::{
    blob,
    blob::builtin_driver::text::Labels,
    tree::{Conflict, Outcome, ResolveWith, TreatAsUnresolved},
};
use gix_object::{FindExt as _, Kind, TreeRefIter};
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
pub(crate) const RENAMES: usize = 7_000;
/// How often common ancestors may have several common ancestors in turn.
const DEEPEST: u8 = 8;
/// Nobody sees the markers of conflicts: what conflicts is not written.
const LABELS: Labels<'static> = Labels {
    ancestor: None,
    current: None,
    other: None,
};
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
    let cache = repository.commit_graph();
    let (diffs, blobs) = platforms(repository);
    let mut work = Work {
        repository,
        objects: &objects,
        graph: Graph::new(&repository.objects, cache.as_ref()),
        diffs,
        blobs,
    };
    let tree = work.merge(asked, 0)?;
    drop(work);
    let mut objects = objects;
    let mut made = objects.take_object_memory().unwrap_or_default();
    let mut objects = Storage::default();
    take_reachable(repository, &mut made, &mut objects, tree)?;
    Ok(Merged { tree, objects })
}

/// Moves what a tree needs and the repository lacks from `made`: common ancestors that were merged for this leave nothing.
fn take_reachable(
    repository: &Repository,
    made: &mut Storage,
    taken: &mut Storage,
    tree: ObjectId,
) -> Result<(), Fault> {
    let mut waiting = vec![tree];
    while let Some(id) = waiting.pop() {
        let Some((kind, data)) = made.remove(&id) else {
            // Nothing is published that rests on what is not there.
            if !taken.contains_key(&id) && !gix_object::Exists::exists(&repository.objects, &id) {
                return Err(Fault::unreadable(format!("object {id} is missing")));
            }
            continue;
        };
        if kind == Kind::Tree {
            for entry in TreeRefIter::from_bytes(&data, repository.kind) {
                let entry = entry.map_err(Fault::unreadable)?;
                // A submodule's commit is in another repository.
                if !entry.mode.is_commit() {
                    waiting.push(entry.oid.to_owned());
                }
            }
        }
        if !gix_object::Exists::exists(&repository.objects, &id) {
            taken.insert(id, (kind, data));
        }
    }
    Ok(())
}

/// A merge under way. What it makes stays in the memory of `objects`.
struct Work<'r, 'c> {
    repository: &'r Repository,
    objects: &'r Objects,
    graph: Bases<'r, 'c>,
    diffs: gix_diff::blob::Platform,
    blobs: blob::Platform,
}

pub(crate) type Objects = Proxy<gix_odb::Handle>;

impl Work<'_, '_> {
    /// The tree of a merge. Below depth 0 it is the common ancestor of another: what conflicts in it is kept with its markers,
    /// so that it conflicts above as well, where the two sides did not resolve it in the same way.
    fn merge(&mut self, asked: Merge, depth: u8) -> Result<ObjectId, Fault> {
        let Merge { onto, commit } = asked;
        let bases = gix_revision::merge_base(onto, &[commit], &mut self.graph);
        let bases: Vec<ObjectId> = match bases.map_err(Fault::unreadable)? {
            Some(bases) => bases.into_iter().collect(),
            None => return Err(unrelated(onto, commit)),
        };
        if depth == 0 && bases == [commit] {
            let text = format!("{onto} has {commit} already: there is nothing to merge");
            return Err(Fault::new(FaultCode::Merged, text));
        }
        let base = match *bases {
            [base] => self.tree(base)?,
            [newer, older] if depth < DEEPEST => {
                let bases = Merge {
                    onto: older,
                    commit: newer,
                };
                self.merge(bases, depth + 1)?
            }
            _ => {
                let text = format!(
                    "{onto} and {commit} were merged into each other too often for one common ancestor; rebase"
                );
                return Err(Fault::new(FaultCode::Conflict, text));
            }
        };
        let (ours, theirs) = (self.tree(onto)?, self.tree(commit)?);
        let objects = self.objects;
        let merged = gix_merge::tree(
            &base,
            &ours,
            &theirs,
            LABELS,
            objects,
            |data| gix_object::Write::write_buf(objects, Kind::Blob, data),
            &mut gix_diff::tree::State::default(),
            &mut self.diffs,
            &mut self.blobs,
            options(depth),
        );
        let mut merged = merged.map_err(Fault::unreadable)?;
        if depth == 0 {
            refuse_conflicts(&merged)?;
            let trees = [base, ours, theirs];
            repair::refuse_renamed_folders(objects, &mut self.diffs, trees)?;
        }
        repair::files(&mut merged)?;
        attributes::refuse(self.repository, onto, commit, &merged)?;
        let write = |tree: &gix_object::Tree| gix_object::Write::write(objects, tree);
        merged.tree.write(write).map_err(Fault::unreadable)
    }

    fn tree(&self, commit: ObjectId) -> Result<ObjectId, Fault> {
        let mut buffer = Vec::new();
        let found = self.repository.objects.find_commit(&commit, &mut buffer);
        Ok(found.map_err(Fault::unreadable)?.tree())
    }
}

impl Merged {
    /// Takes an object into what is to be written.
    pub(crate) fn add(&mut self, kind: Kind, data: Vec<u8>, id: ObjectId) {
        self.objects.insert(id, (kind, data));
    }
}

fn options(depth: u8) -> gix_merge::tree::Options {
    let ancestor = (depth > 0).then_some(blob::builtin_driver::binary::ResolveWith::Ancestor);
    gix_merge::tree::Options {
        rewrites: Some(Rewrites {
            limit: RENAMES,
            ..Rewrites::default()
        }),
        blob_merge: blob::platform::merge::Options {
            is_virtual_ancestor: depth > 0,
            resolve_binary_with: ancestor,
            // As Git merges.
            text: blob::builtin_driver::text::Options {
                diff_algorithm: gix_diff::blob::Algorithm::Histogram,
                ..Default::default()
            },
        },
        marker_size_multiplier: depth,
        symlink_conflicts: ancestor,
        tree_conflicts: (depth > 0).then_some(ResolveWith::Ancestor),
        ..Default::default()
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
    let unresolved = |conflict: &&Conflict| {
        conflict.is_unresolved(TreatAsUnresolved::git()) && !repair::is_none(conflict)
    };
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
