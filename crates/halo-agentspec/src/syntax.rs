//! What a rule says: the tree that the reader makes, and its text.

use std::fmt;

/// A place in the text that was read, in bytes. Where something stands is no part of what it says: all places are equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A name with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What follows `@`.
    pub id: Name,
    /// What it waits for: a tool's name, `finish`, or, in extended mode, `any`.
    pub trigger: Name,
    /// All must hold; at least one.
    pub check: Vec<Predicate>,
    /// The last one counts; at least one.
    pub enforce: Vec<Enforcement>,
}

/// One condition of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    /// How many `!` stand before it.
    pub negations: u32,
    /// What is asked.
    pub test: Test,
    /// Where the whole of it stands.
    pub span: Span,
}

/// What a predicate asks.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// `true`, `false`
    Constant(bool),
    /// A host function.
    Named(String),
    /// `IDENT(number)`: it can be written, and the reference raises an error when it gets there.
    Measure(String, Number),
}

/// A number as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Number(pub String);

/// What a rule does when its check holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Enforcement {
    /// What.
    pub act: Act,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of enforcement.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// `none`: go on.
    None,
    /// `skip`: the action is not run.
    Skip,
    /// `stop`: the agent ends.
    Stop,
    /// `user_inspection`: a person decides.
    UserInspection,
    /// `llm_self_reflect`: the agent plans again.
    SelfReflect,
    /// `invoke_action(…)`: it can be written, and the reference has nothing that runs it.
    Invoke(Invoke),
    /// `a:b:c = 1`: settings of the driving domain, which the reference does not run either.
    Config(Config),
}

/// `invoke_action(tool, {"a": value, …})`
#[derive(Debug, Clone, PartialEq)]
pub struct Invoke {
    /// The tool.
    pub tool: String,
    /// Its arguments; at least one.
    pub arguments: Vec<(String, Value)>,
}

/// `path:path = number`
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// What stands before colons, at least one, and after the last of them.
    pub path: Vec<String>,
    /// What follows `=`.
    pub number: Number,
}

/// A value with the keys that are taken out of it: `x["a"]["b"]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// What the keys are applied to.
    pub base: Base,
    /// The keys, outermost first.
    pub keys: Vec<String>,
}

/// A value without keys.
#[derive(Debug, Clone, PartialEq)]
pub enum Base {
    /// Text in quotes, without them.
    Text(String),
    /// A number.
    Number(Number),
    /// A name.
    Name(String),
    /// What another tool gives.
    Invoke(Invoke),
}

/// As the reader reads it back.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rule @{}", self.id.text)?;
        writeln!(f, "trigger {}", self.trigger.text)?;
        write!(f, "check")?;
        for predicate in &self.check {
            write!(f, "\n    {predicate}")?;
        }
        write!(f, "\nenforce")?;
        for enforcement in &self.enforce {
            write!(f, "\n    {enforcement}")?;
        }
        write!(f, "\nend")
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for _ in 0..self.negations {
            f.write_str("!")?;
        }
        match &self.test {
            Test::Constant(value) => write!(f, "{value}"),
            Test::Named(name) => f.write_str(name),
            Test::Measure(name, number) => write!(f, "{name}({})", number.0),
        }
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.act {
            Act::Invoke(invoke) => write!(f, "{invoke}"),
            Act::Config(config) => write!(f, "{} = {}", config.path.join(": "), config.number.0),
            act => f.write_str(act.word()),
        }
    }
}

impl Act {
    /// The word that stands for it, or that it starts with.
    pub fn word(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Skip => "skip",
            Self::Stop => "stop",
            Self::UserInspection => "user_inspection",
            Self::SelfReflect => "llm_self_reflect",
            Self::Invoke(_) => "invoke_action",
            Self::Config(_) => "a setting",
        }
    }
}

impl fmt::Display for Invoke {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invoke_action({}, {{", self.tool)?;
        for (position, (name, value)) in self.arguments.iter().enumerate() {
            let comma = if position > 0 { ", " } else { "" };
            write!(f, "{comma}\"{name}\": {value}")?;
        }
        f.write_str("})")
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.base {
            Base::Text(text) => write!(f, "\"{text}\"")?,
            Base::Number(number) => f.write_str(&number.0)?,
            Base::Name(name) => f.write_str(name)?,
            Base::Invoke(invoke) => write!(f, "{invoke}")?,
        }
        self.keys
            .iter()
            .try_for_each(|key| write!(f, "[\"{key}\"]"))
    }
}
