//! Standard output and error: colour, closed pipes, help, wrong usage.

use crate::run::{command, halo, halo_with};
use std::process::Stdio;

#[test]
fn no_colour_off_a_terminal() {
    for arguments in [
        &["demo"][..],
        &["replay", "examples"],
        &["check", "examples/first/catalog.yaml"],
    ] {
        let ran = halo(arguments);
        assert!(
            !ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'),
            "{arguments:?}"
        );
    }
}

/// `script` gives the binary a terminal of its own; where there is none, there is nothing to see.
#[test]
fn colour_on_a_terminal_unless_told_otherwise() {
    let run = |no_color: &str| {
        let line = format!("{} demo", env!("CARGO_BIN_EXE_halo"));
        let output = std::process::Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env("NO_COLOR", no_color)
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output();
        output
            .ok()
            .filter(|output| output.status.success())
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (Some(colored), Some(plain)) = (run(""), run("1")) else {
        return;
    };
    assert!(colored.contains("\u{1b}[1m"));
    assert!(!plain.contains("\u{1b}["));
}

#[test]
fn a_reader_that_goes_away_changes_no_exit_code() {
    for (arguments, code) in [
        (&["replay", "vectors/cases"][..], 0),
        (
            &[
                "check",
                "--json",
                "examples/first/catalog.yaml",
                "vectors/README.md",
            ],
            1,
        ),
    ] {
        let mut child = command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn nothing_but_json_on_standard_output() {
    for arguments in [
        &["demo", "--json"][..],
        &["--json", "check", "vectors/README.md"],
        &["replay", "nowhere", "--json"],
    ] {
        halo(arguments).json();
    }
}

#[test]
fn usage_and_help() {
    for arguments in [
        &[][..],
        &["nope"],
        &["replay"],
        &["check"],
        &["admit", "x.json"],
        &["digest"],
        &["replay", "--frob", "x"],
    ] {
        let ran = halo(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(!ran.err.is_empty());
    }
    // What is not there yet is not there.
    let ran = halo(&["mcp"]);
    assert_eq!(ran.code, 2);
    ran.complains(&["unrecognized subcommand"]);
    for (arguments, complaint) in [
        (&["serve", "--config", "nowhere.yaml"][..], "nowhere.yaml"),
        (&["audit", "verify", "nowhere"], "nowhere"),
        (&["audit", "show", "nowhere"], "nowhere"),
        (&["explain", "r", "c", "--data", "nowhere"], "nowhere"),
        (&["approve", "--url", "ftp://nowhere"], "http"),
    ] {
        let ran = halo(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        ran.complains(&[complaint]);
    }
    let ran = halo(&["--help"]);
    assert_eq!(ran.code, 0);
    ran.says(&[
        "serve",
        "audit",
        "explain",
        "approve",
        "demo",
        "check",
        "admit",
        "replay",
        "digest",
        "--json",
        "Exit codes",
    ]);
    assert_eq!(halo(&["--version"]).code, 0);
}

#[test]
fn what_an_agent_writes_cannot_steer_the_terminal() {
    let text = "{\"components\": [{\"id\": \"\\u001b[2J\", \"type\": \"\\u202ereply\\u009b\", \"payload\": {}}]}";
    for arguments in [
        &[
            "admit",
            "--catalog",
            "examples/first/catalog.yaml",
            "--state",
            "examples/first/state.yaml",
            "-",
        ][..],
        &["digest", "--catalog", "examples/first/catalog.yaml", "-"],
    ] {
        let ran = halo_with(text.as_bytes(), arguments);
        assert_eq!(ran.code, 0);
        let steers = |text: &str| {
            text.chars()
                .any(|char| (char.is_control() && char != '\n') || char == '\u{202e}')
        };
        assert!(!steers(&ran.out) && !steers(&ran.err), "{:?}", ran.out);
    }
}
