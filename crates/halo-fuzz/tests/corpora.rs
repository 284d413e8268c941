//! Replays the fuzz corpora, and every vector as a seed of its target.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{fs, path::Path};

fn replay(target: &str, check: fn(&[u8]) -> Result<(), String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if let Err(fault) = check(&fs::read(&path).unwrap()) {
            panic!("{}: {fault}", path.display());
        }
        count += 1;
    }
    assert!(count > 0, "the corpus of {target} is empty");
}

#[test]
fn parse() {
    replay("parse", halo_fuzz::parse);
}

#[test]
fn canon() {
    replay("canon", halo_fuzz::canon);
}

#[test]
fn catalog() {
    replay("catalog", halo_fuzz::catalog);
}

#[test]
fn predicate() {
    replay("predicate", halo_fuzz::predicate);
}

#[test]
fn scenario() {
    replay("scenario", halo_fuzz::scenario);
}

#[test]
fn agentspec() {
    replay("agentspec", halo_fuzz::agentspec);
}

#[test]
fn policy() {
    replay("policy", halo_fuzz::policy);
}

#[test]
fn ulog() {
    replay("ulog", halo_fuzz::ulog);
}
