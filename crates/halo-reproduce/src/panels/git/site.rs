//! A bare repository as a team has it, made, changed and judged by the `git` program: nothing here knows HALO but the
//! name of its trailer, which is in the commits.

use crate::{Fault, prng::Prng};
use std::{
    fmt::Write as _,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The file that `topic` changes.
const FILE: &str = "code.txt";
/// Seconds of the first commit; each later one is a minute younger.
const FIRST: usize = 1_700_000_000;

/// A repository with `main`, `topic` (two commits on it) and `other`, in a folder of its own.
pub(super) struct Site {
    folder: tempfile::TempDir,
    /// The head of `topic`.
    pub(super) commit: String,
    /// Its parent, the first of the two.
    first: String,
    /// The head of `other`.
    pub(super) other: String,
    /// The changed file as the first commit of `topic` has it.
    after_first: String,
}

/// Errors: the program is not there.
pub(super) fn needs_git() -> Result<(), Fault> {
    match Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => Ok(()),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Fault::new(format!("the `git` program: {error}")))
        }
        _ => Err(Fault::new("the `git` program is not on this machine")),
    }
}

impl Site {
    /// `conflict`: `main` went on with another text for the line that `topic` changes.
    pub(super) fn new(random: &mut Prng, conflict: bool) -> Result<Self, Fault> {
        let folder = tempfile::tempdir();
        let folder = folder.map_err(|error| Fault::new(format!("a folder to work in: {error}")))?;
        let path = path_in(folder.path());
        let target = path.to_string_lossy();
        git(folder.path(), &["init", "-q", "--bare", &target], "")?;

        let mut lines: Vec<String> = (0..8 + random.below(24))
            .map(|line| format!("line {line} {:x}", random.next()))
            .collect();
        // The first line and the last stay as they are, so a change has lines around it.
        let changed = 1 + random.below(lines.len() - 2);
        let older = random.below(4);
        let mut stream = Stream::default();
        for at in 0..older {
            let text = format!("{at} {:x}\n", random.next());
            stream.commit("main", &[("notes.txt", &text)]);
        }
        stream.commit("main", &[(FILE, &joined(&lines)), ("notes.txt", "notes\n")]);
        stream.branch("other", "main");
        stream.commit("other", &[("other.txt", &format!("{:x}\n", random.next()))]);
        stream.branch("topic", "main");
        if conflict {
            let mut theirs = lines.clone();
            set(&mut theirs, changed, "what main says");
            stream.commit("main", &[(FILE, &joined(&theirs))]);
        }
        set(&mut lines, changed, "what topic says");
        let after_first = joined(&lines);
        stream.commit("topic", &[(FILE, &after_first)]);
        let text = format!("{:x}\n", random.next());
        stream.commit("topic", &[("feature.txt", &text)]);
        stream.run(&path)?;

        let wanted = ["topic", "topic~1", "other"];
        let said = git(&path, &[&["rev-parse"], &wanted[..]].concat(), "")?;
        let mut ids = said.lines().map(str::to_owned);
        let mut next = || {
            ids.next()
                .ok_or_else(|| Fault::new("`git rev-parse` says too little"))
        };
        Ok(Self {
            commit: next()?,
            first: next()?,
            other: next()?,
            after_first,
            folder,
        })
    }

    pub(super) fn path(&self) -> PathBuf {
        path_in(self.folder.path())
    }

    /// Somebody pushes to `main`, to a file that `topic` does not touch.
    pub(super) fn target_moves(&self) -> Result<(), Fault> {
        let mut stream = Stream::goes_on();
        stream.commit("main", &[("notes.txt", "other notes\n")]);
        stream.run(&self.path())
    }

    /// Somebody merges the first commit of `topic` into `main`: what is left of the change is another patch.
    pub(super) fn half_is_merged(&self) -> Result<(), Fault> {
        let mut stream = Stream::goes_on();
        stream.merge("main", &self.first, &[(FILE, &self.after_first)]);
        stream.run(&self.path())
    }

    /// Somebody pushes to `other`. Its new head.
    pub(super) fn other_moves(&self) -> Result<String, Fault> {
        let mut stream = Stream::goes_on();
        stream.commit("other", &[("other.txt", "more\n")]);
        stream.run(&self.path())?;
        let id = git(&self.path(), &["rev-parse", "other"], "")?;
        Ok(id.trim().to_owned())
    }

    /// The merges that HALO made of `topic` and that are reachable from `main`, counted by ancestry alone.
    ///
    /// Errors: what is found does not hang together.
    pub(super) fn merges(&self) -> Result<usize, Fault> {
        let format = "--format=%P%x09%(trailers:key=Halo-Binding,valueonly,separator=%x2C)";
        let main = "refs/heads/main";
        let log = git(&self.path(), &["log", "--merges", format, main], "")?;
        let bound = |line: &&str| line.contains("\tsha256:");
        let merges: Vec<&str> = log.lines().filter(bound).collect();
        let of_topic = |line: &&&str| {
            let parents = line.split('\t').next().unwrap_or_default();
            parents.split(' ').nth(1) == Some(self.commit.as_str())
        };
        let found = merges.iter().filter(of_topic).count();
        let reached = run(
            &self.path(),
            &["merge-base", "--is-ancestor", &self.commit, main],
            "",
        )?;
        if found != merges.len() || reached.status.success() != (found > 0) {
            return Err(Fault::new(format!(
                "of {} merges with a binding, {found} are of the change, which `git merge-base` {} in `main`",
                merges.len(),
                if reached.status.success() {
                    "finds"
                } else {
                    "does not find"
                }
            )));
        }
        Ok(found)
    }
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join("repo.git")
}

