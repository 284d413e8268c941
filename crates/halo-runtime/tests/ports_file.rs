//! Paths that write lines or tell listeners, and the provider that is a file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod ports_support;

use halo_core::Outcome::{Accepted, Lost, Refused};
use halo_runtime::ports::{
    OutputPath, Provider,
    events::EmissionFeed,
    file::{FilePath, FileProvider},
    lines::LinesPath,
    message,
};
use ports_support::{emission, permits, remarks};
use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn lines_are_appended_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.jsonl");
    let path = FilePath::new(&file);
    let line = message::emission(&emission()).unwrap() + "\n";
    assert_eq!(path.emit(emission()).await, Accepted);
    assert_eq!(path.emit(emission()).await, Accepted);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), line.repeat(2));
    // A line break in the payload is none in the line.
    let odd = permits(r#"{"text":"a\nb\u2028c"}"#).1;
    assert_eq!(path.emit(odd).await, Accepted);
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 3);
    // What a crash left of a line.
    std::fs::write(&file, "{\"emission\":").unwrap();
    assert_eq!(path.emit(emission()).await, Accepted);
    let expected = format!("{{\"emission\":\n{line}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
    // Moved away: the next line makes a new file.
    std::fs::rename(&file, folder.path().join("old")).unwrap();
    assert_eq!(path.emit(emission()).await, Accepted);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), line);
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
}

#[tokio::test]
async fn what_cannot_be_opened_was_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let (remarks, said) = remarks();
    let path = FilePath::new(folder.path().join("none/out")).remarking(remarks.clone());
    assert_eq!(path.emit(emission()).await, Refused);
    assert_eq!(said.lock().unwrap().len(), 1);
    let path = FilePath::new(folder.path()).remarking(remarks);
    assert_eq!(path.emit(emission()).await, Refused);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_lost() {
    let (remarks, said) = remarks();
    let path = FilePath::new("/dev/full").remarking(remarks);
    assert_eq!(path.emit(emission()).await, Lost);
    assert!(said.lock().unwrap()[0].starts_with("/dev/full: "));
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes a little, then fails.
struct Breaks(usize);

impl Write for Breaks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.0.min(bytes.len());
        self.0 -= taken;
        match taken {
            0 => Err(io::Error::other("gone")),
            taken => Ok(taken),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn lines_go_to_a_writer() {
    let sink = Shared::default();
    let path = LinesPath::to(Box::new(sink.clone()));
    assert_eq!(path.emit(emission()).await, Accepted);
    assert_eq!(path.emit(emission()).await, Accepted);
    let line = message::emission(&emission()).unwrap() + "\n";
    let written = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    assert_eq!(written, line.repeat(2));
    for taken in [0, 10] {
        let path = LinesPath::to(Box::new(Breaks(taken)));
        assert_eq!(path.emit(emission()).await, Lost);
    }
}

#[tokio::test]
async fn listeners_get_emissions_and_are_told_what_they_missed() {
    use tokio::sync::broadcast::error::{RecvError, TryRecvError};
    let feed = EmissionFeed::new(16 << 20);
    let path = feed.path("out");
    assert_eq!(path.emit(emission()).await, Accepted, "nobody listens");
    let (mut quick, mut slow) = (feed.listen(), feed.listen());
    let text = message::emission(&emission()).unwrap();
    // Payloads of 16 MiB: few are held.
    for _ in 0..20 {
        assert_eq!(path.emit(emission()).await, Accepted);
        let emitted = quick.recv().await.unwrap();
        assert_eq!((&*emitted.path, &*emitted.text), ("out", &*text));
    }
    assert!(matches!(quick.try_recv(), Err(TryRecvError::Empty)));
    assert!(matches!(slow.recv().await, Err(RecvError::Lagged(4))));
    assert!(slow.recv().await.is_ok());
}

#[tokio::test]
async fn a_file_is_read_when_it_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("map.json");
    let provider = FileProvider::new(&file);
    assert!(provider.ask(None).await.is_err());
    for text in ["{\"value\":1}", "{\"value\":2}"] {
        std::fs::write(&file, text).unwrap();
        assert_eq!(provider.ask(None).await, Ok(text.as_bytes().to_vec()));
    }
    std::fs::write(&file, vec![b' '; (1 << 20) + 1]).unwrap();
    let fault = provider.ask(None).await.unwrap_err();
    assert!(fault.ends_with("is longer than 1 MiB"), "{fault}");
    let folder = FileProvider::new(folder.path());
    let fault = folder.ask(None).await.unwrap_err();
    assert!(fault.ends_with("is no regular file"), "{fault}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let provider = FileProvider::new(&pipe);
    let answer = timeout(LONG, provider.ask(None)).await.unwrap();
    assert!(answer.unwrap_err().ends_with("is no regular file"));
}

#[tokio::test]
async fn a_change_is_noticed_and_reading_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("map.json");
    std::fs::write(&file, "1").unwrap();
    let provider = FileProvider::new(&file);
    let mut changes = provider.watch().unwrap();
    let quiet = Duration::from_millis(300);
    for step in ["write", "replace", "remove", "create"] {
        match step {
            "replace" => {
                let other = folder.path().join("map.json.new");
                std::fs::write(&other, "2").unwrap();
                std::fs::rename(&other, &file).unwrap();
            }
            "remove" => std::fs::remove_file(&file).unwrap(),
            _ => std::fs::write(&file, step).unwrap(),
        }
        assert!(timeout(LONG, changes.changed()).await.unwrap(), "{step}");
        // Several events of one change may come apart; then there is silence.
        while timeout(quiet, changes.changed()).await.is_ok() {}
        let _ = provider.ask(None).await;
        std::fs::write(folder.path().join("other.json"), step).unwrap();
        let more = timeout(quiet, changes.changed()).await;
        assert!(more.is_err(), "{step}: reading, or another file, was told");
    }
    assert!(FileProvider::new("/nowhere/map.json").watch().is_err());
}
