//! Rules of the layout that no compiler checks (ARCHITECTURE.md, "What each crate may know").

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Crates that know no I/O, clock, async or randomness.
const PURE: [&str; 6] = [
    "halo-canon",
    "halo-cel",
    "halo-catalog",
    "halo-agentspec",
    "halo-core",
    "halo-scenario",
];

/// What a pure crate's source must not name.
const IMPURE: [&str; 12] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::io::stdin",
    "SystemTime",
    "Instant::now",
    "tokio::",
    "rand::",
    "getrandom",
    "RandomState::new",
];

/// Where one of them is right all the same: predicates are parsed on a thread of their own, because the parser's stack
/// use is not ours to bound. It ends before compiling returns.
const EXCEPT: [(&str, &str); 1] = [("crates/halo-cel/src/parse.rs", "std::thread")];

/// What lets through what the full runtime holds back is for scenarios and measurements: never for what drives effects.
const FULL_ONLY: [&str; 3] = ["halo-runtime", "halo-server", "halo-git"];

/// What knows every variant drives adapters and providers through their ports, and nothing else of the durable runtime.
const PORTS_ONLY: [&str; 1] = ["halo-reproduce"];

/// Which workspace crates each crate may depend on; everything else is a finding.
const MAY_DEPEND: [(&str, &[&str]); 16] = [
    ("halo-canon", &[]),
    ("halo-cel", &["halo-canon"]),
    ("halo-catalog", &["halo-canon", "halo-cel"]),
    (
        "halo-agentspec",
        &["halo-canon", "halo-cel", "halo-catalog"],
    ),
    ("halo-core", &["halo-canon", "halo-cel", "halo-catalog"]),
    (
        "halo-scenario",
        &["halo-canon", "halo-catalog", "halo-core"],
    ),
    (
        "halo-bench",
        &[
            "halo-canon",
            "halo-cel",
            "halo-catalog",
            "halo-core",
            "halo-journal",
            "halo-runtime",
            "halo-server",
        ],
    ),
    ("halo-journal", &["halo-canon"]),
    (
        "halo-runtime",
        &[
            "halo-canon",
            "halo-cel",
            "halo-catalog",
            "halo-core",
            "halo-journal",
        ],
    ),
    (
        "halo-server",
        &[
            "halo-canon",
            "halo-catalog",
            "halo-core",
            "halo-journal",
            "halo-runtime",
        ],
    ),
    (
        "halo-git",
        &["halo-canon", "halo-catalog", "halo-core", "halo-runtime"],
    ),
    ("halo-oracle", &[]),
    ("halo-vehicle", &["halo-canon"]),
    (
        "halo-reproduce",
        &[
            "halo-canon",
            "halo-catalog",
            "halo-core",
            "halo-git",
            "halo-oracle",
            "halo-runtime",
            "halo-scenario",
        ],
    ),
    (
        "halo-fuzz",
        &[
            "halo-agentspec",
            "halo-canon",
            "halo-cel",
            "halo-catalog",
            "halo-scenario",
            "halo-vehicle",
        ],
    ),
    (
        "halo",
        &[
            "halo-canon",
            "halo-cel",
            "halo-catalog",
            "halo-agentspec",
            "halo-core",
            "halo-scenario",
            "halo-bench",
            "halo-git",
            "halo-journal",
            "halo-reproduce",
            "halo-runtime",
            "halo-server",
            "halo-vehicle",
        ],
    ),
];

/// Longest source file outside of tests, in lines: past it a file has more than one subject.
const MAX_LINES: usize = 700;

/// All findings.
pub(crate) fn check() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut findings = Vec::new();
    let mut files = Vec::new();
    walk(&root.join("crates"), &mut files, &mut findings);
    for file in &files {
        check_source(&root, file, &mut findings);
    }
    check_dependencies(&root, &mut findings);
    findings
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>, findings: &mut Vec<String>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            findings.push(format!("{}: {error}", folder.display()));
            return;
        }
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            walk(&path, files, findings);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn check_source(root: &Path, file: &Path, findings: &mut Vec<String>) {
    let shown = file
        .strip_prefix(root)
        .unwrap_or(file)
        .display()
        .to_string();
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            findings.push(format!("{shown}: {error}"));
            return;
        }
    };
    let lines = text.lines().count();
    if lines > MAX_LINES && shown.contains("/src/") {
        findings.push(format!(
            "{shown}: {lines} lines; split it by subject (at most {MAX_LINES})"
        ));
    }
    let full_only = FULL_ONLY
        .iter()
        .any(|name| shown.contains(&format!("crates/{name}/src/")));
    if full_only && text.contains("VariantEngine") {
        findings.push(format!(
            "{shown}: `VariantEngine` in a crate that carries out effects"
        ));
    }
    let ports_only = PORTS_ONLY
        .iter()
        .any(|name| shown.contains(&format!("crates/{name}/src/")));
    let beyond_ports = || {
        let mut named = text.split("halo_runtime").skip(1);
        named.any(|after| !after.starts_with("::ports"))
    };
    if ports_only && beyond_ports() {
        findings.push(format!("{shown}: more of `halo_runtime` than its ports"));
    }
    let pure = PURE
        .iter()
        .any(|name| shown.contains(&format!("crates/{name}/src/")));
    if !pure {
        return;
    }
    let code = text
        .lines()
        .take_while(|line| !line.starts_with("#[cfg(test)]"))
        .enumerate();
    for (number, line) in code {
        let excepted = |word: &str| EXCEPT.contains(&(shown.as_str(), word));
        if let Some(word) = IMPURE
            .iter()
            .find(|word| line.contains(*word) && !excepted(word))
        {
            findings.push(format!(
                "{shown}:{}: `{word}` in a crate that knows no I/O, clock or randomness",
                number + 1
            ));
        }
    }
}

fn check_dependencies(root: &Path, findings: &mut Vec<String>) {
    for (name, allowed) in MAY_DEPEND {
        let arguments = [
            "tree",
            "--locked",
            "--package",
            name,
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--depth",
            "1",
        ];
        let output = Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(root)
            .output();
        let Ok(output) = output else {
            findings.push("cargo tree can't start".into());
            return;
        };
        if !output.status.success() {
            findings.push(format!(
                "cargo tree for {name}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ));
            continue;
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let dependencies = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next());
        for dependency in
            dependencies.filter(|dependency| dependency.starts_with("halo") && *dependency != name)
        {
            if !allowed.contains(&dependency) {
                findings.push(format!("{name} must not depend on {dependency}"));
            }
        }
    }
}
