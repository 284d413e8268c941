//! The difference of two commits as lines, as `git diff --no-renames --full-index` has them.

use crate::{Fault, Repository, merge::LARGEST_TEXT};
use gix_diff::{
    blob::{Algorithm, Diff, InternedInput, sources::byte_lines},
    tree::recorder::Change,
};
use gix_hash::ObjectId;
use gix_object::{FindExt as _, TreeRefIter, bstr::BStr, tree::EntryMode};
use std::ops::Range;

/// Unchanged lines around a change.
const CONTEXT: u32 = 3;
/// How far Git looks for a zero byte, which makes a file binary.
const LOOKED_AT: usize = 8_000;

/// What Git prints of one file.
pub(crate) struct FileDiff {
    /// The lines above the first hunk, without that of the ids.
    pub(crate) header: Vec<Vec<u8>>,
    /// Of a binary file: its ids.
    pub(crate) binary: Option<(ObjectId, ObjectId)>,
    /// The lines of the hunks, each with its sign.
    pub(crate) lines: Vec<Vec<u8>>,
}

/// One side of a file.
#[derive(Clone, Copy)]
struct Side {
    mode: EntryMode,
    id: ObjectId,
}

/// Gives each file that differs to `each`, in order.
pub(crate) fn between(
    repository: &Repository,
    before: ObjectId,
    after: ObjectId,
    each: &mut dyn FnMut(&FileDiff) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let objects = &repository.objects;
    let mut trees = [Vec::new(), Vec::new()];
    for (commit, tree) in [before, after].iter().zip(&mut trees) {
        let mut buffer = Vec::new();
        let found = objects.find_commit(commit, &mut buffer);
        let id = found.map_err(Fault::unreadable)?.tree();
        objects.find_tree(&id, tree).map_err(Fault::unreadable)?;
    }
    let [first, second] = &trees;
    let mut recorder = gix_diff::tree::Recorder::default();
    let iter = |data| TreeRefIter::from_bytes(data, repository.kind);
    gix_diff::tree(
        iter(first),
        iter(second),
        gix_diff::tree::State::default(),
        objects,
        &mut recorder,
    )
    .map_err(Fault::unreadable)?;
    let mut changes: Vec<(Vec<u8>, Option<Side>, Option<Side>)> =
        recorder.records.into_iter().filter_map(sides).collect();
    changes.sort_by(|first, second| first.0.cmp(&second.0));
    for (path, before, after) in changes {
        let name = BStr::new(&path);
        match (before, after) {
            // Another kind of thing is one gone and one new.
            (Some(from), Some(to)) if kind_of(from) != kind_of(to) => {
                each(&file(repository, name, Some(from), None)?)?;
                each(&file(repository, name, None, Some(to))?)?;
            }
            (before, after) => each(&file(repository, name, before, after)?)?,
        }
    }
    Ok(())
}

/// File, link or submodule, whatever its permissions.
fn kind_of(side: Side) -> u16 {
    side.mode.value() & 0o170_000
}

fn sides(change: Change) -> Option<(Vec<u8>, Option<Side>, Option<Side>)> {
    let side = |mode: EntryMode, id| (!mode.is_tree()).then_some(Side { mode, id });
    let (path, before, after) = match change {
        Change::Addition {
            entry_mode,
            oid,
            path,
            ..
        } => (path, None, side(entry_mode, oid)),
        Change::Deletion {
            entry_mode,
            oid,
            path,
            ..
        } => (path, side(entry_mode, oid), None),
        Change::Modification {
            previous_entry_mode,
            previous_oid,
            entry_mode,
            oid,
            path,
        } => (
            path,
            side(previous_entry_mode, previous_oid),
            side(entry_mode, oid),
        ),
    };
    (before.is_some() || after.is_some()).then(|| (path.into(), before, after))
}

