//! The process that is killed.

use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

/// How long a start, or an end in good order, may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running `halo serve`.
pub(super) struct Process {
    child: Child,
    pub(super) address: SocketAddr,
}

/// What a start came to.
pub(super) enum Started {
    Ready(Process),
    /// It died at its fault point before it was ready.
    Killed,
}

impl Process {
    /// Starts it in `folder`; `point` is where it is to die by itself.
    ///
    /// Errors: it does not start, and was not killed.
    pub(super) fn start(
        binary: &Path,
        folder: &Path,
        point: Option<&str>,
    ) -> Result<Started, String> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("log"))
            .map_err(|error| error.to_string())?;
        let mut command = Command::new(binary);
        command
            .args(["--json", "serve", "--config", "halo.yaml"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .env_remove("HALO_FAULT_POINT");
        if let Some(point) = point {
            command.env("HALO_FAULT_POINT", point);
        }
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            // An end without a line is told by the empty one.
            let _ = BufReader::new(stdout).read_line(&mut line);
            let _ = sender.send(line);
        });
        let line = receiver.recv_timeout(PATIENCE).unwrap_or_default();
        let listening: Value = serde_json::from_str(&line).unwrap_or_default();
        let address = listening["listening"]
            .as_str()
            .and_then(|url| url.strip_prefix("http://")?.parse().ok());
        if let Some(address) = address {
            return Ok(Started::Ready(Self { child, address }));
        }
        let _ = child.kill();
        let status = child.wait().map_err(|error| error.to_string())?;
        match (status.signal(), point) {
            (Some(9), Some(_)) => Ok(Started::Killed),
            _ => Err(format!("it does not start ({status}): {}", line.trim())),
        }
    }

    /// Whether it is there still.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills it, and leaves it to be waited for.
    pub(super) fn strike(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
    }

    /// Kills it. Whether it was there still.
    pub(super) fn kill(mut self) -> bool {
        let alive = self.is_alive();
        let _ = self.child.kill();
        let _ = self.child.wait();
        alive
    }

    /// Tells it to end in good order.
    pub(super) fn tell_to_end(&self) {
        use rustix::process::{Pid, Signal, kill_process};
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // What it does then is waited for.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Waits until it has ended in good order.
    ///
    /// Errors: it takes too long, or does not.
    pub(super) fn end(mut self) -> Result<(), String> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Ok(Some(status)) = self.child.try_wait() {
                return match status.success() {
                    true => Ok(()),
                    false => Err(format!("it does not end in good order: {status}")),
                };
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.kill();
        Err(format!("it does not end within {PATIENCE:?}"))
    }
}
