//! From tokens to rules, with every fault: after one, reading goes on at the next word that starts a part of a rule.

use crate::{
    fault::{Fault, Faults},
    lex::{Kind, Mode, Token, lex},
    names::{ENFORCEMENTS, STRICT_PREDICATES},
    syntax::{
        Act, Base, Config, Enforcement, Invoke, Name, Number, Predicate, Rule, Span, Test, Value,
    },
};
use halo_catalog::suggest;

/// Longest text of rules, in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Most rules of one text.
pub const MAX_RULES: usize = 4096;
/// Deepest nesting of `invoke_action`, and longest chain of `!`.
pub const MAX_NESTING: usize = 64;

/// Reads a text. Faults of the language go to `faults`; where there is one, the rules are not all that was meant.
pub(crate) fn parse(text: &str, mode: Mode, faults: &mut Faults) -> Vec<Rule> {
    if text.len() > MAX_TEXT_BYTES {
        faults.push(Fault::error(
            Span::default(),
            "the text is longer than 1 MiB",
            "a policy may name several files",
        ));
        return Vec::new();
    }
    let tokens = lex(text, mode, faults);
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        mode,
        faults,
        blamed: None,
    };
    parser.program()
}

struct Parser<'t, 'f> {
    /// The last one is the end of the text.
    tokens: &'t [Token<'t>],
    at: usize,
    mode: Mode,
    faults: &'f mut Faults,
    /// The token that the last finding is about: one fault is said once.
    blamed: Option<usize>,
}

