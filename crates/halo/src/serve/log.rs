//! What an operator should know while the runtime runs: lines with their time on standard error.

use crate::terminal::plain;
use halo_canon::Instant;
use std::{
    io::{self, Write as _},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::JoinHandle,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Lines that may wait for a slow reader; further ones are dropped, so that nobody waits for the log.
const WAITING: usize = 1_024;
/// For how long the same line is not said again.
const QUIET: Duration = Duration::from_secs(10);
const SECOND: i128 = 1_000_000_000;

/// Where lines are said.
#[derive(Debug, Clone)]
pub(super) struct Log(SyncSender<String>);

/// The thread that writes them.
#[derive(Debug)]
pub(super) struct Writer(JoinHandle<()>);

impl Log {
    /// Starts a log.
    ///
    /// Errors: the system gives no thread.
    pub(super) fn start() -> io::Result<(Self, Writer)> {
        let (say, said) = sync_channel(WAITING);
        let writer = std::thread::Builder::new().name("log".into());
        let writer = writer.spawn(move || write(&said))?;
        Ok((Self(say), Writer(writer)))
    }

    /// Says something.
    pub(super) fn say(&self, text: &str) {
        // Full, or at its end: what is decided does not wait for what is said about it.
        let _ = self.0.try_send(text.to_owned());
    }
}

impl Writer {
    /// Waits until everything that was said is written. All logs must be gone.
    pub(super) fn finish(self) {
        // A panic of the writer has nothing to add.
        let _ = self.0.join();
    }
}

fn write(said: &Receiver<String>) {
    let mut last: Option<(String, std::time::Instant, u64)> = None;
    for text in said {
        if let Some((before, since, times)) = &mut last {
            if *before == text && since.elapsed() < QUIET {
                *times += 1;
                continue;
            }
            if *times > 0 {
                line(&format!("the last line {times} times more"));
            }
        }
        line(&text);
        last = Some((text, std::time::Instant::now(), 0));
    }
}

fn line(text: &str) {
    // That it cannot be written is no reason to stop.
    let _ = writeln!(io::stderr(), "{} {}", now(), plain(text));
}

/// The wall clock, to the second.
fn now() -> Instant {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Instant::from_nanos(i128::from(since.as_secs()) * SECOND)
}
