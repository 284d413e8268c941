//! Where the merging library decides otherwise than Git, seen by comparing thousands of random histories: modes, and folders
//! that one side renamed.

use crate::{Fault, FaultCode, merge::Objects};
use gix_diff::{
    Rewrites,
    tree::recorder,
    tree_with_rewrites::{Action, Change, ChangeRef, Options},
};
use gix_hash::ObjectId;
use gix_merge::tree::{Conflict, Outcome, Resolution};
use gix_object::{
    FindExt as _, TreeRefIter,
    bstr::{BStr, ByteSlice as _},
    tree::EntryMode,
};
use std::collections::BTreeSet;

/// A file on one side.
#[derive(Clone, Copy)]
struct File<'a> {
    mode: EntryMode,
    id: ObjectId,
    place: &'a BStr,
}

/// Base and both sides of a file that stayed one on both.
struct Sides<'a> {
    base: File<'a>,
    ours: File<'a>,
    theirs: File<'a>,
    content: ObjectId,
}

/// Base and side of a change that leaves a file.
fn file(change: &Change) -> Option<(File<'_>, File<'_>)> {
    let (base, side) = match change {
        Change::Modification {
            location,
            previous_entry_mode,
            previous_id,
            entry_mode,
            id,
        } => {
            let place = location.as_bstr();
            (
                File {
                    mode: *previous_entry_mode,
                    id: *previous_id,
                    place,
                },
                File {
                    mode: *entry_mode,
                    id: *id,
                    place,
                },
            )
        }
        Change::Rewrite {
            source_location,
            source_entry_mode,
            source_id,
            entry_mode,
            id,
            location,
            copy: false,
            ..
        } => (
            File {
                mode: *source_entry_mode,
                id: *source_id,
                place: source_location.as_bstr(),
            },
            File {
                mode: *entry_mode,
                id: *id,
                place: location.as_bstr(),
            },
        ),
        _ => return None,
    };
    (base.mode.is_blob() && side.mode.is_blob()).then_some((base, side))
}

fn sides(conflict: &Conflict) -> Option<Sides<'_>> {
    let merged = match &conflict.resolution {
        Ok(Resolution::OursModifiedTheirsRenamedAndChangedThenRename {
            merged_blob,
            final_location: None,
            ..
        }) => *merged_blob,
        Ok(Resolution::OursModifiedTheirsModifiedThenBlobContentMerge { merged_blob }) => {
            Some(*merged_blob)
        }
        _ => return None,
    };
    let ((base, ours), (_, theirs)) = (file(&conflict.ours)?, file(&conflict.theirs)?);
    let content = match () {
        () if ours.id == base.id => theirs.id,
        () if theirs.id == base.id || theirs.id == ours.id => ours.id,
        () => merged?.merged_blob_id,
    };
    Some(Sides {
        base,
        ours,
        theirs,
        content,
    })
}

/// Whether a conflict is none: one side left the content as it was, and only the library takes that for a change.
pub(crate) fn is_none(conflict: &Conflict) -> bool {
    sides(conflict).is_some_and(|sides| {
        let Sides {
            base, ours, theirs, ..
        } = sides;
        ours.id == base.id || theirs.id == base.id || ours.id == theirs.id
    })
}

/// Gives merged files the mode and content that follow from the three sides.
///
/// Errors: a tree can't be read.
pub(crate) fn files(merged: &mut Outcome<'_>) -> Result<(), Fault> {
    for conflict in &merged.conflicts {
        let Some(Sides {
            base,
            ours,
            theirs,
            content,
        }) = sides(conflict)
        else {
            continue;
        };
        let mode = if ours.mode == base.mode {
            theirs.mode
        } else {
            ours.mode
        };
        let place = if ours.place == base.place {
            theirs.place
        } else {
            ours.place
        };
        let parts = place.split_str("/").map(|part| part.as_bstr());
        merged
            .tree
            .upsert(parts, mode.kind(), content)
            .map_err(Fault::unreadable)?;
    }
    Ok(())
}

