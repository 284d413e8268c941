//! What `halo check` says about a valid policy.

use super::{Origin, Policy, Scope};
use halo_canon::Digest;
use serde::Serialize;
use std::fmt;

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
                .map(|(rule, origin)| RuleReport {
                    origin: origin.clone(),
                    trigger: rule.trigger.text.clone(),
                    check: rule.check.iter().map(ToString::to_string).collect(),
                    enforce: rule
                        .enforce
                        .last()
                        .map_or_else(String::new, ToString::to_string),
                })
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
            let RuleReport {
                origin:
                    Origin {
                        rule: name,
                        file,
                        line,
                    },
                trigger,
                enforce,
                ..
            } = rule;
            let check = rule.check.join(" and ");
            writeln!(
                f,
                "  {name}  {trigger}: {enforce} if {check}  ({file}:{line})"
            )?;
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
