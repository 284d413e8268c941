//! Paths that write JSON lines to something that is open: standard output.

use super::{Answering, OutputPath, Remarks, file::blocking, message};
use halo_core::{EmitPermit, Outcome};
use std::{
    fmt,
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

/// Where the lines go.
type Sink = Arc<Mutex<Box<dyn Write + Send>>>;

/// A path that writes one line of JSON for each emission. Accepted once the line was taken whole; anything else may have
/// arrived in part, and is lost.
#[derive(Clone)]
pub struct LinesPath {
    sink: Sink,
    remarks: Remarks,
}

impl LinesPath {
    /// To standard output.
    pub fn stdout() -> Self {
        Self::to(Box::new(std::io::stdout()))
    }
    /// To any writer. One that blocks holds up this path alone.
    pub fn to(writer: Box<dyn Write + Send>) -> Self {
        Self {
            sink: Arc::new(Mutex::new(writer)),
            remarks: Remarks::default(),
        }
    }
    /// Says there why something failed.
    pub fn remarking(mut self, remarks: Remarks) -> Self {
        self.remarks = remarks;
        self
    }
    async fn write(&self, permit: &EmitPermit) -> Result<(), String> {
        let line = message::emission(permit)? + "\n";
        let sink = self.sink.clone();
        blocking(move || {
            // A writer that panicked left at most a part of its own line.
            let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
            let written = sink.write_all(line.as_bytes());
            written.and_then(|()| sink.flush())
        })
        .await
        .flatten()
        .map_err(|error| format!("not written: {error}"))
    }
}

impl OutputPath for LinesPath {
    fn emit(&self, permit: EmitPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            match self.write(&permit).await {
                Ok(()) => Outcome::Accepted,
                Err(fault) => {
                    self.remarks.say(&fault);
                    Outcome::Lost
                }
            }
        })
    }
}

impl fmt::Debug for LinesPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinesPath")
    }
}
