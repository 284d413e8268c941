//! AgentSpec: its rule language read, its rules run as the reference interpreter runs them, and HALO's use of both.
//!
//! A clean-room implementation after a description of the language and of what the interpreter was seen to do. Text in,
//! decisions out: no I/O, clock or randomness. What is reproduced and what is deliberately different stands in
//! `docs/AGENTSPEC.md`, item by item, with a test for each in `tests/quirks.rs`.

pub mod evaluate;
mod fault;
pub mod interpret;
mod lex;
mod lint;
mod names;
mod parse;
mod place;
pub mod policy;
pub mod syntax;

pub use evaluate::{Component, Outcome, Response, StateView, Verdict, Withheld};
pub use lex::Mode;
pub use names::STRICT_PREDICATES;
pub use parse::{MAX_NESTING, MAX_RULES, MAX_TEXT_BYTES};
pub use policy::{Decoded, Origin, Policy, RuleText, Scope, Surroundings};

use halo_catalog::{Diagnostic, cursor::Findings};
use syntax::Rule;

/// Reads a text of rules; each rule is one of its own. `file` is named in findings. Errors: every finding.
pub fn read(file: &str, text: &str, mode: Mode) -> Result<Vec<Rule>, Vec<Diagnostic>> {
    let mut faults = fault::Faults::default();
    let rules = parse::parse(text, mode, &mut faults);
    if !faults.has_errors() {
        return Ok(rules);
    }
    let mut findings = Findings::new(file, text);
    place::Held::file(text).report(&mut findings, &faults);
    Err(findings.sorted())
}
