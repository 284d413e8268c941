//! What is missing, damaged, locked, or of another form: said so, and nothing is written.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "support/commits.rs"]
mod commits;
mod support;

use commits::{id, publish_on_main};
use halo_git::{Branch, FaultCode, GitProvider, Merge, Moved, Repository, merge};
use serde_json::Value;
use std::fs;
use support::Bare;

/// `main`, and `topic` with one commit more.
fn bare() -> Bare {
    filled(Bare::new())
}

fn filled(bare: Bare) -> Bare {
    bare.commit("main", &[], &[("a.txt", "a\n"), ("b.txt", "b\n")]);
    bare.commit("topic", &["refs/heads/main"], &[("a.txt", "aa\n")]);
    bare.commit("main", &["refs/heads/main"], &[("b.txt", "bb\n")]);
    bare
}

fn record(bare: &Bare, key: &str) -> Value {
    GitProvider::new(bare.path()).record(key).unwrap()["value"].clone()
}

/// The fault's code, and that no head is told with it.
fn fault(bare: &Bare, key: &str) -> String {
    let value = record(bare, key);
    assert!(
        value.get("target_head").is_none() && value.get("patch").is_none(),
        "{value}"
    );
    assert!(
        value["fault"]["text"].as_str().unwrap().len() > 20,
        "{value}"
    );
    value["fault"]["code"].as_str().unwrap().to_owned()
}

fn asked(bare: &Bare) -> Merge {
    Merge {
        onto: id(&bare.id("main")),
        commit: id(&bare.id("topic")),
    }
}

fn refused(bare: &Bare, asked: Merge) -> FaultCode {
    let before = bare.files();
    let repository = Repository::open(&bare.path()).unwrap();
    let fault = merge(&repository, asked).err().unwrap();
    assert_eq!(bare.files(), before);
    fault.code
}

#[test]
fn a_change_is_told_whole() {
    for format in ["sha1", "sha256"] {
        let bare = filled(Bare::of(format));
        let value = record(&bare, "main...topic");
        assert_eq!(value["target_head"], bare.id("main"));
        assert_eq!(value["source_head"], bare.id("topic"));
        assert_eq!(value["base"], bare.git(&["merge-base", "main", "topic"]));
        assert_eq!(
            (&value["merged"], &value["target"], &value["source"]),
            (&false.into(), &"main".into(), &"topic".into())
        );
        let merged = merge(&Repository::open(&bare.path()).unwrap(), asked(&bare)).unwrap();
        assert_eq!(
            merged.tree.to_string(),
            bare.git(&["merge-tree", "--write-tree", "main", "topic"])
        );
        // The other way round, there is something else to merge; packed, it is the same.
        bare.git(&["pack-refs", "--all"]);
        bare.git(&["gc", "-q"]);
        assert_eq!(record(&bare, "main...topic"), value);
        bare.git(&["update-ref", "refs/heads/main", "topic"]);
        let value = record(&bare, "main...topic");
        assert_eq!(
            (&value["merged"], &value["patch"]),
            (&true.into(), &Value::Null)
        );
        let all = asked(&bare);
        assert_eq!(refused(&bare, all), FaultCode::Merged);
    }
}

#[test]
fn names_that_name_nothing() {
    let bare = bare();
    let provider = GitProvider::new(bare.path());
    let long = format!("main...{}", "x".repeat(600));
    for key in [
        "",
        "main",
        "topic...--upload-pack",
        "main...../x",
        "main...refs/heads/topic",
        "main...a/../b",
        &long,
    ] {
        assert_eq!(
            provider.record(key).unwrap_err().code,
            FaultCode::BadName,
            "{key}"
        );
    }
    assert_eq!(fault(&bare, "main...gone"), "no_branch");
    assert_eq!(fault(&bare, "gone...topic"), "no_branch");
    // A tag of that name is no branch, and neither is a remote's.
    bare.git(&["update-ref", "refs/tags/refs/heads/gone", "main"]);
    bare.git(&["update-ref", "refs/remotes/gone", "main"]);
    assert_eq!(fault(&bare, "main...gone"), "no_branch");
}

