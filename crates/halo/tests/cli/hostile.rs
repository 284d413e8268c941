//! Whatever is put in, an exit code comes out, and no panic. `run` asserts both.

use crate::run::{Folder, Ran, halo_with};

/// Runs every command with this as its untrusted input, and as everything else it reads.
fn everywhere(input: &[u8]) -> Vec<Ran> {
    let catalog = "examples/first/catalog.yaml";
    let state = "examples/first/state.yaml";
    let response = "examples/first/response.json";
    let all: [&[&str]; 8] = [
        &["check", "-"],
        &["check", "--json", "-"],
        &["replay", "-"],
        &["replay", "--json", "-"],
        &["digest", "--catalog", catalog, "-"],
        &["admit", "--catalog", catalog, "--state", state, "-"],
        &["admit", "--catalog", catalog, "--state", "-", response],
        &["admit", "--catalog", "-", "--state", state, response],
    ];
    all.iter()
        .map(|arguments| halo_with(input, arguments))
        .collect()
}

/// A small generator, so that a failure can be had again.
fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn random_bytes() {
    for seed in 1..6 {
        for ran in everywhere(&random(seed, 300)) {
            assert_ne!(ran.code, 0);
        }
    }
}

#[test]
fn random_characters_of_the_formats() {
    let alphabet: Vec<char> = "{}[]:,-'\"\n  abhalov1&*!|>#%\\\u{e9}\u{feff}0.e9"
        .chars()
        .collect();
    for seed in 1..12 {
        let text: String = random(seed, 400)
            .into_iter()
            .map(|byte| alphabet[usize::from(byte) % alphabet.len()])
            .collect();
        everywhere(text.as_bytes());
    }
}

#[test]
fn deep_nesting() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [100, 100_000] {
            let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            everywhere(text.as_bytes());
        }
    }
    let text = format!(
        "halo: v1\ntypes:\n{}",
        (1..3000)
            .map(|depth| format!("{}a:\n", " ".repeat(depth)))
            .collect::<String>()
    );
    everywhere(text.as_bytes());
}

#[test]
fn ten_megabytes() {
    let text = format!("{{\"components\": [\"{}\"]}}", "x".repeat(10 << 20));
    let arguments = [
        "digest",
        "--catalog",
        "examples/first/catalog.yaml",
        "-",
        "--json",
    ];
    let ran = halo_with(text.as_bytes(), &arguments);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.json()["refused"][0]["code"], "too_large");
    for arguments in [&["check", "-"][..], &["replay", "-"]] {
        let ran = halo_with(&vec![b'x'; 10 << 20], arguments);
        assert_ne!(ran.code, 0);
        assert!(ran.err.len() < 10_000, "{} bytes of words", ran.err.len());
    }
}

#[test]
fn ten_thousand_faults_are_not_all_printed() {
    let faults: String = (0..10_000)
        .map(|number| format!("nope{number}: 1\n"))
        .collect();
    let folder = Folder::new();
    let file = folder.file("faults.yaml", faults);
    let ran = crate::run::halo(&["check", &file]);
    assert_eq!(ran.code, 1);
    ran.complains(&["findings more"]);
    assert!(ran.err.lines().count() < 400);
}

#[test]
fn not_utf8_says_where() {
    let ran = halo_with(b"halo: v1\n\xff\n", &["check", "-"]);
    assert_eq!(ran.code, 2);
    ran.complains(&["is not UTF-8: line 2"]);
    let ran = halo_with(
        b"{\"components\": [\xff]}",
        &[
            "digest",
            "--catalog",
            "examples/first/catalog.yaml",
            "-",
            "--json",
        ],
    );
    assert_eq!(ran.code, 1);
    assert_eq!(ran.json()["refused"][0]["code"], "bad_json");
}
