//! With what a report was made: versions, machine, commit, seeds, and the digests of what it wrote.

use crate::{Asked, Expected};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs, thread,
    time::{SystemTime, UNIX_EPOCH},
};

/// What a reader needs to judge a report, and to make it again.
#[derive(Debug, Clone, Serialize)]
pub struct Manifest {
    /// Of this program.
    pub version: String,
    /// Of the source it was built from; `unknown` outside a repository, `+` where files had changed.
    pub commit: String,
    /// `release` or `debug`.
    pub build: String,
    /// Architecture, system, processor, cores.
    pub machine: String,
    /// When the run began, in seconds since 1970.
    pub started: u64,
    /// Where generated inputs start.
    pub seed: u64,
    /// Whether sizes are smaller than the paper's.
    pub quick: bool,
    /// SHA-256 of the expected rows, recorded before the run.
    pub expected: String,
    /// SHA-256 of each file that was written.
    pub outputs: BTreeMap<String, String>,
}

impl Manifest {
    pub(crate) fn new(asked: &Asked, expected: &Expected) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("HALO_COMMIT").unwrap_or("unknown").to_owned(),
            build: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            }
            .to_owned(),
            machine: machine(),
            started: started.map_or(0, |since| since.as_secs()),
            seed: asked.seed,
            quick: asked.quick,
            expected: expected.digest.clone(),
            outputs: BTreeMap::new(),
        }
    }

    /// Repeats one panel.
    pub(crate) fn command(&self, panel: &str) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        format!("halo reproduce {panel}{quick} --seed {}", self.seed)
    }
}

fn machine() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    // Linux tells the processor's name here; elsewhere it is left out.
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
    let model = model.map_or_else(String::new, |model| format!(", {model}"));
    format!(
        "{} {}{model}, {cores} cores",
        std::env::consts::ARCH,
        std::env::consts::OS
    )
}
