//! What a decision costs beside the merge, in a repository of 50,000 commits: `cargo bench -p halo-git`. It prints, and
//! asserts nothing about time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../tests/support/commits.rs"]
mod commits;
#[path = "../tests/support/mod.rs"]
mod support;

use commits::{id, publish_on_main};
use gix_hash::ObjectId;
use halo_git::{GitAdapter, GitProvider, Merge, Moved, Repository, merge};
use halo_journal::SqliteStore;
use halo_runtime::{
    api::{Address, Caller, Room},
    driver::Opened,
    ports::{
        Answering, OutputPath,
        plugs::{AdapterPlug, Mode, PathPlug, Plugs, ProviderPlug},
    },
    runtime::Runtime,
};
use serde_json::json;
use std::{
    io::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};
use support::Bare;

const COMMITS: usize = 50_000;
const FILES: usize = 2_000;
const ROUNDS: usize = 21;

struct Nowhere;

impl OutputPath for Nowhere {
    fn emit(&self, _: halo_core::EmitPermit) -> Answering<'_, halo_core::Outcome> {
        Box::pin(async { halo_core::Outcome::Accepted })
    }
}

/// `main` with 50,000 commits over 2,000 files, and a topic of ten commits that left it a hundred commits ago.
fn repository() -> Bare {
    let bare = Bare::new();
    let mut input = Vec::new();
    let text = |seed: usize| -> String {
        (0..60)
            .map(|line| format!("line {} of {seed}\n", line * 7))
            .collect()
    };
    for number in 1..=COMMITS {
        let from = if number == 1 {
            String::new()
        } else {
            format!("from :{}\n", number - 1)
        };
        write!(
            input,
            "commit refs/heads/main\nmark :{number}\ncommitter T <t@x> {} +0000\ndata 1\nx\n{from}",
            1_600_000_000 + number * 60
        )
        .unwrap();
        let files = if number == 1 {
            0..FILES
        } else {
            number % FILES..number % FILES + 1
        };
        for file in files {
            let text = text(file) + &format!("{number}\n");
            write!(
                input,
                "M 100644 inline d{}/e{}/f{file}\ndata {}\n{text}\n",
                file % 20,
                file % 100,
                text.len()
            )
            .unwrap();
        }
    }
    let mut last = COMMITS - 100;
    for number in 1..=10 {
        let mark = COMMITS + number;
        write!(input, "commit refs/heads/topic\nmark :{mark}\ncommitter T <t@x> {} +0000\ndata 1\nx\nfrom :{last}\n", 1_600_000_000 + (COMMITS + number) * 60).unwrap();
        // Files that both sides touch among them, at other lines.
        for file in [number * 150, (COMMITS - 50 + number) % FILES] {
            let text = format!("topic\n{}", text(file))
                + &format!(
                    "{}\n",
                    if file == number * 150 {
                        file
                    } else {
                        COMMITS - 50 + number - FILES
                    }
                );
            write!(
                input,
                "M 100644 inline d{}/e{}/f{file}\ndata {}\n{text}\n",
                file % 20,
                file % 100,
                text.len()
            )
            .unwrap();
        }
        last = mark;
    }
    bare.git_with(&["fast-import", "--quiet"], &input);
    bare.git(&["gc", "-q"]);
    bare
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

/// The merge, and how much of it was in memory.
fn alone(bare: &Bare, main: ObjectId, topic: ObjectId) -> (Duration, Duration) {
    let begun = Instant::now();
    let repository = Repository::open(&bare.path()).unwrap();
    let asked = Merge {
        onto: main,
        commit: topic,
    };
    let merged = merge(&repository, asked).unwrap();
    let in_memory = begun.elapsed();
    let number = i64::from(begun.elapsed().subsec_nanos());
    let moved = publish_on_main(&repository, asked, merged, number, || true);
    assert!(matches!(moved, Moved::To(_)), "{moved:?}");
    (begun.elapsed(), in_memory)
}

fn start(bare: &Bare, data: &std::path::Path) -> Runtime {
    let mut plugs = Plugs::default();
    let head = "changes[payload.change].value.target_head";
    let mut plug = AdapterPlug::new(Arc::new(GitAdapter::new(bare.path(), head)));
    plug.mode = Mode::Auto;
    plugs.adapters.insert("repo".into(), plug);
    for path in ["review", "evidence", "team", "tracker"] {
        plugs
            .paths
            .insert(path.into(), PathPlug::new(Arc::new(Nowhere)));
    }
    let provider = ProviderPlug::new(Arc::new(GitProvider::new(bare.path())));
    plugs.providers.insert("changes".into(), provider);
    let store = Box::new(SqliteStore::open(data).unwrap());
    Runtime::start(
        |host| {
            Opened::new(
                store,
                plugs,
                ("git.yaml", include_str!("../../../catalogs/git.yaml")),
                host,
            )
        },
        tokio::runtime::Handle::current(),
        Arc::new(|text: &str| eprintln!("{text}")),
        |_| {},
    )
    .unwrap()
}

/// From the submission to the moved branch: two readings of the repository, two commits of the journal, the merge.
async fn decided(
    runtime: &Runtime,
    number: usize,
    topic: &str,
    bare: &Bare,
    before: ObjectId,
) -> Duration {
    let ops = Caller {
        name: "ops".into(),
        sees_all: true,
    };
    let response = json!({"response": format!("r{number}"), "components": [
        {"id": "m", "type": "merge", "payload": {"change": "main...topic", "target": "main", "commit": topic, "message": format!("{number}")}}]});
    let text = response.to_string().into_bytes();
    let begun = Instant::now();
    runtime
        .submit(ops.clone(), text, None, Room::default())
        .await
        .unwrap();
    let address = Address {
        id: format!("r{number}"),
        owner: None,
    };
    let mut seen = 0;
    loop {
        let kept = runtime
            .response(ops.clone(), address.clone())
            .await
            .unwrap();
        if matches!(kept.components[0].phase, "dispatched" | "observed") {
            break;
        }
        assert!(
            matches!(kept.components[0].phase, "retained" | "pending"),
            "{:?}",
            kept.components[0]
        );
        seen = seen.max(kept.changed);
        let _ = tokio::time::timeout(
            Duration::from_millis(50),
            runtime.changed(ops.clone(), address.clone(), seen),
        )
        .await;
    }
    let took = begun.elapsed();
    assert_ne!(bare.id("main"), before.to_string());
    took
}

#[tokio::main]
async fn main() {
    let bare = repository();
    let (main, topic) = (id(&bare.id("main")), bare.id("topic"));
    assert_eq!(
        bare.git(&["rev-list", "--count", "main"]),
        COMMITS.to_string()
    );
    let data = tempfile::tempdir().unwrap();
    let (mut merges, mut decisions, mut git) = (Vec::new(), Vec::new(), Vec::new());
    let mut memory = Vec::new();
    for number in 0..ROUNDS {
        let reset = || bare.git(&["update-ref", "refs/heads/main", &main.to_string()]);
        reset();
        let (whole, in_memory) = alone(&bare, main, id(&topic));
        merges.push(whole);
        memory.push(in_memory);
        reset();
        let begun = Instant::now();
        bare.git(&["merge-tree", "--write-tree", "main", "topic"]);
        git.push(begun.elapsed());
        // A runtime of its own for each: nothing of the change is known yet.
        let runtime = start(&bare, &data.path().join(number.to_string()));
        let ops = Caller {
            name: "ops".into(),
            sees_all: true,
        };
        for (address, value) in [
            (
                format!("ci/{topic}"),
                json!({"commit": topic, "result": "passed", "run": "1"}),
            ),
            (
                format!("approvals/{topic}"),
                json!({"commit": topic, "approved": true, "by": ["ann"]}),
            ),
            (
                "protection/main".into(),
                json!({"open": true, "approvals": 1}),
            ),
        ] {
            let record = json!({"value": value}).to_string().into_bytes();
            runtime
                .write_state(ops.clone(), address, record)
                .await
                .unwrap();
        }
        decisions.push(decided(&runtime, number, &topic, &bare, main).await);
        runtime.stop().await;
    }
    let (alone, decided, git) = (median(merges), median(decisions), median(git));
    let memory = median(memory);
    println!(
        "medians of {ROUNDS}: merge alone {alone:?} ({memory:?} of it in memory), decision and merge {decided:?}: {:.2} times; `git merge-tree` alone, as a process, {git:?}",
        decided.as_secs_f64() / alone.as_secs_f64()
    );
}
