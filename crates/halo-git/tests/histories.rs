//! Random histories: tree, conflicts and patch ids as the `git` program has them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "support/commits.rs"]
mod commits;
mod support;

use commits::{id, publish_on_main};
use halo_git::{FaultCode, GitProvider, Merge, Moved, Repository, merge};
use std::{collections::BTreeMap, io::Write as _};
use support::{Bare, Random};

/// A file: its mode and content.
type Files = BTreeMap<String, (&'static str, Vec<u8>)>;

fn text(random: &mut Random) -> Vec<u8> {
    let lines = 3 + random.below(40);
    let mut text = Vec::new();
    for _ in 0..lines {
        let indent = random.below(3) as usize;
        text.extend(vec![b' '; indent * 4]);
        match random.below(5) {
            0 => text.extend(b"}\n"),
            1 => text.push(b'\n'),
            _ => text.extend(format!("line {}\n", random.below(60)).bytes()),
        }
    }
    if random.one_in(6) {
        text.pop();
    }
    text
}

/// Changes some lines, or all that make it what it is.
fn edit(random: &mut Random, content: &[u8]) -> Vec<u8> {
    if content.contains(&0) {
        let mut binary = content.to_vec();
        binary.extend([0, random.below(250) as u8]);
        return binary;
    }
    let mut lines: Vec<Vec<u8>> = content
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    for _ in 0..=random.below(2) {
        let at = random.below(lines.len() as u64 + 1) as usize;
        match random.below(3) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => {
                lines[at] = format!("edit {}\n", random.below(1000)).into_bytes()
            }
            _ => lines.insert(at, format!("new {}\n", random.below(1000)).into_bytes()),
        }
    }
    lines.concat()
}

fn work(random: &mut Random, files: &mut Files) {
    let names: Vec<String> = files.keys().cloned().collect();
    let name = random.pick(&names).clone();
    let fresh = |random: &mut Random| {
        let folder = random
            .pick(&["", "src/", "src/deep/", "doc/", "ä/"])
            .to_owned();
        format!("{folder}f{}", random.below(40))
    };
    match random.below(12) {
        0 => {
            let new = fresh(random);
            let content = match random.one_in(5) {
                true => vec![7, 0, random.below(200) as u8, 3],
                false => text(random),
            };
            files.insert(new, ("100644", content));
        }
        1 if files.len() > 4 => drop(files.remove(&name)),
        2 | 3 => {
            let new = fresh(random);
            if let Some(file) = files.remove(&name) {
                files.insert(new, file);
            }
        }
        4 => {
            if let Some((mode, _)) = files.get_mut(&name) {
                *mode = if *mode == "100644" {
                    "100755"
                } else {
                    "100644"
                };
            }
        }
        _ => {
            if let Some((_, content)) = files.get_mut(&name) {
                *content = edit(random, content);
            }
        }
    }
    // A file can't stand where a folder is.
    let names: Vec<String> = files.keys().cloned().collect();
    files.retain(|name, _| {
        !names
            .iter()
            .any(|other| other.starts_with(&format!("{name}/")))
    });
}

struct History<'b> {
    bare: &'b Bare,
    input: Vec<u8>,
    mark: usize,
    time: u64,
}

impl History<'_> {
    fn commit(&mut self, branch: &str, parents: &[usize], files: &Files) -> usize {
        self.mark += 1;
        self.time += 10;
        let input = &mut self.input;
        write!(
            input,
            "commit refs/heads/{branch}\nmark :{}\ncommitter T <t@x> {} +0000\ndata 1\nx\n",
            self.mark, self.time
        )
        .unwrap();
        for (at, parent) in parents.iter().enumerate() {
            let word = if at == 0 { "from" } else { "merge" };
            writeln!(input, "{word} :{parent}").unwrap();
        }
        input.extend(b"deleteall\n");
        for (name, (mode, content)) in files {
            writeln!(input, "M {mode} inline {name}\ndata {}", content.len()).unwrap();
            input.extend(content);
            input.push(b'\n');
        }
        self.mark
    }
    fn done(self) {
        self.bare.git_with(&["fast-import", "--quiet"], &self.input);
    }
}

