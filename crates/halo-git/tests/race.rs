//! A push between the last look and the compare-and-swap: the merge is on the head that was looked at, or it is not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "support/commits.rs"]
mod commits;
mod support;

use commits::{id, publish_on_main};
use halo_git::{Branch, FaultCode, Merge, Moved, Repository, merge};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use support::{Bare, Random, run};

const INTERLEAVINGS: u64 = 1_000;

#[test]
fn no_interleaving_merges_onto_another_head() {
    let bare = Bare::new();
    let root = bare.commit("main", &[], &[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let topic = bare.commit("topic", &["refs/heads/main"], &[("a.txt", "aa\n")]);
    let pushed = bare.commit("push", &["refs/heads/main"], &[("b.txt", "bb\n")]);
    let main = Branch::parse("main").unwrap();
    let path = bare.path();
    let push = || {
        let words = ["update-ref", "refs/heads/main", &pushed, &root];
        run(&path, &words, b"").status.success()
    };
    let mut random = Random::new(7);
    let (mut ours, mut theirs) = (0, 0);
    for number in 0..INTERLEAVINGS {
        bare.git(&["update-ref", "refs/heads/main", &root]);
        let repository = Repository::open(&path).unwrap();
        let looked_at = repository.head(&main).unwrap();
        let asked = Merge {
            onto: looked_at,
            commit: id(&topic),
        };
        let (before_merge, inside) = (random.one_in(3), random.one_in(2));
        let wait = Duration::from_micros(random.below(6_000));
        let won = AtomicBool::new(false);
        let moved = std::thread::scope(|scope| {
            if !inside {
                scope.spawn(|| {
                    std::thread::sleep(wait);
                    won.store(push(), Ordering::SeqCst);
                });
            }
            if before_merge {
                std::thread::sleep(Duration::from_micros(2_000));
            }
            let merged = merge(&repository, asked).unwrap();
            publish_on_main(&repository, asked, merged, number as i64, || {
                if inside {
                    // The worst moment: everything was looked at, nothing moved yet.
                    won.store(push(), Ordering::SeqCst);
                }
                true
            })
        });
        let head = repository.head(&main).unwrap();
        let won = won.load(Ordering::SeqCst);
        match moved {
            Moved::To(made) => {
                ours += 1;
                assert!(!won, "{number}: both");
                assert_eq!(head, made);
                if number % 50 == 0 {
                    assert_eq!(bare.id("main^1"), looked_at.to_string());
                }
            }
            Moved::Not(fault) => {
                theirs += 1;
                assert_eq!(fault.code, FaultCode::Moved, "{fault}");
                assert!(won, "{number}: nobody, {fault}");
                assert_eq!(head, id(&pushed));
            }
            Moved::Unknown(why) => panic!("{why}"),
        }
        assert!(!path.join("refs/heads/main.lock").exists());
    }
    eprintln!("{ours} merged first, {theirs} pushed first");
    assert!(ours > 20 && theirs > 500, "{ours} {theirs}");
    bare.is_sound();
}

#[test]
fn a_call_that_is_over_moves_nothing() {
    let bare = Bare::new();
    let root = bare.commit("main", &[], &[("a.txt", "a\n")]);
    let topic = bare.commit("topic", &["refs/heads/main"], &[("a.txt", "aa\n")]);
    let repository = Repository::open(&bare.path()).unwrap();
    let asked = Merge {
        onto: id(&root),
        commit: id(&topic),
    };
    let merged = merge(&repository, asked).unwrap();
    let moved = publish_on_main(&repository, asked, merged, 1, || false);
    assert!(matches!(moved, Moved::Not(_)), "{moved:?}");
    assert_eq!(bare.id("main"), root);
    bare.is_sound();
}
