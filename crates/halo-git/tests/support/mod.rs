//! Real repositories, made and judged by the `git` program.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A bare repository in a folder of its own.
pub(crate) struct Bare {
    folder: tempfile::TempDir,
}

/// Numbers that are the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
    pub(crate) fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

impl Bare {
    pub(crate) fn new() -> Self {
        Self::of("sha1")
    }
    pub(crate) fn of(format: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bare = Self { folder };
        let format = format!("--object-format={format}");
        let path = bare.path();
        bare.git(&[
            "init",
            "-q",
            "--bare",
            "-b",
            "main",
            &format,
            path.to_str().unwrap(),
        ]);
        bare
    }
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("repo.git")
    }
    pub(crate) fn run(&self, words: &[&str], input: &[u8]) -> Output {
        run(&self.path(), words, input)
    }
    /// What `git` prints; it must succeed.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        self.git_with(words, b"")
    }
    pub(crate) fn git_with(&self, words: &[&str], input: &[u8]) -> String {
        let output = self.run(words, input);
        let failed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {words:?}: {failed}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }
    pub(crate) fn id(&self, name: &str) -> String {
        self.git(&["rev-parse", "--verify", name])
    }
    /// Commits files on a branch, on top of `parents`.
    pub(crate) fn commit(&self, branch: &str, parents: &[&str], files: &[(&str, &str)]) -> String {
        let mut commands = String::new();
        commands.push_str(&format!(
            "commit refs/heads/{branch}\ncommitter T <t@x> 1700000000 +0000\ndata 4\nwork\n"
        ));
        for (at, parent) in parents.iter().enumerate() {
            let word = if at == 0 { "from" } else { "merge" };
            let parent = self.id(parent);
            commands.push_str(&format!("{word} {parent}\n"));
        }
        for (path, text) in files {
            if text.is_empty() {
                commands.push_str(&format!("D {path}\n"));
            } else {
                commands.push_str(&format!(
                    "M 100644 inline {path}\ndata {}\n{text}\n",
                    text.len()
                ));
            }
        }
        self.git_with(&["fast-import", "--quiet", "--force"], commands.as_bytes());
        self.id(&format!("refs/heads/{branch}"))
    }
    /// `git fsck` finds nothing wrong.
    pub(crate) fn is_sound(&self) {
        let output = self.run(&["fsck", "--strict", "--full", "--no-dangling"], b"");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
    /// Every file below the repository with its size, to see that nothing was written.
    pub(crate) fn files(&self) -> Vec<(PathBuf, u64)> {
        fn walk(folder: &Path, found: &mut Vec<(PathBuf, u64)>) {
            let Ok(entries) = std::fs::read_dir(folder) else {
                return;
            };
            for entry in entries.flatten() {
                let data = entry.metadata().unwrap();
                match data.is_dir() {
                    true => walk(&entry.path(), found),
                    false => found.push((entry.path(), data.len())),
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.path(), &mut found);
        found.sort();
        found
    }
}

pub(crate) fn run(folder: &Path, words: &[&str], input: &[u8]) -> Output {
    let folder = if folder.exists() {
        folder
    } else {
        folder.parent().unwrap()
    };
    let mut child = Command::new("git")
        .args(words)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "T")
        .env("GIT_AUTHOR_EMAIL", "t@x")
        .env("GIT_COMMITTER_NAME", "T")
        .env("GIT_COMMITTER_EMAIL", "t@x")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // What does not read its input is gone by now.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().unwrap()
}
