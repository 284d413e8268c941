//! What a rule says that can't work, or hardly means what it seems to.

use crate::{
    fault::{Fault, Faults},
    names::NEVER_RAISED,
    policy::{BUNDLE, Scope},
    syntax::{Act, Rule, Span, Test},
};
use halo_catalog::suggest;
use std::collections::{BTreeMap, BTreeSet};

/// What rules are looked at with.
pub(crate) struct Lint<'a> {
    pub(crate) scope: Scope,
    /// The predicates that the policy gives; one that does not compile is known all the same.
    pub(crate) predicates: &'a BTreeSet<String>,
    /// The catalog's types, where it is known.
    pub(crate) types: Option<&'a [&'a str]>,
    /// How often each rule's name stands in the policy so far.
    pub(crate) seen: BTreeMap<String, u32>,
    /// The predicates that rules ask for.
    pub(crate) used: BTreeSet<String>,
}

impl Lint<'_> {
    /// Looks at the rules of one text.
    pub(crate) fn rules(&mut self, rules: &[Rule], faults: &mut Faults) {
        if rules.is_empty() && !faults.has_errors() {
            // A file that was cut off or is the wrong one must not go for rules that stop nothing.
            let hint = "a rule is `rule @name trigger … check … enforce … end`";
            faults.push(Fault::error(Span::default(), "there is no rule here", hint));
        }
        for rule in rules {
            self.rule(rule, faults);
        }
    }

    fn rule(&mut self, rule: &Rule, faults: &mut Faults) {
        let seen = self.seen.entry(rule.id.text.clone()).or_default();
        *seen += 1;
        if *seen == 2 {
            faults.push(Fault::warning(
                rule.id.span,
                format!("a second rule is called `{}`", rule.id.text),
                "both count; verdicts name the rule that decided, so give it a name of its own",
            ));
        }
        self.trigger(rule, faults);
        self.check(rule, faults);
        enforce(rule, faults);
    }

    fn trigger(&self, rule: &Rule, faults: &mut Faults) {
        let event = rule.trigger.text.as_str();
        let warning =
            |message: String, hint: String| Fault::warning(rule.trigger.span, message, hint);
        match (self.scope, self.types) {
            _ if event == "any" => {}
            (Scope::Response, _) if event == BUNDLE => {}
            (Scope::Response, _) => faults.push(warning(
                format!("nothing is called `{event}` here: the rule never applies"),
                "`scope: response` asks once, about an action called `bundle`".to_owned(),
            )),
            (Scope::Component, Some(types)) if !types.contains(&event) => {
                let known = types.iter().copied();
                let hint = suggest::hint(event, known, "the catalog's types")
                    .unwrap_or_else(|| "the catalog has no types".to_owned());
                let message =
                    format!("the catalog has no type `{event}`: the rule hardly ever applies");
                faults.push(warning(message, hint));
            }
            (Scope::Component, None) if event == "finish" || NEVER_RAISED.contains(&event) => {
                faults.push(warning(
                    format!(
                        "`{event}` is no event here: the rule applies to a type of that name only"
                    ),
                    "name the component's type, as the tool's name is named elsewhere".to_owned(),
                ));
            }
            (Scope::Component, _) => {}
        }
    }

    fn check(&mut self, rule: &Rule, faults: &mut Faults) {
        for predicate in &rule.check {
            if predicate.negations > 1 {
                let count = predicate.negations;
                faults.push(Fault::warning(
                    predicate.span,
                    format!("{count} `!` are one negation"),
                    "as in the reference: `!!x` is `!x`; write one, or none",
                ));
            }
            match &predicate.test {
                Test::Constant(_) => {}
                Test::Measure(name, _) => faults.push(Fault::error(
                    predicate.span,
                    format!("`{name}(number)` can't be evaluated"),
                    "the reference has no meaning for it either; compare in the CEL of a predicate",
                )),
                Test::Named(name) => {
                    self.used.insert(name.clone());
                    if !self.predicates.contains(name) {
                        let known = self.predicates.iter().map(String::as_str);
                        let hint = suggest::hint(name, known, "the policy's predicates");
                        faults.push(Fault::error(
                            predicate.span,
                            format!("the policy has no predicate `{name}`"),
                            hint.unwrap_or_else(|| format!("add `{name}: <CEL>` to `predicates`")),
                        ));
                    }
                }
            }
        }
    }
}

fn enforce(rule: &Rule, faults: &mut Faults) {
    if let [first, .., last] = rule.enforce.as_slice() {
        let last = last.act.word();
        faults.push(Fault::warning(
            first.span,
            format!("of several enforcements the last one counts: `{last}`"),
            "as in the reference; write that one only",
        ));
    }
    for enforcement in &rule.enforce {
        if matches!(enforcement.act, Act::Invoke(_) | Act::Config(_)) {
            faults.push(Fault::error(
                enforcement.span,
                format!("{} can't be enforced", enforcement.act.word()),
                "the reference's interpreter does not run it either; `stop`, and a route in the catalog that brings something better",
            ));
        }
    }
}
