//! One run of one command, from start to the end of its process group.

use super::{Command, INHERITED};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{process::Stdio, time::Duration};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

/// How much of standard error is read into an error.
const MAX_COMPLAINT: usize = 200;
/// How long output may trail the exit: longer than any pipe takes, unless something that left the group holds it.
const TRAIL: Duration = Duration::from_millis(500);

/// What of standard output is of interest.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keep {
    /// Nothing: it goes nowhere.
    Nothing,
    /// Up to so many bytes.
    Output(usize),
}

/// What a command printed.
#[derive(Debug, Default)]
pub(super) enum Output {
    /// It was not asked for, or did not end.
    #[default]
    Unknown,
    /// More than the limit.
    TooLong,
    /// All of it.
    Whole(Vec<u8>),
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Its exit code; nothing: killed by a signal.
    pub(super) code: Option<i32>,
    /// What it printed.
    pub(super) output: Output,
    complaint: String,
}

impl Ended {
    /// In words.
    pub(super) fn fault(&self) -> String {
        let end = match self.code {
            Some(code) => format!("exit {code}"),
            None => "killed by a signal".to_owned(),
        };
        match self.complaint.is_empty() {
            true => end,
            false => format!("{end}: {}", self.complaint),
        }
    }
}

/// A process group that is killed when this is dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0.take() {
            // Already gone is fine.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// Runs `command` with `input` to its end. Whatever is left of its process group then is killed, as is all of it when the
/// future is dropped. Errors: it did not start, or can't be waited for.
pub(super) async fn run(command: &Command, input: String, keep: Keep) -> Result<Ended, String> {
    let mut child = spawn(command, keep)
        .map_err(|error| format!("{} does not run: {error}", command.program.display()))?;
    // Declared after the child, so dropped before it: as long as the leader is not reaped its number is nobody else's.
    let group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async move {
        if let Some(mut stdin) = stdin {
            // A command need not read all: its exit code decides.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let streams = async { tokio::join!(feed, output(stdout, keep), complaint(stderr)) };
    tokio::pin!(streams);
    let mut read = None;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            done = &mut streams, if read.is_none() => read = Some(done),
        }
    };
    // Nothing of a call outlives it. A group that still has members keeps its number; one without is only named here.
    drop(group);
    if read.is_none() {
        read = tokio::time::timeout(TRAIL, streams).await.ok();
    }
    let ((), output, complaint) = read.unwrap_or_default();
    let status = status.map_err(|error| format!("its end is unknown: {error}"))?;
    Ok(Ended {
        code: status.code(),
        output,
        complaint,
    })
}

fn spawn(command: &Command, keep: Keep) -> std::io::Result<tokio::process::Child> {
    let inherited = INHERITED.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        Some((name, value))
    });
    tokio::process::Command::new(&command.program)
        .args(&command.arguments)
        .current_dir(&command.folder)
        .env_clear()
        .envs(inherited)
        .stdin(Stdio::piped())
        .stdout(match keep {
            Keep::Nothing => Stdio::null(),
            Keep::Output(_) => Stdio::piped(),
        })
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// All of the output. Past the limit the pipe is closed.
async fn output(stdout: Option<impl AsyncRead + Unpin>, keep: Keep) -> Output {
    let (Some(stdout), Keep::Output(limit)) = (stdout, keep) else {
        return Output::Unknown;
    };
    let mut text = Vec::new();
    let mut limited = stdout.take(limit as u64 + 1);
    match limited.read_to_end(&mut text).await {
        Ok(_) if text.len() > limit => Output::TooLong,
        Ok(_) => Output::Whole(text),
        Err(_) => Output::Unknown,
    }
}

/// The beginning of standard error in one line; the rest is read and dropped, so that the command goes on.
async fn complaint(stderr: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stderr) = stderr else {
        return String::new();
    };
    let mut text = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let room = (4 * MAX_COMPLAINT).saturating_sub(text.len());
        text.extend(chunk.iter().take(count.min(room)));
    }
    let text = String::from_utf8_lossy(&text);
    let line = text.trim().chars().take(MAX_COMPLAINT);
    line.map(|char| if char.is_control() { ' ' } else { char })
        .collect()
}
