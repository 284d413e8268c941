//! A policy: rules, and a CEL expression for each predicate that they name.

mod decode;
mod report;

pub use decode::{Decoded, RuleText, Surroundings, decode};
pub use report::{Inspected, PolicyReport, PredicateReport, RuleReport, RulesReport, inspect};

use crate::{
    Mode, interpret,
    syntax::{Rule, Test},
};
use halo_canon::{Digest, Value};
use halo_cel::{Program, RecordTable, SourceDecl};
use std::collections::BTreeMap;

/// What the one action of a response is called, in [`Scope::Response`].
pub const BUNDLE: &str = "bundle";

/// What is decided at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Each component by itself: it is an action, its type is the tool's name, its payload the tool's input.
    Component,
    /// The whole response: it is one action, called `bundle`, its input holds all components.
    Response,
}

/// Where a rule stands.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Origin {
    /// Its name.
    pub rule: String,
    /// The file, as the caller named it.
    pub file: String,
    /// Line from 1.
    pub line: u32,
}

/// A compiled policy: immutable, and bounded in what it costs to ask.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(crate) name: String,
    pub(crate) scope: Scope,
    pub(crate) mode: Mode,
    pub(crate) rules: Vec<Rule>,
    /// One for each rule.
    pub(crate) origins: Vec<Origin>,
    pub(crate) predicates: BTreeMap<String, Program>,
    /// All predicates' records.
    pub(crate) records: RecordTable,
    /// What the records' source numbers mean.
    pub(crate) sources: Vec<SourceDecl>,
    pub(crate) content: Digest,
}

impl Policy {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// What it decides at a time, unless it is asked otherwise.
    pub fn scope(&self) -> Scope {
        self.scope
    }
    /// Digest of the policy and the rules that it names: the same digest decides the same.
    pub fn content(&self) -> Digest {
        self.content
    }
    /// The rules, in the order in which they are asked.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
    /// Where the rule at a position stands.
    pub fn origin(&self, rule: usize) -> Option<&Origin> {
        self.origins.get(rule)
    }
    /// The predicates by name.
    pub fn predicates(&self) -> &BTreeMap<String, Program> {
        &self.predicates
    }
    /// The records that predicates read, by slot.
    pub fn records(&self) -> &RecordTable {
        &self.records
    }
    /// The sources that the records' numbers refer to: the catalog's, where it was given.
    pub fn sources(&self) -> &[SourceDecl] {
        &self.sources
    }
    /// What the rules that wait for such a component may read: slots, each once, and whether time alone may change the
    /// result. Nothing else can change a verdict about it.
    pub fn reads(&self, kind: &str, payload: Value<'_>) -> (Vec<u16>, bool) {
        let action = interpret::Action::Tool {
            name: kind,
            input: payload,
        };
        let (mut slots, mut clock) = (Vec::new(), false);
        let rules = self.rules.iter();
        let checks = rules
            .filter(|rule| interpret::triggered(rule, action))
            .flat_map(|rule| &rule.check);
        for predicate in checks {
            let Test::Named(name) = &predicate.test else {
                continue;
            };
            if let Some(program) = self.predicates.get(name) {
                slots.extend_from_slice(program.slots());
                clock |= program.reads_clock();
            }
        }
        slots.sort_unstable();
        slots.dedup();
        (slots, clock)
    }
}
