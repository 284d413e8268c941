//! One process for each data directory.

use crate::StoreError;
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::Path,
};

/// The name of the lock file.
const NAME: &str = "lock";

/// Held as long as this lives, and not a moment longer than the process. The file stays: were it removed, a process that
/// just opened it would lock a file that nobody else sees.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the directory, and notes the process id for those who come later.
    ///
    /// Errors: [`StoreError::InUse`], or the file can't be written.
    pub(crate) fn take(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(NAME);
        let failed = |doing| {
            let path = path.clone();
            move |error| StoreError::io(doing, path, error)
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        private(&mut options);
        let mut file = options.open(&path).map_err(failed("open the lock file"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse {
                    path: directory.to_owned(),
                    pid: holder(&mut file),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock the lock file")(error)),
        }
        note(&mut file).map_err(failed("write the lock file"))?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that is just being started has a copy of the file until it is what it becomes.
        // Where this fails, closing has to do.
        let _ = self.file.unlock();
    }
}

fn note(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Who holds the lock, if they said so already.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Files of the journal are nobody else's to read.
#[cfg(unix)]
pub(crate) fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
pub(crate) fn private(_: &mut OpenOptions) {}
