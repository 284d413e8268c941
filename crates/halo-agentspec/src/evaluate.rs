//! A response against a policy: a verdict for each component, of nothing but what is given.

use crate::{
    interpret::{Action, Decision, Fault, Predicates, Ruling, decide},
    policy::{BUNDLE, Origin, Policy, Scope},
};
use halo_canon::{Builder, Digest, Document, Instant, Value};
use halo_cel::{Index, Inputs, Record, Records};
use std::fmt;

/// A component, as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Component<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its type: the tool's name.
    pub kind: &'a str,
    /// Its digest, in text form.
    pub digest: &'a str,
    /// Its payload: the tool's input.
    pub payload: Value<'a>,
    /// How often the agent brought it anew because a rule made it reflect.
    pub reflections: u32,
}

/// What is looked at, and when.
#[derive(Debug, Clone, Copy)]
pub struct Response<'a> {
    /// Its id.
    pub id: &'a str,
    /// `now`
    pub now: Instant,
    /// In its order.
    pub components: &'a [Component<'a>],
}

/// The state, as one consistent snapshot.
pub trait StateView {
    /// The record of a source, by its position among [`Policy::sources`], with a key where it is keyed; nothing where it
    /// is absent or missing.
    fn record(&self, source: u16, key: Option<&str>) -> Option<Record<'_>>;
}

/// What becomes of a component, as far as the policy decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict<'p> {
    /// What.
    pub outcome: Outcome,
    /// The rule that decided: of an approval, the first one that asks for it. Nothing where no rule stopped it.
    pub rule: Option<&'p Origin>,
}

/// What becomes of a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No rule stops it.
    Allowed,
    /// `user_inspection`: a person must approve it, and no rule stops it.
    NeedsApproval,
    /// It may not leave.
    Withheld(Withheld),
}

/// Why a component may not leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withheld {
    /// `skip`
    Skipped,
    /// `stop`
    Stopped,
    /// `llm_self_reflect`: the agent is to plan again.
    Replan,
    /// It could not be judged.
    Fault(Fault),
}

impl Withheld {
    /// A word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Skipped => "skip",
            Self::Stopped => "stop",
            Self::Replan => "replan",
            Self::Fault(Fault::Missing { .. }) => "predicate_missing",
            Self::Fault(Fault::Failed { .. } | Fault::Measure { .. }) => "predicate_error",
            Self::Fault(Fault::Unsupported { .. }) => "not_enforceable",
            Self::Fault(Fault::Input { .. }) => "bad_input",
        }
    }
}

impl fmt::Display for Verdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Allowed => f.write_str("allowed")?,
            Outcome::NeedsApproval => f.write_str("needs approval")?,
            Outcome::Withheld(why) => write!(f, "withheld: {}", why.code())?,
        }
        if let Some(Origin { rule, file, line }) = self.rule {
            write!(f, " by {rule} ({file}:{line})")?;
        }
        match &self.outcome {
            Outcome::Withheld(Withheld::Fault(fault)) => write!(f, ": {fault}"),
            _ => Ok(()),
        }
    }
}

impl Policy {
    /// One verdict for each component, in the policy's own scope.
    pub fn verdicts(&self, response: Response<'_>, state: &dyn StateView) -> Vec<Verdict<'_>> {
        match self.scope() {
            Scope::Component => response
                .components
                .iter()
                .map(|component| self.of_component(response.id, *component, response.now, state))
                .collect(),
            Scope::Response => {
                let verdict = self.of_response(response, state);
                vec![verdict; response.components.len()]
            }
        }
    }

    /// The verdict about one component by itself (agentspec-scoped).
    pub fn of_component(
        &self,
        response: &str,
        component: Component<'_>,
        now: Instant,
        state: &dyn StateView,
    ) -> Verdict<'_> {
        let asked = Asked {
            policy: self,
            response,
            component,
            now,
            state,
        };
        let action = Action::Tool {
            name: component.kind,
            input: component.payload,
        };
        self.verdict(decide(self.rules(), action, component.reflections, &asked))
    }

