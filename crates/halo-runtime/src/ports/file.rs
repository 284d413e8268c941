//! Files: a path that appends JSON lines, a provider that reads a record and notices that it changed.

use super::{Answering, OutputPath, Provider, Remarks, message};
use halo_core::{EmitPermit, Outcome};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher, event};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use tokio::sync::mpsc;

/// Longest file that holds a record, in bytes.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// A path that appends one line of JSON for each emission, by one write. Accepted once that write took the whole line;
/// a line that may stand there in part is lost. A file that it makes is its owner's alone.
#[derive(Debug, Clone)]
pub struct FilePath {
    path: PathBuf,
    remarks: Remarks,
}

impl FilePath {
    /// Appends to the file at `path`, which is opened for each line: it may be moved away at any time.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            remarks: Remarks::default(),
        }
    }
    /// Says there why something failed.
    pub fn remarking(mut self, remarks: Remarks) -> Self {
        self.remarks = remarks;
        self
    }
    async fn append(&self, permit: &EmitPermit) -> Result<(), (Outcome, String)> {
        let line = message::emission(permit).map_err(|fault| (Outcome::Refused, fault))? + "\n";
        let path = self.path.clone();
        let appended = blocking(move || append(&path, &line)).await;
        let appended = appended.unwrap_or_else(|error| Err((Outcome::Lost, error)));
        appended.map_err(|(outcome, error)| (outcome, format!("{}: {error}", self.path.display())))
    }
}

impl OutputPath for FilePath {
    fn emit(&self, permit: EmitPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            match self.append(&permit).await {
                Ok(()) => Outcome::Accepted,
                Err((outcome, fault)) => {
                    self.remarks.say(&fault);
                    outcome
                }
            }
        })
    }
}

/// Appends `line`. Errors: what cannot be opened was not written to; a write that failed, or took a part only, is lost.
fn append(path: &Path, line: &str) -> Result<(), (Outcome, io::Error)> {
    let mut file = OpenOptions::new()
        .append(true)
        .read(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| (Outcome::Refused, error))?;
    // What a crash left of a line must not swallow this one.
    let line = match ends_in_line(&mut file) {
        true => line.to_owned(),
        false => format!("\n{line}"),
    };
    match file.write(line.as_bytes()) {
        Ok(written) if written == line.len() => Ok(()),
        Ok(written) => {
            let message = format!("{written} of {} bytes were written", line.len());
            Err((Outcome::Lost, io::Error::other(message)))
        }
        Err(error) => Err((Outcome::Lost, error)),
    }
}

fn ends_in_line(file: &mut File) -> bool {
    let mut last = [0];
    match file.seek(SeekFrom::End(-1)) {
        Ok(_) => file.read_exact(&mut last).is_ok() && last == *b"\n",
        // Empty, or not a regular file.
        Err(_) => true,
    }
}

/// A provider whose record is a file's content.
#[derive(Debug, Clone)]
pub struct FileProvider {
    path: PathBuf,
}

impl FileProvider {
    /// Reads the file at `path` whenever it is asked.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
    /// Notices from now on that the file changed, also by being replaced. Errors: its folder can't be watched.
    pub fn watch(&self) -> Result<Changes, String> {
        Changes::of(&self.path)
            .map_err(|error| format!("{} can't be watched: {error}", self.path.display()))
    }
}

impl Provider for FileProvider {
    fn ask<'a>(&'a self, _key: Option<&'a str>) -> Answering<'a, Result<Vec<u8>, String>> {
        Box::pin(async move {
            let path = self.path.clone();
            blocking(move || read(&path))
                .await
                .flatten()
                .map_err(|error| format!("{}: {error}", self.path.display()))
        })
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("is no regular file"));
    }
    let mut text = Vec::new();
    let mut limited = File::open(path)?.take(MAX_RECORD_BYTES + 1);
    limited.read_to_end(&mut text)?;
    match text.len() as u64 > MAX_RECORD_BYTES {
        true => Err(io::Error::other("is longer than 1 MiB")),
        false => Ok(text),
    }
}

/// Tells that a file changed. Changes that come together are told once.
#[derive(Debug)]
pub struct Changes {
    told: mpsc::Receiver<()>,
    /// Watches as long as it lives.
    _watcher: RecommendedWatcher,
}

impl Changes {
    fn of(path: &Path) -> notify::Result<Self> {
        let (tell, told) = mpsc::channel(1);
        let name = path.file_name().map(std::ffi::OsStr::to_owned);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<_>| {
            if event.map_or(true, |event| concerns(&event, name.as_deref())) {
                // Full means that a change is told anyway.
                let _ = tell.try_send(());
            }
        })?;
        // The folder, because editors replace files: a watch on the file itself would stay on the old one.
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(Self {
            told,
            _watcher: watcher,
        })
    }
    /// Waits for the next change. False once there can be none any more.
    pub async fn changed(&mut self) -> bool {
        self.told.recv().await.is_some()
    }
}

/// Whether the file's content may be another now. Reading it is an event too, which would never end.
fn concerns(event: &notify::Event, name: Option<&std::ffi::OsStr>) -> bool {
    use event::{AccessKind, AccessMode};
    let changes = match event.kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    };
    // Events were dropped: anything may have happened.
    changes && (event.need_rescan() || event.paths.iter().any(|path| path.file_name() == name))
}

/// Runs what may block off the threads that drive the runtime. A job that has begun ends by itself, even when nobody
/// waits any more; one that has not is called off.
pub(super) async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    struct CallOff(tokio::task::AbortHandle);
    impl Drop for CallOff {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    let handle = tokio::task::spawn_blocking(job);
    let _call_off = CallOff(handle.abort_handle());
    let called_off = |_| io::Error::other("it was called off");
    handle.await.map_err(called_off)
}
