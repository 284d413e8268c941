//! Runs the binary, and keeps files for it.

use serde_json::Value;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

/// What a run gave.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let ran = Self {
            // Ended by a signal is never an answer.
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        assert!(
            (0..=2).contains(&ran.code),
            "exit code {}: {}",
            ran.code,
            ran.err
        );
        ran
    }

    /// Standard output as the one JSON document that it must be.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// That standard output says all of this.
    #[track_caller]
    pub(crate) fn says(&self, texts: &[&str]) {
        for text in texts {
            assert!(
                self.out.contains(text),
                "no {text:?} in:\n{}{}",
                self.out,
                self.err
            );
        }
    }

    /// That standard error says all of this.
    #[track_caller]
    pub(crate) fn complains(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.err.contains(text), "no {text:?} in:\n{}", self.err);
        }
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The binary, in the repository's root.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halo"));
    command.args(arguments).current_dir(root());
    command
}

/// Runs it.
pub(crate) fn halo(arguments: &[&str]) -> Ran {
    Ran::of(command(arguments).stdin(Stdio::null()).output().unwrap())
}

/// Runs it with this on standard input.
pub(crate) fn halo_with(input: &[u8], arguments: &[&str]) -> Ran {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || {
        // It may end before it has read everything.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    Ran::of(output)
}

/// A folder of this test's own, gone afterwards.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file; its path.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file of the repository.
pub(crate) fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// That a document is what a published schema says.
#[track_caller]
pub(crate) fn fits(document: &Value, schema: &str) {
    let parse = |text: &str| halo_canon::Document::parse(text.as_bytes(), 128).unwrap();
    let schema = parse(&text_of(&format!("schemas/{schema}.schema.json")));
    let schema = halo_canon::Schema::compile(schema.root()).unwrap();
    let document = parse(&document.to_string());
    if let Some(violation) = schema.explain(document.root()) {
        panic!("{violation:?}");
    }
}
