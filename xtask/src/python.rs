//! Programs of others that tests compare with, from Python's package index, in a folder of their own under `target/`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// What is installed, at exactly these versions. pyulog reads flight logs.
const PACKAGES: [&str; 1] = ["pyulog==1.3.0"];

/// The Python that has them; it is made where it is not there yet.
///
/// Errors: no Python, or no way to the package index.
pub(crate) fn install() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join("target/python");
    let python = folder.join("bin/python");
    // Written last, with what is installed: another list is installed anew.
    let note = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&note).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    run(Command::new(&python).args(pip).args(PACKAGES))?;
    std::fs::write(&note, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            let last = errors.lines().last().unwrap_or("it says nothing");
            Err(format!("{shown}: {last}"))
        }
        Err(error) => Err(format!("{shown}: {error}")),
    }
}
