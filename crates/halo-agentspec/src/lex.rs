//! From text to tokens, by longest match.

use crate::{
    fault::{Fault, Faults},
    names::{ENFORCEMENTS, KEYWORDS, STRICT_PREDICATES},
    syntax::Span,
};

/// Which language is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The reference's grammar.
    Strict,
    /// The same with open predicate names, tool names with `.` and `-`, `//` comments and `any`.
    Extended,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Keyword,
    /// One of `: , ( ) { } . [ ] @ = !`
    Mark(u8),
    /// One of the closed list; strict mode only.
    Predicate,
    Invoke,
    Enforcement,
    /// Any other word.
    Ident,
    /// Where a tool is named, extended mode only: what could not stand elsewhere.
    Tool,
    Text,
    Number,
    /// The end of the text.
    End,
}

/// A token, with its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    /// As it is written.
    pub(crate) text: &'t str,
    pub(crate) span: Span,
}

/// All tokens; the last one is [`Kind::End`]. What is no token is a fault, and left out.
pub(crate) fn lex<'t>(text: &'t str, mode: Mode, faults: &mut Faults) -> Vec<Token<'t>> {
    let mut lexer = Lexer {
        text,
        at: 0,
        mode,
        tokens: Vec::new(),
    };
    while !faults.full() && lexer.token(faults) {}
    lexer.push(Kind::End, text.len(), text.len());
    lexer.tokens
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    mode: Mode,
    tokens: Vec<Token<'t>>,
}

impl<'t> Lexer<'t> {
    /// One token or fault. False at the end.
    fn token(&mut self, faults: &mut Faults) -> bool {
        self.skip();
        let rest = self.rest();
        let Some(&first) = rest.as_bytes().first() else {
            return false;
        };
        let names_tool = self.mode == Mode::Extended && self.tool_comes();
        let (kind, len) = match first {
            b'_' | b'a'..=b'z' | b'A'..=b'Z' if names_tool => tool(rest),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => word(rest, self.mode),
            b'0'..=b'9' => (Kind::Number, number(rest)),
            b'.' if digits(&rest[1..]) > 0 => (Kind::Number, 1 + digits(&rest[1..])),
            b':' | b',' | b'(' | b')' | b'{' | b'}' | b'.' | b'[' | b']' | b'@' | b'=' | b'!' => {
                (Kind::Mark(first), 1)
            }
            b'"' => match rest[1..].find('"') {
                Some(len) => (Kind::Text, len + 2),
                None => {
                    self.unclosed(faults);
                    return true;
                }
            },
            _ => {
                self.stray(faults);
                return true;
            }
        };
        self.push(kind, self.at, self.at + len);
        self.at += len;
        true
    }

    /// Whether what comes names a tool: after `trigger`, and after `invoke_action(`.
    fn tool_comes(&self) -> bool {
        match self.tokens.as_slice() {
            [.., last] if last.kind == Kind::Keyword => last.text == "trigger",
            [.., before, last] => before.kind == Kind::Invoke && last.kind == Kind::Mark(b'('),
            _ => false,
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        self.tokens.push(Token {
            kind,
            text: self.text.get(start..end).unwrap_or_default(),
            span: Span { start, end },
        });
    }

    /// White space, and in extended mode comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let next = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            self.at += rest.len() - next.len();
            if self.mode == Mode::Strict || !next.starts_with("//") {
                return;
            }
            self.at += next.find('\n').unwrap_or(next.len());
        }
    }

    /// Text that does not end: the quote alone is left out, so that what follows is still read.
    fn unclosed(&mut self, faults: &mut Faults) {
        faults.push(Fault::error(
            Span {
                start: self.at,
                end: self.at + 1,
            },
            "this text has no closing `\"`",
            "text ends at the next `\"`; nothing escapes one",
        ));
        self.at += 1;
    }

    /// Characters that start no token. The reference drops them and says so on its console: a rule would then mean
    /// something else than it says.
    fn stray(&mut self, faults: &mut Faults) {
        let rest = self.rest();
        let len = rest.find(starts_token).unwrap_or(rest.len());
        let found = rest.get(..len).unwrap_or_default();
        let hint = match (found, self.mode) {
            (found, _) if found.starts_with('\u{feff}') => {
                "save the file as UTF-8 without a byte order mark"
            }
            (found, _) if found.contains(['&', '|']) => {
                "several predicates, one after the other, must all hold; there is no other connective"
            }
            (found, Mode::Strict) if found.starts_with('/') || found.starts_with('#') => {
                "strict mode has no comments; `mode: extended` has `//`"
            }
            (found, Mode::Extended) if found.starts_with('#') => "comments start with `//`",
            (found, Mode::Strict) if found.starts_with('-') => {
                "names hold letters, digits and `_`; `mode: extended` takes `-` and `.` in a trigger"
            }
            _ => {
                "remove it: the reference drops such characters, and the rule then says something else"
            }
        };
        let what = match found.chars().count() {
            1 => "this character means nothing here",
            _ => "these characters mean nothing here",
        };
        let span = Span {
            start: self.at,
            end: self.at + len,
        };
        faults.push(Fault::error(span, what, hint));
        self.at += len;
    }
}

/// Whether a character can start a token, or parts tokens.
fn starts_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || " \t\r\n_:,(){}.[]@=!\"".contains(c)
}

/// A word, by the first list that has it.
fn word(rest: &str, mode: Mode) -> (Kind, usize) {
    let len = letters(rest);
    let kind = match rest.get(..len).unwrap_or_default() {
        word if KEYWORDS.contains(&word) => Kind::Keyword,
        word if mode == Mode::Strict && STRICT_PREDICATES.contains(&word) => Kind::Predicate,
        "invoke_action" => Kind::Invoke,
        word if ENFORCEMENTS.contains(&word) => Kind::Enforcement,
        _ => Kind::Ident,
    };
    (kind, len)
}

/// What names a tool in extended mode: words joined by `.` and `-`. A keyword is one all the same.
fn tool(rest: &str) -> (Kind, usize) {
    let word_len = letters(rest);
    let mut len = word_len;
    while let Some(joined) = rest
        .get(len..)
        .and_then(|rest| rest.strip_prefix(['.', '-']))
    {
        match letters(joined) {
            0 => break,
            more => len += 1 + more,
        }
    }
    let text = rest.get(..len).unwrap_or_default();
    match KEYWORDS.contains(&text) {
        true => (Kind::Keyword, len),
        false => (Kind::Tool, len),
    }
}

fn letters(text: &str) -> usize {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.bytes().take_while(is_letter).count()
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Digits, and a fraction, whose digits may be missing.
fn number(rest: &str) -> usize {
    let whole = digits(rest);
    match rest.get(whole..).and_then(|rest| rest.strip_prefix('.')) {
        Some(fraction) => whole + 1 + digits(fraction),
        None => whole,
    }
}
