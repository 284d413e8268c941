//! One action against rules, as the reference interpreter's loop for LangChain decides it.
//!
//! Pure: a person's answer and a new plan of the agent are not waited for, they are part of the result.

use crate::syntax::{Act, Rule, Test};
use halo_canon::Value;
use std::{collections::BTreeMap, fmt};

/// Reflections after which `llm_self_reflect` skips the action instead.
pub const MAX_REFLECTIONS: u32 = 3;

/// What an agent wants to do.
#[derive(Debug, Clone, Copy)]
pub enum Action<'a> {
    /// Run a tool.
    Tool {
        /// Its name.
        name: &'a str,
        /// What it is given.
        input: Value<'a>,
    },
    /// End.
    Finish,
}

/// Where predicates are answered, for one action in one situation.
pub trait Predicates {
    /// Whether a predicate holds, or why that can't be said; nothing where there is no such predicate.
    fn holds(&self, name: &str) -> Option<Result<bool, String>>;
}

/// A host function: the user's request, the tool's input (nothing of a finish), the state of the decision.
pub type HostFunction<S> =
    dyn Fn(&str, Option<Value<'_>>, &S) -> Result<bool, String> + Send + Sync;

/// Host functions by name, over a state of the host's own.
pub struct Registry<S: ?Sized> {
    functions: BTreeMap<String, Box<HostFunction<S>>>,
}

impl<S: ?Sized> Default for Registry<S> {
    fn default() -> Self {
        Self {
            functions: BTreeMap::new(),
        }
    }
}

impl<S: ?Sized> fmt::Debug for Registry<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.functions.keys()).finish()
    }
}

impl<S: ?Sized> Registry<S> {
    /// Takes a predicate; one of that name is replaced.
    pub fn insert(
        &mut self,
        name: impl Into<String>,
        function: impl Fn(&str, Option<Value<'_>>, &S) -> Result<bool, String> + Send + Sync + 'static,
    ) {
        self.functions.insert(name.into(), Box::new(function));
    }
    /// The predicates for one action.
    pub fn bind<'r>(
        &'r self,
        user_input: &'r str,
        action: Action<'r>,
        state: &'r S,
    ) -> Bound<'r, S> {
        Bound {
            registry: self,
            user_input,
            action,
            state,
        }
    }
}

/// A [`Registry`] with what its functions are asked about.
pub struct Bound<'r, S: ?Sized> {
    registry: &'r Registry<S>,
    user_input: &'r str,
    action: Action<'r>,
    state: &'r S,
}

impl<S: ?Sized> Predicates for Bound<'_, S> {
    fn holds(&self, name: &str) -> Option<Result<bool, String>> {
        let function = self.registry.functions.get(name)?;
        let input = match self.action {
            Action::Tool { input, .. } => Some(input),
            Action::Finish => None,
        };
        Some(function(self.user_input, input, self.state))
    }
}

/// Why a rule that waits for an action could not be judged. Never a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// There is no such predicate.
    Missing {
        /// Its name.
        predicate: String,
    },
    /// A predicate gave no answer.
    Failed {
        /// Its name.
        predicate: String,
        /// Why.
        error: String,
    },
    /// `IDENT(number)` was to be evaluated.
    Measure {
        /// Its name.
        predicate: String,
    },
    /// `invoke_action` or a setting was to be enforced.
    Unsupported {
        /// Which of them.
        what: &'static str,
    },
    /// The action's input can't be formed.
    Input {
        /// Why.
        error: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { predicate } => write!(f, "there is no predicate `{predicate}`"),
            Self::Failed { predicate, error } => {
                write!(f, "the predicate `{predicate}` failed: {error}")
            }
            Self::Measure { predicate } => {
                write!(f, "`{predicate}(number)` can't be evaluated")
            }
            Self::Unsupported { what } => write!(f, "{what} can't be enforced"),
            Self::Input { error } => write!(f, "the input can't be formed: {error}"),
        }
    }
}

/// What the rules say of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// CONTINUE: it runs, once every inspection of the decision said yes.
    Continue,
    /// SKIP: it does not run.
    Skip,
    /// STOP: the agent ends.
    Stop,
    /// SELF_REFLECT: it does not run, the agent plans again.
    SelfReflect,
    /// It could not be judged, so it does not run.
    Fault(Fault),
}

