//! From a merge in memory to a branch that moved: objects first, and durable; then the branch, under Git's own lock.

use crate::{Branch, Fault, FaultCode, Merge, Merged, Repository};
use gix_hash::ObjectId;
use gix_lock::acquire::Fail;
use gix_object::Write as _;
use gix_ref::{
    Target,
    transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog},
};
use std::{
    collections::BTreeSet,
    fs::File,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long a push that holds the branch at this moment is waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// The branch is at this commit, durably.
    To(ObjectId),
    /// The branch was not touched.
    Not(Fault),
    /// Nobody knows.
    Unknown(String),
}

/// Writes a merge and moves `branch` to its commit, from `onto` and from nowhere else. `may_move` is asked once, after all that
/// can be given up and before what can't; it answers whether the call still counts.
pub fn publish(
    repository: &Repository,
    branch: &Branch,
    asked: Merge,
    merged: Merged,
    commit: gix_object::Commit,
    may_move: impl FnOnce() -> bool,
) -> Moved {
    let commit = match write(repository, branch, asked, merged, &commit) {
        Ok(commit) => commit,
        Err(fault) => return Moved::Not(fault),
    };
    if !may_move() {
        let text = "the call was over before the branch moved";
        return Moved::Not(Fault::new(FaultCode::Moved, text));
    }
    move_branch(repository, branch, asked.onto, commit)
}

/// Everything that leaves nothing but unreachable objects.
fn write(
    repository: &Repository,
    branch: &Branch,
    asked: Merge,
    mut merged: Merged,
    commit: &gix_object::Commit,
) -> Result<ObjectId, Fault> {
    let mut data = Vec::new();
    let encoded = gix_object::WriteTo::write_to(commit, &mut data);
    encoded.map_err(Fault::unreadable)?;
    let kind = gix_object::Kind::Commit;
    let id = gix_object::compute_hash(repository.kind, kind, &data).map_err(Fault::unreadable)?;
    merged.add(kind, data, id);
    // Known before anything is written, where it can be.
    repository.unlocked(branch, PATIENCE)?;
    let head = repository.head(branch)?;
    if head != asked.onto {
        return Err(moved_on(branch, asked.onto, &head.to_string()));
    }
    let unwritten = |error: io::Error, path: &Path| {
        let text = format!("{} can't be written: {error}", path.display());
        Fault::new(FaultCode::Repository, text)
    };
    let loose = gix_odb::loose::Store::at(repository.path.join("objects"), repository.kind);
    let mut paths: Vec<PathBuf> = Vec::new();
    for (id, (kind, data)) in merged.objects.iter() {
        let path = loose.object_path(id);
        let written = loose.write_buf_with_known_id(*kind, data, *id);
        written.map_err(|error| unwritten(io::Error::other(error.to_string()), &path))?;
        paths.push(path);
    }
    let folders: BTreeSet<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
    let above = repository.path.join("objects");
    let all = paths
        .iter()
        .map(PathBuf::as_path)
        .chain(folders)
        .chain([above.as_path()]);
    for path in all {
        sync(path).map_err(|error| unwritten(error, path))?;
    }
    Ok(id)
}

/// The compare-and-swap.
fn move_branch(
    repository: &Repository,
    branch: &Branch,
    onto: ObjectId,
    commit: ObjectId,
) -> Moved {
    let edit = RefEdit::new(
        branch.full().clone(),
        Change::Update {
            log: LogChange {
                mode: RefLog::AndReference,
                force_create_reflog: false,
                message: "merged by HALO".into(),
            },
            expected: PreviousValue::MustExistAndMatch(Target::Object(onto)),
            new: Target::Object(commit),
        },
    );
    let patience = Fail::AfterDurationWithBackoff(PATIENCE);
    let transaction = repository.refs.transaction();
    // Up to here nothing but the lock was made, and it goes with the transaction.
    let prepared = match transaction.prepare(Some(edit), patience, Fail::Immediately) {
        Ok(prepared) => prepared,
        Err(error) => {
            return Moved::Not(moved_on(branch, onto, &format!("not to be had: {error}")));
        }
    };
    if let Err(error) = prepared.commit(None) {
        return Moved::Unknown(format!(
            "the branch `{}` may have moved: {error}",
            branch.name()
        ));
    }
    let path = repository.path.join(branch.full().as_bstr().to_string());
    let synced = sync(&path).and_then(|()| path.parent().map_or(Ok(()), sync));
    match synced {
        Ok(()) => Moved::To(commit),
        Err(error) => Moved::Unknown(format!(
            "{} moved, perhaps not durably: {error}",
            path.display()
        )),
    }
}

fn moved_on(branch: &Branch, onto: ObjectId, now: &str) -> Fault {
    let text = format!(
        "the branch `{}` was at {onto} at the last look and is {now} now",
        branch.name()
    );
    Fault::new(FaultCode::Moved, text)
}

/// To the disk.
fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
