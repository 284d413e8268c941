//! Commands: no shell, JSON on standard input, a process group that ends with the call.
//!
//! A command gets no more of the environment than [`INHERITED`]: secrets of the runtime are not its business. What leaves
//! its process group (`setsid`) is out of reach.

mod process;

use super::{Adapter, Answering, Provider, Remarks, RouteHandler, message};
use halo_core::{DispatchPermit, Outcome};
use process::{Keep, Output};
use std::path::PathBuf;

/// The variables that a command inherits.
pub const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];
/// Longest record that a command may print, in bytes.
pub const MAX_RECORD_BYTES: usize = 1 << 20;
/// The exit code that says: known not to have acted.
const REFUSED: i32 = 10;

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
}

impl Command {
    /// Runs `program` (looked up in `PATH` unless it has a slash) with `arguments`, in `folder`.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: Vec<String>,
        folder: impl Into<PathBuf>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments,
            folder: folder.into(),
        }
    }
    /// Program and arguments, as JSON. Arguments are no place for secrets: every process can read them.
    fn shown(&self) -> String {
        let program = self.program.to_string_lossy().into_owned();
        let words: Vec<&String> = std::iter::once(&program).chain(&self.arguments).collect();
        serde_json::to_string(&words).unwrap_or(program)
    }
}

/// An adapter that is a command: exit 0 is accepted, exit 10 refused, everything else in doubt.
#[derive(Debug, Clone)]
pub struct CommandAdapter {
    command: Command,
    remarks: Remarks,
}

impl CommandAdapter {
    /// Runs `command` once for each permit.
    pub fn new(command: Command) -> Self {
        Self {
            command,
            remarks: Remarks::default(),
        }
    }
    /// Says there why a call is in doubt.
    pub fn remarking(mut self, remarks: Remarks) -> Self {
        self.remarks = remarks;
        self
    }
    async fn run(&self, permit: &DispatchPermit) -> Result<Outcome, String> {
        let input = message::action(permit)?;
        let ended = process::run(&self.command, input, Keep::Nothing).await?;
        match ended.code {
            Some(0) => Ok(Outcome::Accepted),
            Some(REFUSED) => Ok(Outcome::Refused),
            _ => Err(ended.fault()),
        }
    }
}

impl Adapter for CommandAdapter {
    fn target(&self) -> String {
        format!("run {}", self.command.shown())
    }

    fn call(&self, permit: DispatchPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            let outcome = self.run(&permit).await;
            if let Err(fault) = &outcome {
                self.remarks.say(fault);
            }
            outcome.unwrap_or(Outcome::Lost)
        })
    }
}

/// A provider that is a command: it reads `{"source","key"}` and prints the record.
#[derive(Debug, Clone)]
pub struct CommandProvider {
    source: String,
    command: Command,
}

impl CommandProvider {
    /// Runs `command` whenever the record of `source` is asked for.
    pub fn new(source: impl Into<String>, command: Command) -> Self {
        Self {
            source: source.into(),
            command,
        }
    }
    async fn run(&self, key: Option<&str>) -> Result<Vec<u8>, String> {
        let input = message::question(&self.source, key)?;
        let ended = process::run(&self.command, input, Keep::Output(MAX_RECORD_BYTES)).await?;
        let fault = ended.fault();
        match ended.output {
            Output::TooLong => Err("its output is longer than 1 MiB".to_owned()),
            _ if ended.code != Some(0) => Err(fault),
            Output::Unknown => Err("its output did not end".to_owned()),
            Output::Whole(text) => Ok(text),
        }
    }
}

impl Provider for CommandProvider {
    fn ask<'a>(&'a self, key: Option<&'a str>) -> Answering<'a, Result<Vec<u8>, String>> {
        Box::pin(self.run(key))
    }
}

/// A route handler that is a command: it reads the obligation; exit 0 says that it was told.
#[derive(Debug, Clone)]
pub struct CommandHandler {
    command: Command,
}

impl CommandHandler {
    /// Runs `command` for each obligation to tell.
    pub fn new(command: Command) -> Self {
        Self { command }
    }
}

impl RouteHandler for CommandHandler {
    fn tell<'a>(&'a self, obligation: &'a str) -> Answering<'a, Result<(), String>> {
        Box::pin(async move {
            let ended = process::run(&self.command, obligation.to_owned(), Keep::Nothing).await?;
            match ended.code {
                Some(0) => Ok(()),
                _ => Err(ended.fault()),
            }
        })
    }
}