fn file(
    repository: &Repository,
    path: &BStr,
    before: Option<Side>,
    after: Option<Side>,
) -> Result<FileDiff, Fault> {
    let (from, to) = (quoted("a/", path), quoted("b/", path));
    let mut header = vec![joined(&[b"diff --git ", &from, b" ", &to])];
    match (before, after) {
        (None, Some(new)) => {
            header.push(format!("new file mode {:06o}", new.mode.value()).into_bytes())
        }
        (Some(old), None) => {
            header.push(format!("deleted file mode {:06o}", old.mode.value()).into_bytes())
        }
        (Some(old), Some(new)) if old.mode != new.mode => {
            header.push(format!("old mode {:06o}", old.mode.value()).into_bytes());
            header.push(format!("new mode {:06o}", new.mode.value()).into_bytes());
        }
        _ => {}
    }
    let null = repository.kind.null();
    let ids = (
        before.map_or(null, |side| side.id),
        after.map_or(null, |side| side.id),
    );
    let mut made = FileDiff {
        header,
        binary: None,
        lines: Vec::new(),
    };
    if ids.0 == ids.1 {
        return Ok(made);
    }
    let (old, new) = (content(repository, before)?, content(repository, after)?);
    let (Some(old), Some(new)) = (old, new) else {
        made.binary = Some(ids);
        return Ok(made);
    };
    let lines = hunks(&old, &new);
    if !lines.is_empty() {
        let nothing = b"/dev/null".to_vec();
        let from = if before.is_some() {
            from
        } else {
            nothing.clone()
        };
        let to = if after.is_some() { to } else { nothing };
        made.header.push(joined(&[b"--- ", &from]));
        made.header.push(joined(&[b"+++ ", &to]));
    }
    made.lines = lines;
    Ok(made)
}

/// A file's content as text; nothing of a binary one.
fn content(repository: &Repository, side: Option<Side>) -> Result<Option<Vec<u8>>, Fault> {
    let Some(side) = side else {
        return Ok(Some(Vec::new()));
    };
    if side.mode.is_commit() {
        return Ok(Some(
            format!("Subproject commit {}\n", side.id).into_bytes(),
        ));
    }
    let header = gix_object::FindHeader::try_header(&repository.objects, &side.id);
    let header = header.map_err(Fault::unreadable)?;
    if header.is_some_and(|header| header.size > LARGEST_TEXT) {
        return Ok(None);
    }
    let mut data = Vec::new();
    repository
        .objects
        .find_blob(&side.id, &mut data)
        .map_err(Fault::unreadable)?;
    let start = data.get(..LOOKED_AT).unwrap_or(&data);
    Ok((!start.contains(&0)).then_some(data))
}

/// The lines of all hunks.
fn hunks(old: &[u8], new: &[u8]) -> Vec<Vec<u8>> {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let mut lines = Vec::new();
    let line = |sign: &[u8], token| joined(&[sign, input.interner[token]]);
    let mut push = |sign: &[u8], tokens: &[gix_diff::blob::Token], range: Range<u32>| {
        let range = range.start as usize..range.end as usize;
        lines.extend(
            tokens
                .get(range)
                .unwrap_or_default()
                .iter()
                .map(|token| line(sign, *token)),
        );
    };
    let all: Vec<_> = diff.hunks().collect();
    let length = input.before.len() as u32;
    let mut told = 0;
    for (at, hunk) in all.iter().enumerate() {
        let start = hunk.before.start.saturating_sub(CONTEXT).max(told);
        push(b" ", &input.before, start..hunk.before.start);
        push(b"-", &input.before, hunk.before.clone());
        push(b"+", &input.after, hunk.after.clone());
        let next = all.get(at + 1).map_or(length, |next| next.before.start);
        told = hunk.before.end.saturating_add(CONTEXT).min(next);
        push(b" ", &input.before, hunk.before.end..told);
    }
    lines
}

/// A path as Git prints it: in quotes where it has unusual bytes.
fn quoted(prefix: &str, path: &BStr) -> Vec<u8> {
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
    if path.iter().all(plain) {
        return joined(&[prefix.as_bytes(), path]);
    }
    let mut text = joined(&[b"\"", prefix.as_bytes()]);
    for byte in path.iter() {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            7..=13 => text.extend([b'\\', b"abtnvfr"[usize::from(byte - 7)]]),
            byte if plain(byte) => text.push(*byte),
            byte => text.extend(format!("\\{byte:03o}").into_bytes()),
        }
    }
    text.push(b'"');
    text
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}
