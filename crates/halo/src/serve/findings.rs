//! Why a deployment can't be served, as `halo check` would say it.

use crate::{
    excerpt,
    terminal::{Screen, Verdict},
};
use halo_catalog::Diagnostic;
use halo_runtime::deployment::LoadError;
use serde_json::json;
use std::{io, path::Path};

/// Says why there is no deployment.
pub(super) fn report(screen: &mut Screen, config: &Path, error: LoadError) -> io::Result<Verdict> {
    match error {
        LoadError::Unreadable { .. } => refuse(screen, &error.to_string()),
        LoadError::Invalid(findings) => {
            show(screen, config, &findings);
            let what = format!("{}: it can't be served", config.display());
            screen.complain(&what);
            if screen.json() {
                screen.document(&json!({"error": what, "diagnostics": findings}), true)?;
            }
            Ok(Verdict::Unusable)
        }
    }
}

/// Says why nothing is served.
pub(super) fn refuse(screen: &mut Screen, fault: &str) -> io::Result<Verdict> {
    screen.complain(fault);
    if screen.json() {
        screen.document(&json!({"error": fault, "diagnostics": []}), true)?;
    }
    Ok(Verdict::Unusable)
}

/// Shows findings with their lines. Of the deployment's file, only what a finding is about: secrets may stand beside it.
pub(super) fn show(screen: &mut Screen, config: &Path, findings: &[Diagnostic]) {
    let config = config.display().to_string();
    for finding in findings {
        let text = match finding.file == config {
            true => alone(finding),
            false => std::fs::read_to_string(&finding.file).unwrap_or_default(),
        };
        excerpt::show(screen, std::slice::from_ref(finding), &text);
    }
}

/// A file in which nothing stands but what a finding is about, at its place.
fn alone(finding: &Diagnostic) -> String {
    let above = "\n".repeat((finding.line as usize).saturating_sub(1));
    let before = " ".repeat((finding.column as usize).saturating_sub(1));
    format!("{above}{before}{}", finding.text)
}
