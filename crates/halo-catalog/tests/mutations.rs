//! Whatever is done to a catalog's text, decoding answers: with a catalog, or with an error that has a place.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use halo_catalog::{Severity, decode};
use proptest::prelude::*;
use std::sync::LazyLock;

/// YAML catalogs, inline JSON ones, and the bad ones of `diagnostics.txt`.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut texts: Vec<String> = common::catalogs().into_iter().map(|(_, t)| t).collect();
    for line in common::lines("live.jsonl").iter().step_by(37) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        texts.push(value["scenario"]["catalog"].to_string());
    }
    let bad = include_str!("diagnostics.txt");
    texts.extend(bad.split("=== ").skip(1).map(str::to_owned));
    texts
});

/// One change of the text; positions are taken modulo what there is.
#[derive(Debug, Clone)]
enum Edit {
    DeleteLine(usize),
    DoubleLine(usize),
    SwapLines(usize, usize),
    DeleteBytes(usize, usize),
    Insert(usize, String),
    Truncate(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<usize>;
    prop_oneof![
        at().prop_map(Edit::DeleteLine),
        at().prop_map(Edit::DoubleLine),
        (at(), at()).prop_map(|(a, b)| Edit::SwapLines(a, b)),
        (at(), 1_usize..20).prop_map(|(a, n)| Edit::DeleteBytes(a, n)),
        (
            at(),
            "[-\\[\\]{}:,&*!|>'\"%@`#?~\n\t\r a0.é\u{feff}\u{0}]{1,4}"
        )
            .prop_map(|(a, s)| Edit::Insert(a, s)),
        at().prop_map(Edit::Truncate),
    ]
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn apply(text: &mut String, edit: &Edit) {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() {
        return;
    }
    let count = lines.len();
    match edit {
        Edit::DeleteLine(at) => {
            lines.remove(at % count);
            *text = lines.concat();
        }
        Edit::DoubleLine(at) => {
            lines.insert(at % count, lines[at % count]);
            *text = lines.concat();
        }
        Edit::SwapLines(a, b) => {
            lines.swap(a % count, b % count);
            *text = lines.concat();
        }
        Edit::DeleteBytes(at, n) => {
            let start = floor(text, at % text.len());
            let end = floor(text, (start + n).min(text.len()));
            text.replace_range(start..end.max(start), "");
        }
        Edit::Insert(at, what) => {
            let at = floor(text, at % text.len());
            text.insert_str(at, what);
        }
        Edit::Truncate(at) => {
            let at = floor(text, at % text.len());
            text.truncate(at);
        }
    }
}

/// `PROPTEST_CASES` for longer runs.
fn config() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(1500),
    }
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn no_text_makes_decoding_panic(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec(edit(), 0..6),
    ) {
        let mut text = which.get(&TEXTS).clone();
        for edit in &edits {
            apply(&mut text, edit);
        }
        let decoded = decode::catalog("catalog.yaml", &text);
        let errors = decoded.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        prop_assert_eq!(decoded.catalog.is_none(), errors.count() > 0);
        let places: Vec<_> = decoded.diagnostics.iter().map(|d| (d.line, d.column)).collect();
        prop_assert!(places.is_sorted());
        prop_assert!(places.iter().all(|(line, column)| *line > 0 && *column > 0));
    }
}