/// A ruling, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What is to happen.
    pub ruling: Ruling,
    /// Position of the rule that decided; nothing where none did.
    pub rule: Option<usize>,
    /// Positions of the rules before it that ask a person. Where one says no, the action is skipped by that rule.
    pub inspections: Vec<usize>,
}

/// Whether a rule waits for this action: by the tool's name, by what its text starts with, or because it waits for any.
pub fn triggered(rule: &Rule, action: Action<'_>) -> bool {
    let event = rule.trigger.text.as_str();
    match (event, action) {
        ("any", _) => true,
        (event, Action::Finish) => event == "finish",
        (event, Action::Tool { name, input }) => {
            event == name || input.as_str().is_some_and(|text| announces(text, event))
        }
    }
}

/// Whether a text starts with the event's words. White space around it does not count, and is what Python takes for it.
fn announces(text: &str, event: &str) -> bool {
    let is_space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    text.trim_matches(is_space)
        .starts_with(&event.replace('_', " "))
}

/// The check of a rule: left to right, until one does not hold. Any chain of `!` is one negation.
///
/// Errors: what can't be judged before one does not hold.
pub fn holds(rule: &Rule, predicates: &dyn Predicates) -> Result<bool, Fault> {
    for predicate in &rule.check {
        let value = match &predicate.test {
            Test::Constant(value) => *value,
            Test::Named(name) => named(name, predicates)?,
            Test::Measure(name, _) => {
                return Err(Fault::Measure {
                    predicate: name.clone(),
                });
            }
        };
        if value == (predicate.negations > 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn named(name: &str, predicates: &dyn Predicates) -> Result<bool, Fault> {
    match predicates.holds(name) {
        None => Err(Fault::Missing {
            predicate: name.to_owned(),
        }),
        Some(Err(error)) => Err(Fault::Failed {
            predicate: name.to_owned(),
            error,
        }),
        Some(Ok(value)) => Ok(value),
    }
}

/// What a rule enforces: nothing unless its check holds, else the last of what it lists.
///
/// Errors: the check can't be judged, or one of the list can't be enforced, wherever it stands.
pub fn enforced<'r>(rule: &'r Rule, predicates: &dyn Predicates) -> Result<&'r Act, Fault> {
    if !holds(rule, predicates)? {
        return Ok(&Act::None);
    }
    let mut last = &Act::None;
    for enforcement in &rule.enforce {
        last = &enforcement.act;
        if matches!(last, Act::Invoke(_) | Act::Config(_)) {
            return Err(Fault::Unsupported { what: last.word() });
        }
    }
    Ok(last)
}

/// The rules in order, those that wait for the action: the first that does not let it go on decides. `reflections` says
/// how often the agent planned this anew before.
pub fn decide(
    rules: &[Rule],
    action: Action<'_>,
    reflections: u32,
    predicates: &dyn Predicates,
) -> Decision {
    let mut inspections = Vec::new();
    for (position, rule) in rules.iter().enumerate() {
        if !triggered(rule, action) {
            continue;
        }
        let ruling = match enforced(rule, predicates) {
            Ok(Act::None) => continue,
            Ok(Act::UserInspection) => {
                inspections.push(position);
                continue;
            }
            Ok(Act::Stop) => Ruling::Stop,
            Ok(Act::SelfReflect) if may_reflect(action, reflections) => Ruling::SelfReflect,
            Ok(Act::SelfReflect | Act::Skip) => Ruling::Skip,
            Ok(act @ (Act::Invoke(_) | Act::Config(_))) => {
                Ruling::Fault(Fault::Unsupported { what: act.word() })
            }
            Err(fault) => Ruling::Fault(fault),
        };
        return Decision {
            ruling,
            rule: Some(position),
            inspections,
        };
    }
    Decision {
        ruling: Ruling::Continue,
        rule: None,
        inspections,
    }
}

fn may_reflect(action: Action<'_>, reflections: u32) -> bool {
    reflections <= MAX_REFLECTIONS && matches!(action, Action::Tool { .. })
}
