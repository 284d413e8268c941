//! `cargo xtask crash`: the runtime is killed again and again, and nothing happens twice and nothing is lost.
//!
//! Each run has a data directory of its own, a process that dies at a seeded point and is started again up to three times,
//! clients that remember every answer, and receivers that remember every call.

mod check;
mod client;
mod http;
mod process;
mod random;
mod run;
mod setting;
mod world;

use check::Findings;
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Runs where nothing is said.
const RUNS: u64 = 200;
/// Runs at the same time.
const AT_ONCE: u64 = 2;
/// After so many runs with something wrong there is no need for more.
const ENOUGH: u64 = 8;
/// Between two lines that say how far it is.
const PROGRESS: Duration = Duration::from_secs(5);

/// What is asked.
pub(crate) struct Asked {
    runs: u64,
    seed: u64,
    json: bool,
    /// The binary is built as it ships, which takes longer and then runs faster.
    release: bool,
}

impl Asked {
    /// `--runs N`, `--seed S`, `--json`, `--release`.
    ///
    /// Errors: something else.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut asked = Self {
            runs: RUNS,
            seed: 1,
            json: false,
            release: false,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut number = || {
                let text = rest.next().and_then(|text| text.parse().ok());
                text.ok_or_else(|| format!("{argument} needs a number"))
            };
            match *argument {
                "--runs" => asked.runs = number()?,
                "--seed" => asked.seed = number()?,
                "--json" => asked.json = true,
                "--release" => asked.release = true,
                other => return Err(format!("what is `{other}`?")),
            }
        }
        Ok(asked)
    }
}

/// Builds the binary and does the runs.
pub(crate) fn crash(asked: &Asked) -> ExitCode {
    let binary = match build(asked.release) {
        Ok(binary) => binary,
        Err(error) => {
            eprintln!("crash: {error}");
            return ExitCode::FAILURE;
        }
    };
    let begin = Instant::now();
    let (total, runs) = all(asked, &binary);
    show(asked, runs, &total, begin.elapsed());
    match total.violations.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// The `halo` binary that can die, under a name of its own: other builds must not replace it meanwhile.
fn build(release: bool) -> Result<PathBuf, String> {
    let arguments = [
        "build",
        "--locked",
        "--package",
        "halo",
        "--features",
        "fault-points",
        "--message-format",
        "json-render-diagnostics",
    ];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(release.then_some("--release"))
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err("the binary does not build".into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let built = text.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == "halo";
        let path = message["executable"].as_str().filter(|_| is_it)?;
        Some(PathBuf::from(path))
    });
    let built = built.ok_or("the build gave no binary")?;
    let kept = built.with_file_name("halo-that-dies");
    let part = built.with_file_name("halo-that-dies.part");
    std::fs::copy(&built, &part)
        .and_then(|_| std::fs::rename(&part, &kept))
        .map_err(|error| error.to_string())?;
    Ok(kept)
}

/// All runs, and how many there were: after enough failures, no further ones.
fn all(asked: &Asked, binary: &Path) -> (Findings, u64) {
    let (next, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    let total = Mutex::new((Findings::default(), 0_u64));
    let begin = Instant::now();
    let said = Mutex::new(begin);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(asked.runs) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= asked.runs || failed.load(Ordering::Relaxed) >= ENOUGH {
                        return;
                    }
                    let findings = one(binary, asked.seed.wrapping_add(number));
                    if !findings.violations.is_empty() {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    total.0.add(findings);
                    total.1 += 1;
                    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                    if said.elapsed() >= PROGRESS {
                        *said = Instant::now();
                        let left = begin.elapsed().as_secs_f64() / total.1 as f64;
                        let left = left * asked.runs.saturating_sub(total.1) as f64;
                        eprintln!(
                            "crash: {} of {} runs, {} violations, {left:.0} s left",
                            total.1,
                            asked.runs,
                            total.0.violations.len()
                        );
                    }
                }
            });
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// One run. What it leaves behind is kept where something is wrong.
fn one(binary: &Path, seed: u64) -> Findings {
    let folder = match tempfile::Builder::new().prefix("halo-crash-").tempdir() {
        Ok(folder) => folder,
        Err(error) => return failed(format!("no temporary folder: {error}")),
    };
    let findings = run::run(binary, folder.path(), seed).unwrap_or_else(failed);
    if !findings.violations.is_empty() {
        let kept = folder.keep();
        eprintln!("crash: seed {seed}, kept in {}:", kept.display());
        for violation in &findings.violations {
            eprintln!("  {violation}");
        }
        eprintln!("  again: cargo xtask crash --runs 1 --seed {seed}");
    }
    findings
}

fn failed(why: String) -> Findings {
    let mut findings = Findings::default();
    findings.violation(why);
    findings
}

fn show(asked: &Asked, runs: u64, total: &Findings, took: Duration) {
    let kills: u64 = total.kills.values().sum();
    if asked.json {
        let document = json!({
            "runs": runs,
            "seed": asked.seed,
            "seconds": took.as_secs_f64(),
            "kills": kills,
            "kills_by_point": total.kills,
            "ended_in_order": total.ended,
            "calls": total.calls,
            "emissions": total.emissions,
            "acknowledgements": total.acknowledgements,
            "double_effects": total.double_effects,
            "lost_acknowledgements": total.lost_acknowledgements,
            "in_doubt": total.in_doubt,
            "unexplained": total.unexplained,
            "audit_failures": total.audit_failures,
            "violations": total.violations,
        });
        println!("{document}");
        return;
    }
    println!(
        "{runs} runs in {:.0} s, {kills} kills, {} ends in good order",
        took.as_secs_f64(),
        total.ended
    );
    let points: Vec<String> = total
        .kills
        .iter()
        .map(|(point, count)| format!("{point} {count}"))
        .collect();
    println!("killed at: {}", points.join(", "));
    println!(
        "{} adapter calls, {} emissions, {} acknowledgements",
        total.calls, total.emissions, total.acknowledgements
    );
    println!("double effects:        {}", total.double_effects);
    println!("lost acknowledgements: {}", total.lost_acknowledgements);
    println!("in doubt, reported:    {}", total.in_doubt);
    println!("unexplained:           {}", total.unexplained);
    println!("audit failures:        {}", total.audit_failures);
    println!("violations in all:     {}", total.violations.len());
}
