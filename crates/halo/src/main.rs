//! The command line: arguments in, an exit code out. Each command has a file of its own.

mod admit;
mod approve;
mod audit;
mod bench;
mod check;
mod demo;
mod digest;
mod excerpt;
mod explain;
mod facts;
mod kinds;
mod observe;
mod replay;
mod reproduce;
mod serve;
mod source;
mod terminal;
mod timeline;
mod why;

use clap::{Parser, Subcommand};
use std::{
    io::{self, Write},
    process::ExitCode,
};
use terminal::{Screen, Verdict};

/// Responses are many small values: this allocator takes them at half the cost of the system's, and keeps its pages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Decides what of an AI agent's output may act, part by part, and how what was stopped may come back.
#[derive(Debug, Parser)]
#[command(
    name = "halo",
    version,
    after_help = "Exit codes: 0 fine, 1 the answer is no, 2 usage or unreadable input."
)]
struct Cli {
    /// Print one JSON document and nothing else on standard output.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch one recorded agent response go through admission, the gate and recovery.
    Demo,
    /// Validate catalogs; print what each type reads, binds and needs, and how it recovers.
    Check(check::Args),
    /// Explain one admission decision: nothing leaves.
    Admit(admit::Args),
    /// Run scenarios and print what happened, step by step.
    Replay(replay::Args),
    /// Print the digest of each component, for approvals and certificates.
    Digest(digest::Args),
    /// Check the journal of a data directory, or read it.
    Audit(audit::Args),
    /// Explain where a component of a running or past runtime stands, and what would let it back.
    Explain(why::Args),
    /// Put the durable runtime between an agent and what it may do: HTTP, journal, providers, adapters.
    Serve(serve::Args),
    /// List what waits for a person at a running runtime; approve or reject it.
    Approve(approve::Args),
    /// Run the paper's evaluation and print it beside the paper's figures.
    Reproduce(reproduce::Args),
    /// Read what a vehicle accepted from its own log, and hold it against what was authorized.
    Observe(observe::Args),
    /// Measure what it costs on this machine.
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut screen = Screen::new(cli.json);
    let verdict = run(&cli.command, &mut screen).and_then(|verdict| {
        screen.flush()?;
        Ok(verdict)
    });
    match verdict {
        Ok(verdict) => verdict.into(),
        Err(error) => {
            screen.complain(&format!("cannot write the output: {error}"));
            Verdict::Unusable.into()
        }
    }
}

fn run(command: &Command, screen: &mut Screen) -> io::Result<Verdict> {
    match command {
        Command::Demo => demo::run(screen),
        Command::Check(args) => check::run(args, screen),
        Command::Admit(args) => admit::run(args, screen),
        Command::Replay(args) => replay::run(args, screen),
        Command::Digest(args) => digest::run(args, screen),
        Command::Audit(args) => audit::run(args, screen),
        Command::Explain(args) => why::run(args, screen),
        Command::Serve(args) => serve::run(args, screen),
        Command::Approve(args) => approve::run(args, screen),
        Command::Reproduce(args) => reproduce::run(args, screen),
        Command::Observe(args) => observe::run(args, screen),
        Command::Bench(args) => bench::run(args, screen),
    }
}
