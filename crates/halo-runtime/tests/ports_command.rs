//! Commands: what they are given, what their end means, and that nothing of them outlives a call.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod ports_support;

use halo_core::Outcome::{self, Accepted, Lost, Refused};
use halo_runtime::ports::{
    Adapter, Provider, RouteHandler,
    command::{Command, CommandAdapter, CommandHandler, CommandProvider, INHERITED},
};
use ports_support::{action, remarks};
use serde_json::{Value, json};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);

fn shell(script: &str, folder: &Path) -> Command {
    Command::new("sh", vec!["-c".to_owned(), script.to_owned()], folder)
}

async fn outcome_of(script: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let adapter = CommandAdapter::new(shell(script, folder.path()));
    timeout(LONG, adapter.call(action())).await.unwrap()
}

#[tokio::test]
async fn an_outcome_is_what_the_exit_code_says() {
    for (script, outcome) in [
        ("exit 0", Accepted),
        ("cat; exit 0", Accepted),
        ("exit 10", Refused),
        ("cat >/dev/null; exit 10", Refused),
        ("exit 1", Lost),
        ("exit 11", Lost),
        ("exit 127", Lost),
        ("kill -9 $$", Lost),
        ("kill -TERM $$", Lost),
        // More than a pipe takes, of both.
        (
            "yes | head -c 3000000; yes | head -c 3000000 >&2; exit 10",
            Refused,
        ),
    ] {
        assert_eq!(outcome_of(script).await, outcome, "{script}");
    }
    let adapter = CommandAdapter::new(Command::new("/nowhere/pay", Vec::new(), "."));
    assert_eq!(
        adapter.call(action()).await,
        Lost,
        "there is no such program"
    );
}

#[tokio::test]
async fn an_adapter_is_told_what_it_may_do() {
    let folder = tempfile::tempdir().unwrap();
    let permit = action();
    let binding = permit.binding().to_string();
    let adapter = CommandAdapter::new(shell("cat > given", folder.path()));
    assert_eq!(adapter.target(), r#"run ["sh","-c","cat > given"]"#);
    assert_eq!(adapter.call(permit).await, Accepted);
    let given = std::fs::read(folder.path().join("given")).unwrap();
    let expected = json!({
        "binding": binding, "sequence": 1, "response": "r1", "component": "a", "generation": 1, "type": "pay",
        "payload": {"amount": 5, "to": "ann"}, "valid_until": "2026-01-01T01:00:00Z",
    });
    assert_eq!(serde_json::from_slice::<Value>(&given).unwrap(), expected);
}

#[tokio::test]
async fn a_command_inherits_little() {
    // The test's own environment has more than that: cargo sets plenty.
    assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")));
    let folder = tempfile::tempdir().unwrap();
    let command = Command::new("env", Vec::new(), folder.path());
    let output = CommandProvider::new("rate", command)
        .ask(None)
        .await
        .unwrap();
    for line in String::from_utf8(output).unwrap().lines() {
        let (name, _) = line.split_once('=').unwrap();
        assert!(INHERITED.contains(&name), "{line}");
    }
}

#[tokio::test]
async fn words_are_not_a_shells() {
    let folder = tempfile::tempdir().unwrap();
    let words = vec!["$HOME; touch x".to_owned(), "`id`".to_owned()];
    let command = Command::new("echo", words, folder.path());
    let output = CommandProvider::new("rate", command).ask(None).await;
    assert_eq!(output, Ok(b"$HOME; touch x `id`\n".to_vec()));
    assert!(!folder.path().join("x").exists());
}

#[tokio::test]
async fn a_provider_reads_a_question_and_prints_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let provider = CommandProvider::new("legs", shell("cat", folder.path()));
    for (key, question) in [
        (Some("L\"3\n"), r#"{"source":"legs","key":"L\"3\n"}"#),
        (None, r#"{"source":"legs","key":null}"#),
    ] {
        let answer = provider.ask(key).await.unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), question);
    }
    for (script, fault) in [
        ("echo '{}'; exit 3", "exit 3"),
        (
            "echo 'no\tmap' >&2; echo second >&2; exit 10",
            "exit 10: no map second",
        ),
        ("kill -9 $$", "killed by a signal"),
        ("yes | head -c 3000000", "its output is longer than 1 MiB"),
    ] {
        let provider = CommandProvider::new("rate", shell(script, folder.path()));
        assert_eq!(provider.ask(None).await, Err(fault.to_owned()), "{script}");
    }
    let provider = CommandProvider::new(
        "rate",
        shell("yes x | head -c 90000 >&2; exit 1", folder.path()),
    );
    assert!(provider.ask(None).await.unwrap_err().len() < 300);
}