#[test]
fn what_is_no_commit_is_not_merged() {
    let bare = bare();
    let tree = bare.id("main^{tree}");
    let blob = bare.id("main:a.txt");
    fs::write(bare.path().join("refs/heads/tree"), format!("{tree}\n")).unwrap();
    assert_eq!(fault(&bare, "main...tree"), "not_a_commit");
    bare.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/topic"]);
    assert_eq!(fault(&bare, "main...alias"), "not_a_commit");
    let onto = id(&bare.id("main"));
    for commit in [&tree, &blob] {
        assert_eq!(
            refused(
                &bare,
                Merge {
                    onto,
                    commit: id(commit)
                }
            ),
            FaultCode::NotACommit
        );
    }
    let nothing = id(&"12".repeat(20));
    assert_eq!(
        refused(
            &bare,
            Merge {
                onto,
                commit: nothing
            }
        ),
        FaultCode::Unreadable
    );
    fs::write(bare.path().join("refs/heads/broken"), "no id at all\n").unwrap();
    assert_eq!(fault(&bare, "main...broken"), "unreadable");
}

#[test]
fn histories_that_are_not_related() {
    let bare = bare();
    bare.commit("alien", &[], &[("x", "x\n")]);
    assert_eq!(fault(&bare, "main...alien"), "unrelated");
    let asked = Merge {
        onto: id(&bare.id("main")),
        commit: id(&bare.id("alien")),
    };
    assert_eq!(refused(&bare, asked), FaultCode::Unrelated);
}

#[test]
fn a_lock_left_behind() {
    let bare = bare();
    let asked = asked(&bare);
    let main = bare.id("main");
    fs::write(bare.path().join("refs/heads/main.lock"), "").unwrap();
    assert_eq!(fault(&bare, "main...topic"), "locked");
    let before = bare.files();
    let repository = Repository::open(&bare.path()).unwrap();
    let merged = merge(&repository, asked).unwrap();
    let moved = publish_on_main(&repository, asked, merged, 1, || true);
    assert!(
        matches!(&moved, Moved::Not(fault) if fault.code == FaultCode::Locked),
        "{moved:?}"
    );
    assert_eq!((bare.files(), bare.id("main")), (before, main));
}

#[test]
fn damaged_and_missing_objects() {
    let bare = bare();
    let asked = asked(&bare);
    // Of a file that both sides need; of a tree; of a commit.
    bare.commit("both", &["refs/heads/main"], &[("b.txt", "b3\n")]);
    for object in [
        bare.id("both:b.txt"),
        bare.id("both^{tree}"),
        bare.id("both"),
    ] {
        // Objects of these small histories are in one pack: as loose ones they can be damaged one by one.
        let pack = bare.path().join("objects/pack");
        for entry in fs::read_dir(&pack)
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "pack"))
        {
            let away = bare.path().join("away.pack");
            fs::rename(entry.path(), &away).unwrap();
            let _ = fs::remove_file(entry.path().with_extension("idx"));
            bare.git_with(&["unpack-objects", "-q"], &fs::read(&away).unwrap());
        }
        let path = bare
            .path()
            .join("objects")
            .join(&object[..2])
            .join(&object[2..]);
        let whole = fs::read(&path).unwrap();
        for damaged in [Some(&whole[..whole.len() / 2]), Some(&b""[..]), None] {
            fs::remove_file(&path).unwrap();
            if let Some(damaged) = damaged {
                fs::write(&path, damaged).unwrap();
            }
            assert_eq!(
                fault(&bare, "topic...both"),
                "unreadable",
                "{object} {}",
                damaged.is_some()
            );
            if damaged.is_none() {
                fs::write(&path, "").unwrap();
            }
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, &whole).unwrap();
    }
    assert!(record(&bare, "topic...both").get("fault").is_none());
    assert!(merge(&Repository::open(&bare.path()).unwrap(), asked).is_ok());
}

