//! Which files the command line names.

use crate::{source::Fault, terminal::plain};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// How the name of a scenario's file ends.
const ENDINGS: [&str; 3] = [".scenario.yaml", ".scenario.yml", ".scenario.json"];

/// Every file named, and every scenario below a directory named, in order; and what was wrong.
pub(super) fn named(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<Fault>) {
    let (mut files, mut faults) = (Vec::new(), Vec::new());
    for path in paths {
        if path.as_os_str() == "-" || !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        let fault = match walk(path, &mut found) {
            Err(error) => Some(format!("cannot be walked: {error}")),
            // A folder without a scenario that counted as fine would hide a wrong path for ever.
            Ok(()) if found.is_empty() => Some(format!("holds no {} file", ENDINGS.join(" or "))),
            Ok(()) => None,
        };
        faults.extend(
            fault.map(|error| Fault::unreadable(&plain(&path.display().to_string()), error)),
        );
        found.sort();
        files.append(&mut found);
    }
    (files, faults)
}

/// Hidden directories and links to directories are left out: neither a checkout's innards nor a loop is wanted.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') {
                walk(&entry.path(), found)?;
            }
        } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            found.push(entry.path());
        }
    }
    Ok(())
}
