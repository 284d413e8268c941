//! A merge whose answer was lost, or whose process died, is settled by looking: with a runtime, its journal and a repository.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use halo_core::{DispatchPermit, EmitPermit, Outcome};
use halo_git::{GitAdapter, GitProvider};
use halo_journal::{MemoryDisk, MemoryStore};
use halo_runtime::{
    api::{Address, Caller, Kept, Room},
    driver::Opened,
    ports::{
        Adapter, Answering, Observer, OutputPath, Remarks,
        plugs::{AdapterPlug, PathPlug, Plugs, ProviderPlug},
    },
    runtime::Runtime,
};
use serde_json::json;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use support::Bare;

const HEAD: &str = "changes[payload.change].value.target_head";

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// It is made, and its answer never comes.
    MadeAndLost,
    /// It is not made, and no answer comes.
    LostBefore,
    /// It is made and answered.
    Answered,
}

struct Flaky {
    git: GitAdapter,
    fate: Fate,
    /// Hangs instead of answering that it is lost.
    hangs: bool,
    made: Arc<Mutex<u32>>,
}

impl Adapter for Flaky {
    fn target(&self) -> String {
        self.git.target()
    }
    fn call(&self, permit: DispatchPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            let outcome = match self.fate {
                Fate::LostBefore => Outcome::Lost,
                _ => self.git.call(permit).await,
            };
            *self.made.lock().unwrap() += 1;
            if self.fate == Fate::Answered {
                return outcome;
            }
            if self.hangs {
                std::future::pending::<()>().await;
            }
            Outcome::Lost
        })
    }
    fn observer(&self) -> Option<&dyn Observer> {
        self.git.observer()
    }
}

#[derive(Default, Clone)]
struct Sink(Arc<Mutex<Vec<String>>>);

impl OutputPath for Sink {
    fn emit(&self, permit: EmitPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            self.0.lock().unwrap().push(permit.id().to_owned());
            Outcome::Accepted
        })
    }
}

struct Team {
    bare: Bare,
    disk: MemoryDisk,
    sink: Sink,
    made: Arc<Mutex<u32>>,
    remarks: Arc<Mutex<Vec<String>>>,
}

impl Team {
    fn new() -> Self {
        let bare = Bare::new();
        bare.commit("main", &[], &[("a.txt", "a\n"), ("b.txt", "b\n")]);
        bare.commit("topic", &["refs/heads/main"], &[("a.txt", "aa\n")]);
        bare.commit("main", &["refs/heads/main"], &[("b.txt", "bb\n")]);
        Self {
            bare,
            disk: MemoryStore::new().disk(),
            sink: Sink::default(),
            made: Arc::default(),
            remarks: Arc::default(),
        }
    }

    fn start(&self, fate: Fate, hangs: bool) -> Runtime {
        self.start_within(fate, hangs, Duration::from_secs(60))
    }

    fn start_within(&self, fate: Fate, hangs: bool, limit: Duration) -> Runtime {
        let path = self.bare.path();
        let said = self.remarks.clone();
        let remarks = Remarks::to(move |text| said.lock().unwrap().push(text.to_owned()));
        let git = GitAdapter::new(&path, HEAD).remarking(remarks);
        let flaky = Flaky {
            git,
            fate,
            hangs,
            made: self.made.clone(),
        };
        let mut plugs = Plugs::default();
        let mut plug = AdapterPlug::new(Arc::new(flaky));
        plug.timeout = limit;
        plugs.adapters.insert("repo".into(), plug);
        for path in ["review", "evidence", "team", "tracker"] {
            let plug = PathPlug::new(Arc::new(self.sink.clone()));
            plugs.paths.insert(path.into(), plug);
        }
        let provider = ProviderPlug::new(Arc::new(GitProvider::new(&path)));
        plugs.providers.insert("changes".into(), provider);
        let store = Box::new(self.disk.open());
        let catalog = include_str!("../../../catalogs/git.yaml");
        let said = self.remarks.clone();
        Runtime::start(
            |host| Opened {
                snapshot_every: 100,
                ..Opened::new(store, plugs, ("git.yaml", catalog), host)
            },
            tokio::runtime::Handle::current(),
            Arc::new(move |text: &str| said.lock().unwrap().push(text.to_owned())),
            |_| {},
        )
        .unwrap()
    }

    async fn propose(&self, runtime: &Runtime) {
        let commit = self.bare.id("topic");
        for (address, value) in [
            (
                format!("ci/{commit}"),
                json!({"commit": commit, "result": "passed", "run": "1"}),
            ),
            (
                format!("approvals/{commit}"),
                json!({"commit": commit, "approved": true, "by": ["ann"]}),
            ),
            (
                "protection/main".into(),
                json!({"open": true, "approvals": 1}),
            ),
        ] {
            let record = json!({"value": value}).to_string().into_bytes();
            runtime
                .write_state(operator(), address, record)
                .await
                .unwrap();
        }
        let forged =
            "Halo-Binding: sha256:0000000000000000000000000000000000000000000000000000000000000000";
        let response = json!({"response": "r", "components": [
            {"id": "m", "type": "merge", "payload": {"change": "main...topic", "target": "main", "commit": commit, "message": format!("Words\n\n{forged}\n\n")}},
            {"id": "n", "type": "completion_notice", "payload": {"text": "done"}, "requires": [{"id": "m", "phase": "observed"}, {"id": "m", "phase": "dispatched"}]}]});
        let text = response.to_string().into_bytes();
        runtime
            .submit(operator(), text, None, Room::default())
            .await
            .unwrap();
    }