/// Refuses a merge in which one side put a file into a folder that the other side renamed: Git asks where it belongs.
///
/// Errors: which; a tree can't be read.
pub(crate) fn refuse_renamed_folders(
    objects: &Objects,
    diffs: &mut gix_diff::blob::Platform,
    [base, ours, theirs]: [ObjectId; 3],
) -> Result<(), Fault> {
    for (side, other) in [(ours, theirs), (theirs, ours)] {
        let folders = entered(objects, base, side)?;
        let mut gone = BTreeSet::new();
        for folder in folders {
            let there = |tree| is_folder(objects, tree, &folder);
            if there(base)? && !there(other)? {
                gone.insert(folder);
            }
        }
        if gone.is_empty() {
            continue;
        }
        if let Some(folder) = renamed_out_of(objects, diffs, base, other, &gone)? {
            let text = format!(
                "one side renamed the folder {folder} and the other put a file into it; rebase, or merge by hand"
            );
            return Err(Fault::new(FaultCode::Conflict, text));
        }
    }
    Ok(())
}

/// The folders, with their slash, in which there are files that were not at that place before.
fn entered(objects: &Objects, base: ObjectId, side: ObjectId) -> Result<BTreeSet<String>, Fault> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut recorder = gix_diff::tree::Recorder::default();
    gix_diff::tree(
        tree(objects, base, &mut first)?,
        tree(objects, side, &mut second)?,
        gix_diff::tree::State::default(),
        objects,
        &mut recorder,
    )
    .map_err(Fault::unreadable)?;
    let mut folders = BTreeSet::new();
    for change in recorder.records {
        if let recorder::Change::Addition { path, .. } = change {
            let path = path.to_string();
            folders.extend(
                path.match_indices('/')
                    .map(|(end, _)| path[..=end].to_owned()),
            );
        }
    }
    Ok(folders)
}

fn tree<'b>(
    objects: &Objects,
    id: ObjectId,
    buffer: &'b mut Vec<u8>,
) -> Result<TreeRefIter<'b>, Fault> {
    objects
        .find_tree_iter(&id, buffer)
        .map_err(Fault::unreadable)
}

fn is_folder(objects: &Objects, root: ObjectId, folder: &str) -> Result<bool, Fault> {
    let mut buffer = Vec::new();
    let mut id = root;
    for part in folder.trim_end_matches('/').split('/') {
        let found = objects
            .find_tree(&id, &mut buffer)
            .map_err(Fault::unreadable)?;
        let entry = found.entries.iter().find(|entry| entry.filename == part);
        let Some(entry) = entry.filter(|entry| entry.mode.is_tree()) else {
            return Ok(false);
        };
        id = entry.oid.to_owned();
    }
    Ok(true)
}

/// The first of `folders` that a file was renamed out of.
fn renamed_out_of(
    objects: &Objects,
    diffs: &mut gix_diff::blob::Platform,
    base: ObjectId,
    side: ObjectId,
    folders: &BTreeSet<String>,
) -> Result<Option<String>, Fault> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut found = None;
    let options = Options {
        location: Some(recorder::Location::Path),
        rewrites: Some(Rewrites {
            limit: crate::merge::RENAMES,
            ..Rewrites::default()
        }),
    };
    gix_diff::tree_with_rewrites(
        tree(objects, base, &mut first)?,
        tree(objects, side, &mut second)?,
        diffs,
        &mut gix_diff::tree::State::default(),
        objects,
        |change| {
            if let ChangeRef::Rewrite {
                source_location,
                copy: false,
                ..
            } = change
            {
                let from = source_location.to_string();
                found = found.take().or_else(|| {
                    folders
                        .iter()
                        .find(|folder| from.starts_with(folder.as_str()))
                        .cloned()
                });
            }
            Ok(Action::Continue(()))
        },
        options,
    )
    .map_err(Fault::unreadable)?;
    Ok(found)
}