impl<'t> Parser<'t, '_> {
    fn program(&mut self) -> Vec<Rule> {
        let mut rules = Vec::new();
        while !self.is(Kind::End) && !self.faults.full() {
            if !self.word("rule") {
                self.expected(
                    "`rule`",
                    "a rule is `rule @name trigger … check … enforce … end`",
                );
                self.skip_to(&["rule"]);
                continue;
            }
            if rules.len() == MAX_RULES {
                self.expected("no further rule", "a text holds at most 4096 rules");
                break;
            }
            rules.extend(self.rule());
        }
        rules
    }

    /// What follows `rule`. A part that has a fault gives nothing, and the next one is read all the same.
    fn rule(&mut self) -> Option<Rule> {
        let id = self.id();
        let trigger = self.part("trigger", Self::trigger);
        let check = self.part("check", Self::check);
        let enforce = self.part("enforce", Self::enforce);
        self.part("end", |_| Some(()))?;
        Some(Rule {
            id: id?,
            trigger: trigger?,
            check: check?,
            enforce: enforce?,
        })
    }

    /// One part of a rule: the word that starts it, and what follows.
    fn part<T>(
        &mut self,
        word: &'static str,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if !self.word(word) {
            self.expected(
                &format!("`{word}`"),
                "the parts of a rule are `rule`, `trigger`, `check`, `enforce`, `end`, in this order",
            );
            self.skip_to(&["rule", "trigger", "check", "enforce", "end"]);
            if !self.word(word) {
                return None;
            }
        }
        read(self)
    }

    fn id(&mut self) -> Option<Name> {
        self.mark(b'@', "a rule's name is written `@name`")?;
        let hint = "letters, digits and `_`, and no word of the language";
        let id = self.name(Kind::Ident, "the rule's name", hint);
        let next = self.tokens.get(self.at + 1);
        if id.is_none() && next.is_some_and(|next| next.text == "trigger") {
            // It stands where the name should: the rule goes on after it.
            self.at += 1;
        }
        id
    }

    fn trigger(&mut self) -> Option<Name> {
        let token = self.token();
        let any = token.kind == Kind::Keyword && token.text == "any";
        if any && self.mode == Mode::Extended {
            self.at += 1;
            return Some(name(token));
        }
        match self.mode {
            Mode::Extended => self.name(
                Kind::Tool,
                "the name of a tool",
                "the name of a tool or of a component's type, or `any`",
            ),
            Mode::Strict if any => {
                let hint = "the reference's grammar has no `any` here; `mode: extended` has";
                self.name(Kind::Ident, "the name of a tool", hint)
            }
            Mode::Strict => self.name(
                Kind::Ident,
                "the name of a tool",
                "letters, digits and `_`, and no word of the language",
            ),
        }
    }

    fn check(&mut self) -> Option<Vec<Predicate>> {
        let mut list = Vec::new();
        let mut whole = true;
        loop {
            let token = self.token();
            let starts = match token.kind {
                Kind::Mark(b'!') | Kind::Predicate | Kind::Ident => true,
                Kind::Keyword => matches!(token.text, "true" | "false"),
                _ => false,
            };
            if !starts {
                break;
            }
            match self.predicate() {
                Some(predicate) => list.push(predicate),
                None => whole = false,
            }
        }
        if list.is_empty() && whole {
            self.expected(
                "a predicate",
                "a rule without a condition says `check true`",
            );
            return None;
        }
        whole.then_some(list)
    }

    fn predicate(&mut self) -> Option<Predicate> {
        let start = self.token().span.start;
        let mut negations = 0_u32;
        while self.is(Kind::Mark(b'!')) {
            self.at += 1;
            negations += 1;
        }
        let token = self.token();
        if negations as usize > MAX_NESTING {
            let span = Span {
                start,
                end: token.span.start,
            };
            let hint = "one `!` says the same: the reference counts a chain of them once";
            self.faults
                .push(Fault::error(span, "more than 64 `!` in a chain", hint));
        }
        let test = match token.kind {
            Kind::Keyword if token.text == "true" => self.take(Test::Constant(true)),
            Kind::Keyword if token.text == "false" => self.take(Test::Constant(false)),
            Kind::Predicate => self.take(Test::Named(token.text.to_owned())),
            Kind::Ident => self.named()?,
            _ => {
                self.expected("a predicate after `!`", "`true`, `false` or a name");
                return None;
            }
        };
        let end = self.end_of_last();
        let span = Span { start, end };
        (negations as usize <= MAX_NESTING).then_some(Predicate {
            negations,
            test,
            span,
        })
    }

    /// A predicate that starts with a word outside the closed list.
    fn named(&mut self) -> Option<Test> {
        let token = self.token();
        self.at += 1;
        if self.is(Kind::Mark(b'(')) {
            self.at += 1;
            let number = self.number("a number in the parentheses")?;
            self.mark(b')', "the parentheses hold one number")?;
            return Some(Test::Measure(token.text.to_owned(), number));
        }
        let hint = match (token.text, self.mode) {
            ("True" | "TRUE", _) => "write `true`".to_owned(),
            ("False" | "FALSE", _) => "write `false`".to_owned(),
            (_, Mode::Extended) => return Some(Test::Named(token.text.to_owned())),
            (text, Mode::Strict) => {
                let open = "strict mode has the reference's 36 names; `mode: extended` takes any";
                match suggest::nearest(text, STRICT_PREDICATES.into_iter()) {
                    Some(near) => format!("did you mean `{near}`? {open}"),
                    None => open.to_owned(),
                }
            }
        };
        let message = format!("unknown predicate `{}`", clip(token.text));
        self.faults.push(Fault::error(token.span, message, hint));
        None
    }

    fn enforce(&mut self) -> Option<Vec<Enforcement>> {
        let mut list = Vec::new();
        let mut whole = true;
        while matches!(
            self.token().kind,
            Kind::Enforcement | Kind::Invoke | Kind::Ident
        ) {
            match self.enforcement() {
                Some(enforcement) => list.push(enforcement),
                None => whole = false,
            }
        }
        if list.is_empty() && whole {
            self.expected("what to enforce", ENFORCE_HINT);
            return None;
        }
        whole.then_some(list)
    }

    fn enforcement(&mut self) -> Option<Enforcement> {
        let token = self.token();
        let act = match (token.kind, token.text) {
            (Kind::Invoke, _) => Act::Invoke(self.invoke(1)?),
            (Kind::Ident, _) => Act::Config(self.config()?),
            (_, "none") => self.take(Act::None),
            (_, "skip") => self.take(Act::Skip),
            (_, "stop") => self.take(Act::Stop),
            (_, "user_inspection") => self.take(Act::UserInspection),
            _ => self.take(Act::SelfReflect),
        };
        let span = Span {
            start: token.span.start,
            end: self.end_of_last(),
        };
        Some(Enforcement { act, span })
    }

    /// `a: b: c = 1`
    fn config(&mut self) -> Option<Config> {
        let first = self.token();
        self.at += 1;
        if !self.is(Kind::Mark(b':')) {
            let message = format!("`{}` can't be enforced", clip(first.text));
            let hint = match suggest::nearest(first.text, ENFORCEMENTS.into_iter()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => ENFORCE_HINT.to_owned(),
            };
            self.faults.push(Fault::error(first.span, message, hint));
            return None;
        }
        let mut path = vec![first.text.to_owned()];
        while self.is(Kind::Mark(b':')) {
            self.at += 1;
            let hint = "a setting is written `a: b = 1`";
            path.push(self.name(Kind::Ident, "a name of a setting", hint)?.text);
        }
        self.mark(b'=', "a setting is written `a: b = 1`")?;
        let number = self.number("a number for the setting")?;
        Some(Config { path, number })
    }

    /// `invoke_action(tool, {"a": value, …})`
    fn invoke(&mut self, depth: usize) -> Option<Invoke> {
        const HINT: &str = "written `invoke_action(tool, {\"name\": value})`";
        if depth > MAX_NESTING {
            self.expected("no deeper nesting", "`invoke_action` nests at most 64 deep");
            return None;
        }
        self.at += 1;
        self.mark(b'(', HINT)?;
        let kind = match self.mode {
            Mode::Strict => Kind::Ident,
            Mode::Extended => Kind::Tool,
        };
        let tool = self.name(kind, "the name of a tool", HINT)?.text;
        self.mark(b',', HINT)?;
        self.mark(b'{', HINT)?;
        let mut arguments = Vec::new();
        loop {
            let name = self.text("the name of an argument, in quotes")?;
            self.mark(b':', HINT)?;
            arguments.push((name, self.value(depth)?));
            if !self.is(Kind::Mark(b',')) {
                break;
            }
            self.at += 1;
        }
        self.mark(b'}', HINT)?;
        self.mark(b')', HINT)?;
        Some(Invoke { tool, arguments })
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let token = self.token();
        let base = match token.kind {
            Kind::Text => Base::Text(self.text("text")?),
            Kind::Number => Base::Number(self.number("a number")?),
            Kind::Ident => self.take(Base::Name(token.text.to_owned())),
            Kind::Invoke => Base::Invoke(self.invoke(depth + 1)?),
            _ => {
                let hint = "text in quotes, a number, a name, or another `invoke_action(…)`";
                self.expected("a value", hint);
                return None;
            }
        };
        let mut keys = Vec::new();
        while self.is(Kind::Mark(b'[')) {
            self.at += 1;
            keys.push(self.text("a key in quotes")?);
            self.mark(b']', "a key is written `[\"key\"]`")?;
        }
        Some(Value { base, keys })
    }

    /// The token that is next.
    fn token(&self) -> Token<'t> {
        let end = Token {
            kind: Kind::End,
            text: "",
            span: Span::default(),
        };
        let last = || self.tokens.last().copied().unwrap_or(end);
        self.tokens.get(self.at).copied().unwrap_or_else(last)
    }

    fn is(&self, kind: Kind) -> bool {
        self.token().kind == kind
    }

    /// Takes a keyword, if it is next.
    fn word(&mut self, word: &str) -> bool {
        let is = self.is(Kind::Keyword) && self.token().text == word;
        self.at += usize::from(is);
        is
    }

    /// Takes the next token, which means `what`.
    fn take<T>(&mut self, what: T) -> T {
        self.at += 1;
        what
    }

    fn mark(&mut self, mark: u8, hint: &str) -> Option<()> {
        if self.is(Kind::Mark(mark)) {
            self.at += 1;
            return Some(());
        }
        self.expected(&format!("`{}`", char::from(mark)), hint);
        None
    }

    fn name(&mut self, kind: Kind, what: &str, hint: &str) -> Option<Name> {
        let token = self.token();
        if token.kind == kind {
            return Some(self.take(name(token)));
        }
        self.expected(what, hint);
        None
    }

    fn text(&mut self, what: &str) -> Option<String> {
        let token = self.token();
        if token.kind == Kind::Text {
            let inner = token.text.get(1..token.text.len().saturating_sub(1));
            return Some(self.take(inner.unwrap_or_default().to_owned()));
        }
        self.expected(what, "text is written `\"…\"`");
        None
    }

    fn number(&mut self, what: &str) -> Option<Number> {
        let token = self.token();
        if token.kind == Kind::Number {
            return Some(self.take(Number(token.text.to_owned())));
        }
        self.expected(
            what,
            "digits, with a `.` or without; there are no negative numbers",
        );
        None
    }

    /// Where the token before the next one ends.
    fn end_of_last(&self) -> usize {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        last.map_or(0, |token| token.span.end)
    }

    /// Says what should stand here, unless something was said of this very token.
    fn expected(&mut self, what: &str, hint: &str) {
        if self.blamed == Some(self.at) {
            return;
        }
        self.blamed = Some(self.at);
        let token = self.token();
        let found = match token.kind {
            Kind::End => "the end".to_owned(),
            _ => format!("`{}`", clip(token.text)),
        };
        let message = format!("expected {what}, found {found}");
        self.faults.push(Fault::error(token.span, message, hint));
    }

    /// Goes on at the next of some keywords, or at the end.
    fn skip_to(&mut self, words: &[&str]) {
        loop {
            let token = self.token();
            let there = token.kind == Kind::Keyword && words.contains(&token.text);
            if there || token.kind == Kind::End {
                return;
            }
            self.at += 1;
        }
    }
}

/// What can be enforced.
const ENFORCE_HINT: &str = "one of `none`, `skip`, `stop`, `user_inspection`, `llm_self_reflect`";

fn name(token: Token<'_>) -> Name {
    Name {
        text: token.text.to_owned(),
        span: token.span,
    }
}

/// Text for a message: one line of at most 40 characters.
fn clip(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None if line.len() < text.len() => format!("{line}…"),
        None => line.to_owned(),
    }
}
