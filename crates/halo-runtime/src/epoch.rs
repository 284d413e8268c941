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

    /// The newest epoch that it knew when it was opened.
    pub fn newest(&self) -> u64 {
        self.newest + 1
    }

    /// Records that a process takes the directory over as `epoch`, durably. Whether that epoch was used before: then the
    /// directory is an older copy.
    ///
    /// Errors: it can't be written.
    pub fn claim(&self, epoch: u64) -> Result<bool, String> {
        let void = epoch <= self.newest;
        let next = epoch.max(self.newest());
        let failed = |error: std::io::Error| format!("`{}`: {error}", self.path.display());
        let part = self.path.with_extension("part");
        let mut file = fs::File::create(&part).map_err(failed)?;
        writeln!(file, "{next}").map_err(failed)?;
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
        Ok(void)
    }
}