    /// The verdict about a whole response (agentspec-global): one action called `bundle`, whose input is
    /// `{"response", "components": [{"id", "type", "digest", "payload"}]}`.
    pub fn of_response(&self, response: Response<'_>, state: &dyn StateView) -> Verdict<'_> {
        let bundle = match bundle(&response) {
            Ok(bundle) => bundle,
            Err(error) => {
                return Verdict {
                    outcome: Outcome::Withheld(Withheld::Fault(Fault::Input { error })),
                    rule: None,
                };
            }
        };
        let digest = Digest::of(bundle.root().to_canonical().as_bytes()).to_string();
        let reflections = response.components.iter().map(|c| c.reflections);
        let component = Component {
            id: response.id,
            kind: BUNDLE,
            digest: &digest,
            payload: bundle.root(),
            reflections: reflections.max().unwrap_or(0),
        };
        self.of_component(response.id, component, response.now, state)
    }

    fn verdict(&self, decision: Decision) -> Verdict<'_> {
        let inspection = decision.inspections.first().copied();
        let (outcome, rule) = match decision.ruling {
            Ruling::Continue if inspection.is_some() => (Outcome::NeedsApproval, inspection),
            Ruling::Continue => (Outcome::Allowed, None),
            Ruling::Skip => (Outcome::Withheld(Withheld::Skipped), decision.rule),
            Ruling::Stop => (Outcome::Withheld(Withheld::Stopped), decision.rule),
            Ruling::SelfReflect => (Outcome::Withheld(Withheld::Replan), decision.rule),
            Ruling::Fault(fault) => (Outcome::Withheld(Withheld::Fault(fault)), decision.rule),
        };
        Verdict {
            outcome,
            rule: rule.and_then(|rule| self.origin(rule)),
        }
    }
}

fn bundle(response: &Response<'_>) -> Result<Document, String> {
    let mut builder = Builder::new();
    builder.begin_object();
    builder.key("response");
    builder.string(response.id);
    builder.key("components");
    builder.begin_array();
    for component in response.components {
        builder.begin_object();
        for (key, text) in [
            ("id", component.id),
            ("type", component.kind),
            ("digest", component.digest),
        ] {
            builder.key(key);
            builder.string(text);
        }
        builder.key("payload");
        builder.value(component.payload);
        builder.end_object().map_err(|fault| fault.to_string())?;
    }
    builder.end_array();
    builder.end_object().map_err(|fault| fault.to_string())?;
    builder.finish().map_err(|fault| fault.to_string())
}

/// A policy's predicates, about one component in one state.
struct Asked<'a> {
    policy: &'a Policy,
    response: &'a str,
    component: Component<'a>,
    now: Instant,
    state: &'a dyn StateView,
}

impl Predicates for Asked<'_> {
    fn holds(&self, name: &str) -> Option<Result<bool, String>> {
        let program = self.policy.predicates.get(name)?;
        let inputs = Inputs {
            payload: self.component.payload,
            component: halo_cel::Component {
                id: self.component.id,
                kind: self.component.kind,
                digest: self.component.digest,
                response: self.response,
            },
            claims: None,
            now: self.now,
            records: self,
        };
        Some(program.eval_bool(&inputs).map_err(|error| error.0))
    }
}

impl<'a> Records<'a> for Asked<'a> {
    fn record(&self, slot: u16) -> Option<Record<'a>> {
        let record = self.policy.records.records().get(usize::from(slot))?;
        let key = match &record.index {
            None => None,
            Some(index) => Some(self.key(index)?),
        };
        self.state.record(record.source, key)
    }
}

impl<'a> Asked<'a> {
    /// The key that an index gives; what is missing or no text is no key.
    fn key(&self, index: &'a Index) -> Option<&'a str> {
        match index {
            Index::Payload(fields) => {
                let mut value = self.component.payload;
                for field in fields {
                    value = value.get(field)?;
                }
                value.as_str()
            }
            Index::ComponentId => Some(self.component.id),
            Index::ComponentResponse => Some(self.response),
            Index::ComponentDigest => Some(self.component.digest),
            Index::Literal(text) => Some(text),
            Index::Number(_) => None,
        }
    }
}
