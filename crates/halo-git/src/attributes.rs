//! `.gitattributes` may say that a file is not merged as text, or by a program. Such a file is not merged here at all.

use crate::{Fault, FaultCode, Repository};
use gix_hash::ObjectId;
use gix_merge::tree::Outcome;
use gix_object::FindExt as _;
use std::collections::BTreeSet;

/// What names another way to merge.
const WORDS: [&str; 3] = ["merge", "binary", "conflict-marker-size"];

/// Refuses a merge in which a file was merged by content whose folder, or one above, has attributes about merging, on either
/// side.
///
/// Errors: which; an object that can't be read.
pub(crate) fn refuse(
    repository: &Repository,
    onto: ObjectId,
    commit: ObjectId,
    merged: &Outcome<'_>,
) -> Result<(), Fault> {
    let mut folders = BTreeSet::new();
    for conflict in &merged.conflicts {
        if conflict.content_merge().is_none() {
            continue;
        }
        let sides = [conflict.ours.location(), conflict.theirs.location()];
        for path in sides.map(|path| path.to_string()) {
            let ends = path.match_indices('/').map(|(end, _)| end);
            folders.extend(ends.map(|end| path[..=end].to_owned()));
            folders.insert(String::new());
        }
    }
    for side in [onto, commit] {
        for folder in &folders {
            let path = format!("{folder}.gitattributes");
            if says(repository, side, &path)? {
                let text = format!(
                    "{path} in {side} says how files are merged, and files below it changed on both sides; merge them by hand"
                );
                return Err(Fault::new(FaultCode::Conflict, text));
            }
        }
    }
    Ok(())
}

/// Whether the attributes at `path` say anything about merging.
fn says(repository: &Repository, commit: ObjectId, path: &str) -> Result<bool, Fault> {
    let mut buffer = Vec::new();
    let objects = &repository.objects;
    let found = objects.find_commit(&commit, &mut buffer);
    let mut id = found.map_err(Fault::unreadable)?.tree();
    for part in path.split('/') {
        let Ok(tree) = objects.find_tree(&id, &mut buffer) else {
            return Err(Fault::unreadable(format!("{id} can't be read as a tree")));
        };
        let entry = tree.entries.iter().find(|entry| entry.filename == part);
        let Some(entry) = entry.filter(|entry| entry.mode.is_tree() || part == ".gitattributes")
        else {
            return Ok(false);
        };
        id = entry.oid.to_owned();
    }
    let Ok(found) = objects.find_blob(&id, &mut buffer) else {
        return Ok(false);
    };
    let text = String::from_utf8_lossy(found.data);
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let mut words = lines.flat_map(|line| line.split_whitespace().skip(1));
    Ok(words.any(|word| {
        let word = word.trim_start_matches(['-', '!']);
        WORDS.contains(&word.split('=').next().unwrap_or_default())
    }))
}
