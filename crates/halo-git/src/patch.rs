//! The stable patch id of a change, as `git diff --no-renames --full-index BASE SOURCE | git patch-id --stable` prints it.
//!
//! It names what changes, wherever it is applied: line numbers and white space do not count, so it never stands alone. The commit is
//! bound beside it.

use crate::{Fault, Repository, diff};
use gix_hash::{Kind, ObjectId, hasher};

/// The patch id of what lies between two commits; of no change, nothing.
pub(crate) fn patch_id(
    repository: &Repository,
    base: ObjectId,
    source: ObjectId,
) -> Result<Option<ObjectId>, Fault> {
    let mut sum = Sum::new(repository.kind);
    let mut any = false;
    diff::between(repository, base, source, &mut |file| {
        any = true;
        sum.file(file)
    })?;
    any.then(|| sum.finish()).transpose()
}

/// Files are hashed one by one and added up, so that their order does not count. As Git's reader has it, a file without
/// hunks (another mode, an empty file) is hashed together with the next, and the line that follows a binary file is passed
/// over.
struct Sum {
    kind: Kind,
    hash: gix_hash::Hasher,
    total: Vec<u8>,
    after_hunks: bool,
    after_binary: bool,
}

impl Sum {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            hash: hasher(kind),
            total: vec![0; kind.len_in_bytes()],
            after_hunks: false,
            after_binary: false,
        }
    }

    /// One file's part of the diff.
    fn file(&mut self, file: &diff::FileDiff) -> Result<(), Fault> {
        if self.after_hunks {
            self.add()?;
        }
        let passed_over = usize::from(self.after_binary);
        for line in file.header.iter().skip(passed_over).chain(&file.lines) {
            self.hash.update(&without_space(line));
        }
        if let Some((before, after)) = &file.binary {
            self.hash.update(before.to_string().as_bytes());
            self.hash.update(after.to_string().as_bytes());
            self.add()?;
        }
        self.after_binary = file.binary.is_some();
        self.after_hunks = !file.lines.is_empty();
        Ok(())
    }

    fn add(&mut self) -> Result<(), Fault> {
        let hash = std::mem::replace(&mut self.hash, hasher(self.kind));
        let hash = hash.try_finalize().map_err(Fault::unreadable)?;
        let mut carry = 0_u16;
        for (total, byte) in self.total.iter_mut().zip(hash.as_slice()) {
            carry += u16::from(*total) + u16::from(*byte);
            *total = carry.to_le_bytes()[0];
            carry >>= 8;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ObjectId, Fault> {
        self.add()?;
        ObjectId::try_from(&*self.total).map_err(Fault::unreadable)
    }
}

fn without_space(line: &[u8]) -> Vec<u8> {
    let space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    line.iter().copied().filter(|byte| !space(byte)).collect()
}