#[tokio::test]
async fn a_handler_reads_the_obligation() {
    let folder = tempfile::tempdir().unwrap();
    let handler = CommandHandler::new(shell("cat > told", folder.path()));
    assert_eq!(handler.tell(r#"{"obligation":1}"#).await, Ok(()));
    let told = std::fs::read_to_string(folder.path().join("told")).unwrap();
    assert_eq!(told, r#"{"obligation":1}"#);
    let handler = CommandHandler::new(shell("exit 10", folder.path()));
    assert_eq!(handler.tell("{}").await, Err("exit 10".to_owned()));
}

/// The process's state, as the system tells it; nothing: there is none. A zombie is dead.
#[cfg(target_os = "linux")]
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
    !matches!(state, None | Some(b'Z' | b'X'))
}

/// Waits for a file of process ids, one a line.
#[cfg(target_os = "linux")]
async fn pids(path: &Path, count: usize) -> Vec<String> {
    let begin = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.lines().count() == count && text.ends_with('\n') {
            return text.lines().map(str::to_owned).collect();
        }
        assert!(begin.elapsed() < LONG, "no process ids");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[cfg(target_os = "linux")]
async fn all_die(pids: &[String]) {
    let begin = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| lives(pid)) {
        assert!(begin.elapsed() < LONG, "{pid} lives");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_time_limit_kills_grandchildren_too() {
    // Both hold standard input, output and error; one ignores what can be ignored.
    let script = "echo $$ > pids; sh -c 'trap \"\" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' & wait";
    let folder = tempfile::tempdir().unwrap();
    let adapter = CommandAdapter::new(shell(script, folder.path()));
    let file = folder.path().join("pids");
    let pids = tokio::select! {
        outcome = adapter.call(action()) => panic!("{outcome:?}"),
        pids = pids(&file, 2) => pids,
    };
    all_die(&pids).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    let script = "sleep 1000 & echo $! > pids; exit 0";
    let folder = tempfile::tempdir().unwrap();
    let adapter = CommandAdapter::new(shell(script, folder.path()));
    let outcome = timeout(LONG, adapter.call(action())).await;
    assert_eq!(outcome, Ok(Accepted));
    let pids = pids(&folder.path().join("pids"), 1).await;
    all_die(&pids).await;
    // The same of a provider, whose output that process holds open.
    let provider = CommandProvider::new("rate", shell("sleep 1000 & echo '{}'", folder.path()));
    let answer = timeout(LONG, provider.ask(None)).await.unwrap();
    assert_eq!(answer, Ok(b"{}\n".to_vec()));
}

#[tokio::test]
async fn why_a_call_is_in_doubt_is_said() {
    let (remarks, said) = remarks();
    let folder = tempfile::tempdir().unwrap();
    let adapter = CommandAdapter::new(shell("echo 'no money' >&2; exit 1", folder.path()))
        .remarking(remarks.named("adapter `bank`"));
    assert_eq!(adapter.call(action()).await, Lost);
    assert_eq!(*said.lock().unwrap(), ["adapter `bank`: exit 1: no money"]);
}