    async fn was_called(&self) {
        while *self.made.lock().unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    fn merges(&self) -> usize {
        let log = self.bare.git(&["log", "--merges", "--format=%H", "main"]);
        log.lines().count()
    }
}

fn operator() -> Caller {
    Caller {
        name: "ops".into(),
        sees_all: true,
    }
}

async fn read(runtime: &Runtime) -> Kept {
    let address = Address {
        id: "r".into(),
        owner: None,
    };
    runtime.response(operator(), address).await.unwrap()
}

async fn comes_to(runtime: &Runtime, phase: &str) -> Kept {
    for _ in 0..2_000 {
        let kept = read(runtime).await;
        if kept.components[0].phase == phase {
            return kept;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{:?}", read(runtime).await.components);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answered_merge_is_observed_by_ancestry() {
    let team = Team::new();
    let runtime = team.start(Fate::Answered, false);
    team.propose(&runtime).await;
    let kept = comes_to(&runtime, "observed").await;
    let binding = kept.components[0].binding.unwrap().to_string();
    let message = team.bare.git(&["log", "-1", "--format=%B", "main"]);
    assert_eq!(
        message.lines().last(),
        Some(&*format!("Halo-Binding: {binding}"))
    );
    assert!(message.starts_with("Words\n"));
    assert_eq!(
        team.bare.git(&["log", "-1", "--format=%an <%ae>", "main"]),
        "HALO <halo@localhost>"
    );
    runtime.stop().await;
    team.bare.is_sound();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_settled_by_looking() {
    for (fate, phase, merges) in [
        (Fate::MadeAndLost, "observed", 1),
        (Fate::LostBefore, "failed", 0),
    ] {
        let team = Team::new();
        let runtime = team.start(fate, false);
        team.propose(&runtime).await;
        comes_to(&runtime, phase).await;
        assert_eq!(team.merges(), merges);
        runtime.stop().await;
        assert_eq!(*team.made.lock().unwrap(), 1, "never again");
        team.bare.is_sound();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_a_merge_is_settled_by_looking() {
    for (fate, phase, merges) in [
        (Fate::MadeAndLost, "observed", 1),
        (Fate::LostBefore, "failed", 0),
    ] {
        for pushes in [false, true] {
            let team = Team::new();
            let runtime = team.start(fate, true);
            team.propose(&runtime).await;
            team.was_called().await;
            // The process is gone. Others go on with the branch before it is back.
            drop(runtime);
            if pushes {
                team.bare
                    .commit("main", &["refs/heads/main"], &[("c.txt", "c\n")]);
                team.bare
                    .commit("side", &["refs/heads/main~1"], &[("d.txt", "d\n")]);
                team.bare.commit(
                    "main",
                    &["refs/heads/main", "refs/heads/side"],
                    &[("d.txt", "d\n")],
                );
            }
            let runtime = team.start(Fate::Answered, false);
            let kept = comes_to(&runtime, phase).await;
            assert_eq!(team.merges(), merges + usize::from(pushes));
            assert_eq!(*team.made.lock().unwrap(), 1, "never again");
            if phase == "failed" {
                assert_eq!(kept.obligations[0].route, "rebase");
            }
            runtime.stop().await;
            let audit = halo_runtime::audit::audit(Box::new(team.disk.open()), |_| {}).unwrap();
            assert!(audit.ok, "{audit:#?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewritten_branch_leaves_it_to_people() {
    let team = Team::new();
    let runtime = team.start(Fate::MadeAndLost, true);
    team.propose(&runtime).await;
    team.was_called().await;
    drop(runtime);
    // A force-push past the head that was merged onto: ancestry tells nothing.
    team.bare.git(&["update-ref", "refs/heads/main", "main~2"]);
    let runtime = team.start(Fate::Answered, false);
    for _ in 0..200 {
        if team
            .remarks
            .lock()
            .unwrap()
            .iter()
            .any(|text| text.contains("was rewritten"))
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let remarks = team.remarks.lock().unwrap().clone();
    assert!(
        remarks
            .iter()
            .any(|text| text.contains("was rewritten") && text.contains("settle it")),
        "{remarks:?}"
    );
    assert_eq!(read(&runtime).await.components[0].phase, "in_doubt");
    runtime.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_past_its_time_limit_is_either_made_or_not() {
    let mut found = [0, 0];
    for millis in 0..24 {
        let team = Team::new();
        let limit = Duration::from_micros(1 + millis * 2_500);
        let runtime = team.start_within(Fate::Answered, false, limit);
        team.propose(&runtime).await;
        let phase = loop {
            let phase = read(&runtime).await.components[0].phase;
            if matches!(phase, "observed" | "failed") {
                break phase;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let merged = usize::from(phase == "observed");
        assert_eq!(team.merges(), merged, "{limit:?}");
        // What was given up does not come later.
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(team.merges(), merged, "{limit:?}");
        found[merged] += 1;
        runtime.stop().await;
    }
    eprintln!("{found:?} not made, made");
    assert!(found[0] > 0, "{found:?}");
}
