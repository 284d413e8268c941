//! The epoch of a data directory, recorded outside of it: a restored older copy is noticed.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

/// A file that holds the newest epoch of one data directory.
#[derive(Debug, Clone)]
pub struct EpochFile {
    path: PathBuf,
    newest: u64,
}

impl EpochFile {
    /// Reads it; a file that is not there yet holds nothing.
    ///
    /// Errors: it can't be read, or holds something else. Nothing may start then: what it would tell is not known.
    pub fn open(path: &Path) -> Result<Self, String> {
        let newest = match fs::read_to_string(path) {
            Ok(text) => text
                .trim()
                .parse()
                .map_err(|_| format!("`{}` holds no epoch: `{}`", path.display(), text.trim()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(format!("`{}`: {error}", path.display())),
        };
        Ok(Self {
            path: path.to_owned(),
            newest,
        })
    }

    /// The epoch of a process that takes over a directory whose next epoch is `next`, and whether that one was used
    /// before: then the directory is an older copy.
    pub fn after(&self, next: u64) -> (u64, bool) {
        (next.max(self.newest + 1), next <= self.newest)
    }

    /// Records durably that a process has taken the directory over as `epoch`. To be called once the journal tells of it,
    /// or a crash in between would look like an older copy, and before anything leaves.
    ///
    /// Errors: it can't be written.
    pub fn claim(&mut self, epoch: u64) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("`{}`: {error}", self.path.display());
        let part = self.path.with_extension("part");
        let mut file = fs::File::create(&part).map_err(failed)?;
        writeln!(file, "{epoch}").map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&part, &self.path).map_err(failed)?;
        if let Some(folder) = self
            .path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            fs::File::open(folder)
                .and_then(|folder| folder.sync_all())
                .map_err(failed)?;
        }
        self.newest = epoch;
        Ok(())
    }
}
