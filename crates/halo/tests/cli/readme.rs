//! The README's commands work when pasted.

use crate::run::{Folder, text_of};
use std::{env, path::Path, process::Command};

/// The `sh` blocks of a section.
fn blocks(text: &str, heading: &str) -> Vec<String> {
    let section = text
        .split(&format!("\n## {heading}\n"))
        .nth(1)
        .expect("the section is there");
    let section = section.split("\n## ").next().unwrap();
    section
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
#[cfg(unix)]
fn a_first_catalog_can_be_pasted() {
    let blocks = blocks(&text_of("README.md"), "A first catalog of your own");
    let (setup, blocks) = blocks.split_first().expect("there are commands");
    // The binary under test stands in for the one that the first block builds.
    assert!(
        setup.starts_with("cargo build --release\nexport PATH="),
        "{setup}"
    );
    assert_eq!(blocks.len(), 3);
    let folder = Folder::new();
    let binary = Path::new(env!("CARGO_BIN_EXE_halo")).parent().unwrap();
    let path = env::join_paths(
        [binary.to_path_buf()]
            .into_iter()
            .chain(env::split_paths(&env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let says = [
        &["refunds", "state.orders[payload.order].value.paid"][..],
        &[
            "hello (reply) is retained",
            "back (refund) is withheld",
            "is 40",
        ],
        &["back (generation 2) left through shop", "✓ holds"],
    ];
    for (block, says) in blocks.iter().zip(says) {
        let output = Command::new("sh")
            .args(["-ec", block])
            .current_dir(&folder.0)
            .env("PATH", &path)
            .output()
            .unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{block}\n{out}{err}");
        for text in says {
            assert!(out.contains(text), "no {text:?} in:\n{out}");
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    for file in ["README.md", "examples/README.md", "examples/demo/README.md"] {
        let text = text_of(file);
        let folder = crate::run::root().join(file).parent().unwrap().to_owned();
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if !target.contains("://") {
                assert!(folder.join(target).exists(), "{file}: {target}");
            }
        }
    }
}
