//! The project's tasks: `cargo xtask test` is what a newcomer and CI run.

mod crash;
mod python;
mod tidy;

use std::process::{Command, ExitCode};
use std::time::Instant;

/// One step of `test`: its name, the program and its arguments, and environment it needs.
struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const STEPS: [Step; 5] = [
    Step {
        name: "format",
        arguments: &["fmt", "--all", "--check"],
        environment: &[],
    },
    Step {
        name: "lint",
        arguments: &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
        environment: &[],
    },
    // Unit, integration and doc tests. The fuzz targets' corpora and the conformance vectors are among them.
    Step {
        name: "tests",
        arguments: &["test", "--workspace", "--locked"],
        environment: &[],
    },
    // A short run; `cargo xtask crash --runs 2000` is the long one.
    Step {
        name: "crashes",
        arguments: &["xtask", "crash", "--runs", "80"],
        environment: &[],
    },
    Step {
        name: "documentation",
        arguments: &["doc", "--workspace", "--no-deps", "--locked"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["test"] => test(),
        ["python"] => match python::install() {
            Ok(python) => {
                println!("{}", python.display());
                ExitCode::SUCCESS
            }
            Err(why) => {
                eprintln!("python: {why}");
                ExitCode::FAILURE
            }
        },
        ["tidy"] => report("tidy", tidy::check()),
        ["crash", rest @ ..] => match crash::Asked::parse(rest) {
            Ok(asked) => crash::crash(&asked),
            Err(error) => {
                eprintln!("crash: {error}");
                ExitCode::from(2)
            }
        },
        _ => {
            eprintln!(
                "usage: cargo xtask test | tidy | python | crash [--runs N] [--seed S] [--json] [--release]"
            );
            eprintln!(
                "  test  format check, lints as errors, layout rules, all tests, a short crash run, documentation"
            );
            eprintln!("  tidy  layout rules only");
            eprintln!(
                "  python  installs what tests compare with into target/python; `test` does so too"
            );
            eprintln!(
                "  crash kills the runtime at seeded points and checks that nothing happens twice or is lost"
            );
            ExitCode::from(2)
        }
    }
}

fn test() -> ExitCode {
    if report("tidy", tidy::check()) != ExitCode::SUCCESS {
        return ExitCode::FAILURE;
    }
    // Those tests say themselves what they did not do. Without a network, all others still count.
    let python = python::install();
    if let Err(why) = &python {
        eprintln!("── no Python peers: {why}");
    }
    for step in &STEPS {
        let start = Instant::now();
        println!("── {}: cargo {}", step.name, step.arguments.join(" "));
        let status = Command::new(env!("CARGO"))
            .args(step.arguments)
            .envs(step.environment.iter().copied())
            .status();
        match status {
            Ok(status) if status.success() => {
                println!("── {} passed in {} s", step.name, start.elapsed().as_secs())
            }
            Ok(_) => {
                eprintln!(
                    "── {} failed; run `cargo {}` alone to see it again",
                    step.name,
                    step.arguments.join(" ")
                );
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("── {} can't start: {error}", step.name);
                return ExitCode::FAILURE;
            }
        }
    }
    println!("── all steps passed");
    if let Err(why) = python {
        println!("── NOT COMPARED with other readers, for want of Python: {why}");
    }
    ExitCode::SUCCESS
}

fn report(name: &str, findings: Vec<String>) -> ExitCode {
    if findings.is_empty() {
        println!("── {name} passed");
        return ExitCode::SUCCESS;
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    eprintln!("── {name} failed: {} findings", findings.len());
    ExitCode::FAILURE
}