#[test]
fn repositories_that_are_gone_or_of_another_form() {
    let bare = bare();
    let config = bare.path().join("config");
    let good = fs::read_to_string(&config).unwrap();
    for bad in [
        "[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = reftable\n",
        "[core]\nrepositoryformatversion = 5\n",
        "[core]\nbare = false\n",
        "[extensions]\npartialclone = origin\n",
    ] {
        fs::write(&config, bad).unwrap();
        assert_eq!(fault(&bare, "main...topic"), "repository", "{bad}");
    }
    fs::write(&config, &good).unwrap();
    fs::write(
        bare.path().join("shallow"),
        format!("{}\n", bare.id("main")),
    )
    .unwrap();
    assert_eq!(fault(&bare, "main...topic"), "repository");
    fs::remove_file(bare.path().join("shallow")).unwrap();
    let away = bare.path().with_extension("away");
    fs::rename(bare.path(), &away).unwrap();
    assert_eq!(fault(&bare, "main...topic"), "repository");
    fs::write(bare.path(), "a file").unwrap();
    assert_eq!(fault(&bare, "main...topic"), "repository");
    fs::remove_file(bare.path()).unwrap();
    fs::rename(&away, bare.path()).unwrap();
    assert!(record(&bare, "main...topic").get("fault").is_none());
}

#[test]
fn files_that_attributes_merge_otherwise() {
    let bare = bare();
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let attributes = |branch: &str, folder: &str, said: &str| {
        bare.commit(
            "main",
            &[],
            &[
                ("d/x.txt", text),
                (&format!("{folder}.gitattributes"), said),
            ],
        );
        bare.commit(
            branch,
            &["refs/heads/main"],
            &[("d/x.txt", &text.replace('1', "one"))],
        );
        bare.commit(
            "main",
            &["refs/heads/main"],
            &[("d/x.txt", &text.replace('9', "nine"))],
        );
        let asked = Merge {
            onto: id(&bare.id("main")),
            commit: id(&bare.id(branch)),
        };
        merge(&Repository::open(&bare.path()).unwrap(), asked)
            .err()
            .map(|fault| fault.code)
    };
    assert_eq!(
        attributes("t1", "", "*.txt merge=ours\n"),
        Some(FaultCode::Conflict)
    );
    assert_eq!(
        attributes("t2", "d/", "x.txt -merge\n"),
        Some(FaultCode::Conflict)
    );
    assert_eq!(
        attributes("t3", "", "d/* binary\n"),
        Some(FaultCode::Conflict)
    );
    assert_eq!(attributes("t4", "", "# merge\n*.txt text eol=lf\n"), None);
    assert_eq!(attributes("t5", "e/", "*.txt merge=ours\n"), None);
}

/// What this crate takes for a branch, Git does too.
#[test]
fn branch_names_are_what_git_takes() {
    let bare = Bare::new();
    let mut random = support::Random::new(3);
    let parts = [
        "a", "B", "7", "ä", "-", "/", ".", "..", "@", "{", "~", "^", ":", "?", "*", "[", "\\", " ",
        "\t", ".lock", "refs/", "HEAD",
    ];
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..600 {
        let name: String = (0..=random.below(4))
            .map(|_| *random.pick(&parts))
            .collect();
        let git = bare.run(&["check-ref-format", "--branch", &name], b"");
        let git = git.status.success()
            && String::from_utf8_lossy(&git.stdout).trim_end_matches('\n') == name;
        let ours = Branch::parse(&name).is_ok();
        // What is taken for something else by people, or by this crate's keys, is refused beside.
        let more = name.starts_with("refs/") || name == "@";
        assert!(
            ours == git || more && !ours,
            "{name:?}: git {git}, here {ours}"
        );
        match ours {
            true => taken += 1,
            false => refused += 1,
        }
    }
    assert!(taken > 60 && refused > 200, "{taken} {refused}");
}
