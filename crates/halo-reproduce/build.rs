//! Tells the program which commit it was built from, where git can say.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = git(&["rev-parse", "HEAD"]) {
        let changed = git(&["status", "--porcelain"]).is_some_and(|status| !status.is_empty());
        let mark = if changed { "+" } else { "" };
        println!("cargo::rustc-env=HALO_COMMIT={commit}{mark}");
    }
}
