//! What `halo check` says about a valid policy.

use super::{Origin, Policy, Scope};
use crate::{
    Mode,
    fault::Faults,
    lint::Lint,
    parse::parse,
    place::Held,
    syntax::{Predicate, Rule, Test},
};
use halo_canon::Digest;
use halo_catalog::{Diagnostic, cursor::Findings};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// A policy, rule by rule.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyReport {
    /// Its name.
    pub policy: String,
    /// `component` or `response`.
    pub scope: &'static str,
    /// `strict` or `extended`.
    pub mode: &'static str,
    /// Digest of the file and the rules that it names.
    pub content: Digest,
    /// In the order in which they are asked.
    pub rules: Vec<RuleReport>,
    /// By name.
    pub predicates: Vec<PredicateReport>,
}

/// A rule.
#[derive(Debug, Clone, Serialize)]
pub struct RuleReport {
    /// Its name and where it stands.
    #[serde(flatten)]
    pub origin: Origin,
    /// What it waits for.
    pub trigger: String,
    /// What must hold.
    pub check: Vec<String>,
    /// What it does then: the last of what it lists.
    pub enforce: String,
}

/// A predicate.
#[derive(Debug, Clone, Serialize)]
pub struct PredicateReport {
    /// Its name.
    pub predicate: String,
    /// Its expression.
    pub cel: String,
    /// Every state path that it reads, each once.
    pub reads: Vec<String>,
}

/// A file of rules, without a policy.
#[derive(Debug, Clone, Serialize)]
pub struct RulesReport {
    /// Whether strict mode reads it too.
    pub strict: bool,
    /// In the order in which they are asked.
    pub rules: Vec<RuleReport>,
    /// The predicates that a policy must give.
    pub predicates: Vec<String>,
}

/// What there is to say about a file of rules.
#[derive(Debug)]
pub struct Inspected {
    /// The report if there was no error.
    pub report: Option<RulesReport>,
    /// Errors and warnings, in order of their place.
    pub diagnostics: Vec<Diagnostic>,
}

/// Looks at a file of rules by itself: what it says, and which predicates a policy must give for it.
pub fn inspect(file: &str, text: &str) -> Inspected {
    let mut faults = Faults::default();
    let rules = parse(text, Mode::Extended, &mut faults);
    let named = |predicate: &Predicate| match &predicate.test {
        Test::Named(name) => Some(name.clone()),
        Test::Constant(_) | Test::Measure(..) => None,
    };
    let checks = rules.iter().flat_map(|rule| &rule.check);
    let predicates: BTreeSet<String> = checks.filter_map(named).collect();
    let mut lint = Lint {
        scope: Scope::Component,
        predicates: &predicates,
        types: None,
        seen: BTreeMap::new(),
        used: BTreeSet::new(),
    };
    lint.rules(&rules, &mut faults);
    let held = Held::file(text);
    let mut findings = Findings::new(file, text);
    held.report(&mut findings, &faults);
    let report = (!faults.has_errors()).then(|| RulesReport {
        strict: crate::read(file, text, Mode::Strict).is_ok(),
        rules: rules
            .iter()
            .map(|rule| RuleReport::of(rule, held.origin(file, rule)))
            .collect(),
        predicates: predicates.into_iter().collect(),
    });
    Inspected {
        report,
        diagnostics: findings.sorted(),
    }
}

impl RuleReport {
    fn of(rule: &Rule, origin: Origin) -> Self {
        let enforce = rule.enforce.last();
        Self {
            origin,
            trigger: rule.trigger.text.clone(),
            check: rule.check.iter().map(ToString::to_string).collect(),
            enforce: enforce.map_or_else(String::new, ToString::to_string),
        }
    }
}

impl Policy {
    /// What it says, for people.
    pub fn report(&self) -> PolicyReport {
        let rules = self.rules.iter().zip(&self.origins);
        PolicyReport {
            policy: self.name.clone(),
            scope: self.scope.word(),
            mode: self.mode.word(),
            content: self.content,
            rules: rules
                .map(|(rule, origin)| RuleReport::of(rule, origin.clone()))
                .collect(),
            predicates: self
                .predicates
                .iter()
                .map(|(name, program)| PredicateReport {
                    predicate: name.clone(),
                    cel: program.source().to_owned(),
                    reads: program
                        .reads()
                        .iter()
                        .map(|read| read.describe(&self.sources, &self.records))
                        .collect(),
                })
                .collect(),
        }
    }
}

impl fmt::Display for PolicyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decides = match self.scope == Scope::Component.word() {
            true => "decides each component by itself",
            false => "decides each response as a whole",
        };
        writeln!(
            f,
            "AgentSpec policy {}, {} rules, {decides}",
            self.policy, self.mode
        )?;
        writeln!(f, "content {}", self.content)?;
        writeln!(
            f,
            "\nrules, in this order; what none of them stops is allowed"
        )?;
        for rule in &self.rules {
            writeln!(f, "  {rule}")?;
        }
        if !self.predicates.is_empty() {
            writeln!(f, "\npredicates")?;
        }
        for predicate in &self.predicates {
            writeln!(f, "  {}  {}", predicate.predicate, predicate.cel)?;
            if !predicate.reads.is_empty() {
                writeln!(f, "    reads {}", predicate.reads.join(", "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for RuleReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { rule, file, line } = &self.origin;
        let check = self.check.join(" and ");
        let (trigger, enforce) = (&self.trigger, &self.enforce);
        write!(
            f,
            "{rule}  {trigger}: {enforce} if {check}  ({file}:{line})"
        )
    }
}

impl fmt::Display for RulesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.strict {
            true => "strict and extended mode read them",
            false => "only extended mode reads them",
        };
        writeln!(f, "AgentSpec rules, without a policy; {mode}")?;
        for rule in &self.rules {
            writeln!(f, "  {rule}")?;
        }
        match self.predicates.is_empty() {
            true => Ok(()),
            false => writeln!(f, "a policy must give {}", self.predicates.join(", ")),
        }
    }
}
