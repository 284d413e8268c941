//! Commits for merges that tests publish themselves.

use gix_hash::ObjectId;
use halo_git::{Branch, Merge, Merged, Moved, Repository, publish};

pub(crate) fn id(text: &str) -> ObjectId {
    ObjectId::from_hex(text.as_bytes()).unwrap()
}

/// Publishes a merge on `main`, as commit number `number`.
pub(crate) fn publish_on_main(
    repository: &Repository,
    asked: Merge,
    merged: Merged,
    number: i64,
    may_move: impl FnOnce() -> bool,
) -> Moved {
    let signature = gix_actor::Signature {
        name: "T".into(),
        email: "t@x".into(),
        time: gix_object::date::Time {
            seconds: 1_700_000_000 + number,
            offset: 0,
        },
    };
    let commit = gix_object::Commit {
        tree: merged.tree,
        parents: [asked.onto, asked.commit].into_iter().collect(),
        author: signature.clone(),
        committer: signature,
        encoding: None,
        message: format!("merge {number}\n").into(),
        extra_headers: Vec::new(),
    };
    let main = Branch::parse("main").unwrap();
    publish(repository, &main, asked, merged, commit, may_move)
}
