//! How many files the process may have open: every connection is one, and so is every call of an adapter.

use rustix::process::{Resource, getrlimit, setrlimit};

/// What is kept for the journal, adapters, providers and paths.
const KEPT: u64 = 256;

/// Takes as many files as the system allows. How many of them connections may take, at most `wanted`.
pub(super) fn for_connections(wanted: usize) -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let soft = limit.current;
        limit.current = limit.maximum;
        if setrlimit(Resource::Nofile, limit).is_err() {
            limit.current = soft;
        }
    }
    match limit.current {
        None => wanted,
        Some(files) => {
            let left = usize::try_from(files.saturating_sub(KEPT)).unwrap_or(usize::MAX);
            wanted.min(left.max(16))
        }
    }
}