/// Two branches with work on both sides, sometimes merged into each other before.
fn build(bare: &Bare, seed: u64) {
    let mut random = Random::new(seed);
    let mut files = Files::new();
    for at in 0..6 + random.below(6) {
        let folder = *random.pick(&["", "src/", "doc/"]);
        files.insert(format!("{folder}f{at}"), ("100644", text(&mut random)));
    }
    files.insert("bin".into(), ("100644", vec![1, 0, 2, 0]));
    let mut history = History {
        bare,
        input: Vec::new(),
        mark: 0,
        time: 1_700_000_000,
    };
    let root = history.commit("main", &[], &files);
    let (mut ours, mut theirs) = (files.clone(), files);
    let (mut our_tip, mut their_tip) = (root, root);
    let criss_cross = seed.is_multiple_of(4);
    for round in 0..=u64::from(criss_cross) {
        for _ in 0..1 + random.below(3) {
            work(&mut random, &mut ours);
            our_tip = history.commit("main", &[our_tip], &ours);
        }
        for _ in 0..1 + random.below(3) {
            work(&mut random, &mut theirs);
            their_tip = history.commit("topic", &[their_tip], &theirs);
        }
        if criss_cross && round == 0 {
            // Each takes the other's history and keeps what it has: two merge bases.
            let (first, second) = (our_tip, their_tip);
            our_tip = history.commit("main", &[first, second], &ours);
            their_tip = history.commit("topic", &[second, first], &theirs);
        }
    }
    history.done();
}

#[test]
fn two_hundred_random_histories_merge_as_git_merges_them() {
    let (mut clean, mut conflicts, mut several_bases, mut patches) = (0, 0, 0, 0);
    let mut differ = Vec::new();
    // More of them: `HALO_HISTORIES=800..1600`.
    let asked = std::env::var("HALO_HISTORIES").unwrap_or_default();
    let seeds = asked
        .split_once("..")
        .and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    for seed in seeds.unwrap_or(0..200) {
        let bare = Bare::new();
        build(&bare, seed);
        let (main, topic) = (bare.id("main"), bare.id("topic"));
        let output = bare.run(
            &["merge-tree", "--write-tree", "--no-messages", &main, &topic],
            b"",
        );
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let expected = output.status.success().then(|| printed.trim().to_owned());
        let repository = Repository::open(&bare.path()).unwrap();
        let asked = Merge {
            onto: id(&main),
            commit: id(&topic),
        };
        let before = bare.files();
        let merged = match merge(&repository, asked) {
            Ok(merged) => {
                assert_eq!(bare.files(), before, "a merge in memory writes nothing");
                let tree = merged.tree.to_string();
                if seed % 5 == 0 {
                    let moved = publish_on_main(&repository, asked, merged, 1, || true);
                    assert!(matches!(moved, Moved::To(_)), "{moved:?}");
                    let parents = format!("{main} {topic}");
                    assert_eq!(bare.git(&["log", "-1", "--format=%P", "main"]), parents);
                    assert_eq!(bare.id("main^{tree}"), tree);
                    bare.is_sound();
                }
                Some(tree)
            }
            Err(fault) => {
                assert_eq!(fault.code, FaultCode::Conflict, "{seed}: {fault}");
                assert_eq!(bare.files(), before, "a merge in memory writes nothing");
                None
            }
        };
        match &expected {
            Some(_) => clean += 1,
            None => conflicts += 1,
        }
        let bases = bare.git(&["merge-base", "--all", &main, &topic]);
        several_bases += usize::from(bases.lines().count() > 1);
        if merged != expected {
            differ.push((seed, merged, expected));
        }
        if bases.lines().count() == 1 {
            patches += 1;
            bare.git(&["update-ref", "refs/heads/old", &main]);
            let record = GitProvider::new(bare.path()).record("old...topic").unwrap();
            let diff = bare
                .run(
                    &["diff", "--no-renames", "--full-index", &bases, &topic],
                    b"",
                )
                .stdout;
            let patch = bare.git_with(&["patch-id", "--stable"], &diff);
            let patch = patch.split(' ').next().filter(|patch| !patch.is_empty());
            assert_eq!(
                record["value"]["patch"].as_str(),
                patch,
                "{seed}\n{}",
                String::from_utf8_lossy(&diff)
            );
            assert_eq!(record["value"]["base"], bases);
        }
    }
    eprintln!(
        "{clean} clean, {conflicts} conflicts, {several_bases} criss-cross, {patches} patch ids compared"
    );
    eprintln!("{} differ: {differ:?}", differ.len());
    // Never another tree, never a merge that Git refuses.
    assert!(
        differ.iter().all(|(_, ours, _)| ours.is_none()),
        "{differ:?}"
    );
    // Among the first 200 none is refused that Git merges; among thousands a few with crossed histories are.
    assert!(differ.iter().all(|(seed, ..)| *seed >= 200), "{differ:?}");
    assert!(
        clean >= 60 && conflicts >= 20 && several_bases >= 20,
        "{clean} {conflicts} {several_bases}"
    );
}
