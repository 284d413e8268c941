//! The conformance vectors, as these tests read them.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "shared by several test binaries, none of which uses all of it"
)]

use std::path::{Path, PathBuf};

pub const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors");

/// The files of `vectors/cases` whose name ends with `suffix`, sorted.
pub fn cases(suffix: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(Path::new(VECTORS).join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(suffix))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no {suffix}");
    files
}

/// The catalogs in YAML: file and text.
pub fn catalogs() -> Vec<(String, String)> {
    let mut files = cases("corridor.yaml");
    files.extend(cases("pay.yaml"));
    files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), text)
        })
        .collect()
}

/// The lines of a vector file.
pub fn lines(file: &str) -> Vec<String> {
    std::fs::read_to_string(Path::new(VECTORS).join(file))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}