fn set(lines: &mut [String], at: usize, text: &str) {
    if let Some(line) = lines.get_mut(at) {
        text.clone_into(line);
    }
}

fn joined(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        text.push_str(line);
        text.push('\n');
        text
    })
}

/// Commits for `git fast-import`.
#[derive(Default)]
struct Stream {
    text: String,
    commits: usize,
    /// Its one commit goes on where the branch is; without, branches begin here.
    goes_on: bool,
}

impl Stream {
    fn goes_on() -> Self {
        Self {
            goes_on: true,
            ..Self::default()
        }
    }

    /// A branch that begins where another one is.
    fn branch(&mut self, name: &str, from: &str) {
        let _ = write!(
            self.text,
            "reset refs/heads/{name}\nfrom refs/heads/{from}\n\n"
        );
    }

    fn commit(&mut self, branch: &str, files: &[(&str, &str)]) {
        self.add(branch, None, files);
    }

    fn merge(&mut self, branch: &str, with: &str, files: &[(&str, &str)]) {
        self.add(branch, Some(with), files);
    }

    fn add(&mut self, branch: &str, with: Option<&str>, files: &[(&str, &str)]) {
        let time = FIRST + 60 * self.commits;
        self.commits += 1;
        // Writing to a string does not fail.
        let _ = write!(
            self.text,
            "commit refs/heads/{branch}\ncommitter A <a@example.org> {time} +0000\ndata 4\nwork\n"
        );
        if self.goes_on {
            let _ = writeln!(self.text, "from refs/heads/{branch}^0");
        }
        if let Some(with) = with {
            let _ = writeln!(self.text, "merge {with}");
        }
        for (path, text) in files {
            let _ = write!(
                self.text,
                "M 100644 inline {path}\ndata {}\n{text}\n",
                text.len()
            );
        }
    }

    fn run(self, path: &Path) -> Result<(), Fault> {
        // The folder is gone in a second: nothing of it need survive a power failure.
        let words = ["-c", "core.fsync=none", "fast-import", "--quiet"];
        git(path, &words, &self.text).map(drop)
    }
}

/// What `git` prints. Errors: it fails.
fn git(folder: &Path, words: &[&str], input: &str) -> Result<String, Fault> {
    let output = run(folder, words, input)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Fault::new(format!(
            "`git {}` failed: {}",
            words.join(" "),
            said.trim()
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `git` with no configuration but the repository's.
fn run(folder: &Path, words: &[&str], input: &str) -> Result<Output, Fault> {
    let failed = |error: std::io::Error| Fault::new(format!("the `git` program: {error}"));
    let mut child = Command::new("git")
        .args(words)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_DEFAULT_REF_FORMAT", "files")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // What does not read its input is gone by now, and says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output().map_err(failed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{FILE, Site, git};
    use crate::prng::Prng;

    fn site() -> Site {
        Site::new(&mut Prng::new(1), false).unwrap()
    }

    /// A merge by hand, with this message, to where it is reachable or not.
    fn merge_by_hand(site: &Site, source: &str, message: &str, branch: &str) {
        let path = site.path();
        let id = |name: &str| git(&path, &["rev-parse", name], "").unwrap();
        let (main, source) = (id("main"), id(source));
        let stream = format!(
            "commit refs/heads/{branch}\ncommitter A <a@example.org> 1700000000 +0000\ndata {}\n{message}\nfrom {}\nmerge {}\n\n",
            message.len(),
            main.trim(),
            source.trim()
        );
        git(&path, &["fast-import", "--quiet"], &stream).unwrap();
    }

    const BOUND: &str = "Merge\n\nHalo-Binding: sha256:00\n";

    #[test]
    fn a_merge_counts_by_its_trailer_and_by_ancestry() {
        let site = site();
        assert_eq!(site.merges().unwrap(), 0);
        merge_by_hand(&site, "topic", BOUND, "elsewhere");
        assert_eq!(site.merges().unwrap(), 0, "not reachable from main");
        site.half_is_merged().unwrap();
        assert_eq!(site.merges().unwrap(), 0, "somebody else's merge");
        merge_by_hand(&site, "topic", BOUND, "main");
        assert_eq!(site.merges().unwrap(), 1);
    }

    #[test]
    fn what_does_not_hang_together_is_no_count() {
        let other = site();
        merge_by_hand(&other, "other", BOUND, "main");
        assert!(other.merges().is_err(), "a binding on another change");
        let unbound = site();
        merge_by_hand(&unbound, "topic", "Merge\n", "main");
        assert!(unbound.merges().is_err(), "merged, but by nobody");
    }

    #[test]
    fn repositories_are_as_their_case_says() {
        let clean = site();
        let tree = |site: &Site| git(&site.path(), &["merge-tree", "main", "topic"], "");
        assert!(tree(&clean).is_ok());
        let conflict = Site::new(&mut Prng::new(1), true).unwrap();
        assert!(tree(&conflict).is_err());
        let patch = |site: &Site| {
            let names = ["diff", "--name-only", "main...topic"];
            git(&site.path(), &names, "").unwrap()
        };
        assert_eq!(patch(&clean), format!("{FILE}\nfeature.txt\n"));
        clean.target_moves().unwrap();
        assert_eq!(patch(&clean), format!("{FILE}\nfeature.txt\n"));
        assert!(tree(&clean).is_ok());
        clean.half_is_merged().unwrap();
        assert_eq!(patch(&clean), "feature.txt\n");
        let before = clean.other.clone();
        assert_ne!(clean.other_moves().unwrap(), before);
    }
}
