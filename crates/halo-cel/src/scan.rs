//! A first look at the text: what no parser should have to see, refused with the words that a person needs.
//!
//! The parser recurses over the syntax tree, so a text is bounded here, before it: in bytes, in nested brackets, and in
//! the tokens that become nodes.

use crate::hints::{bare_error, error};
use crate::{CompileError, MAX_DEPTH, MAX_NODES, MAX_SOURCE_BYTES, Span};

/// What the look found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Matching brackets, inner before outer.
    pub(crate) brackets: Vec<Span>,
}

/// Looks through `source`. Errors: every place that cannot be part of an expression.
pub(crate) fn scan(source: &str) -> Result<Scan, Vec<CompileError>> {
    if source.len() > MAX_SOURCE_BYTES {
        let span = Span { start: 0, end: 0 };
        let message = format!(
            "the expression is {} bytes long; the limit is {MAX_SOURCE_BYTES}",
            source.len()
        );
        return Err(vec![bare_error(span, message)]);
    }
    let mut scanner = Scanner {
        source,
        at: 0,
        open: Vec::new(),
        nodes: 0,
        found: Scan::default(),
        errors: Vec::new(),
    };
    scanner.run();
    if scanner.errors.is_empty() {
        Ok(scanner.found)
    } else {
        Err(scanner.errors)
    }
}

struct Scanner<'s> {
    source: &'s str,
    at: usize,
    open: Vec<(u8, usize)>,
    nodes: usize,
    found: Scan,
    errors: Vec<CompileError>,
}

impl Scanner<'_> {
    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            self.token(byte);
            if self.nodes > MAX_NODES || self.open.len() > MAX_DEPTH || self.errors.len() > 8 {
                break;
            }
        }
        if self.nodes > MAX_NODES {
            self.errors = vec![too_many_nodes()];
        } else if self.open.len() > MAX_DEPTH {
            let start = self.open.last().map_or(0, |(_, start)| *start);
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            self.errors.push(bare_error(
                Span {
                    start,
                    end: start + 1,
                },
                message,
            ));
        } else if let Some((bracket, start)) = self.open.last().copied()
            && self.errors.is_empty()
        {
            let span = Span {
                start,
                end: start + 1,
            };
            let message = format!("this `{}` is never closed", char::from(bracket));
            self.errors.push(bare_error(span, message));
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }

    fn token(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b'\x0c' => self.at += 1,
            b'/' if self.peek(1) == Some(b'/') => self.skip(|byte| byte != b'\n'),
            b'"' | b'\'' => self.string(false),
            b'.' if self.peek(1).is_some_and(|next| next.is_ascii_digit()) => self.number(),
            b'0'..=b'9' => self.number(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'(' | b'[' | b'{' => self.open_bracket(byte),
            b')' | b']' | b'}' => self.close_bracket(byte),
            b'.' | b',' | b':' | b'-' | b'+' | b'*' | b'/' | b'%' | b'?' | b'!' | b'<' | b'>' => {
                self.operator(byte);
            }
            b'=' | b'&' | b'|' if self.peek(1) == Some(byte) => {
                self.nodes += 1;
                self.at += 2;
            }
            _ => self.stray(byte),
        }
    }

    /// Counts what becomes a node; a sign or a negation counts with its operand.
    fn operator(&mut self, byte: u8) {
        self.nodes += usize::from(!matches!(byte, b'.' | b',' | b':' | b'-'));
        let equals = matches!(byte, b'!' | b'<' | b'>') && self.peek(1) == Some(b'=');
        if byte == b'!' && !equals {
            self.nodes -= 1;
        }
        self.at += if equals { 2 } else { 1 };
    }

    fn skip(&mut self, mut more: impl FnMut(u8) -> bool) {
        while self.peek(0).is_some_and(&mut more) {
            self.at += 1;
        }
    }

    fn word(&mut self) {
        let start = self.at;
        self.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let word = &self.source[start..self.at];
        let raw = matches!(word, "r" | "R" | "br" | "bR" | "Br" | "BR" | "b" | "B");
        if raw && matches!(self.peek(0), Some(b'"' | b'\'')) {
            self.string(!matches!(word, "b" | "B"));
        } else {
            self.nodes += 1;
        }
    }

    fn number(&mut self) {
        self.nodes += 1;
        self.skip(|byte| byte.is_ascii_alphanumeric());
        if self.peek(0) == Some(b'.') && self.peek(1).is_some_and(|next| next.is_ascii_digit()) {
            self.at += 1;
            self.skip(|byte| byte.is_ascii_alphanumeric());
        }
    }

    /// A string from its opening quote on.
    fn string(&mut self, raw: bool) {
        self.nodes += 1;
        let start = self.at;
        let rest = &self.source[start..];
        let triple = rest.starts_with("\"\"\"") || rest.starts_with("'''");
        let quote = &rest[..if triple { 3 } else { 1 }];
        self.at += quote.len();
        while let Some(byte) = self.peek(0) {
            if self.source.as_bytes()[self.at..].starts_with(quote.as_bytes()) {
                self.at += quote.len();
                return;
            }
            match byte {
                b'\\' if !raw => self.at += 2,
                b'\n' | b'\r' if !triple => break,
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.source.len());
        while !self.source.is_char_boundary(self.at) {
            self.at += 1;
        }
        let span = Span {
            start,
            end: start + quote.len(),
        };
        self.errors
            .push(bare_error(span, "this string is never closed"));
        self.open.clear();
        self.at = self.source.len();
    }

    fn open_bracket(&mut self, bracket: u8) {
        // `(` only groups, or belongs to a name that is counted.
        self.nodes += usize::from(bracket != b'(');
        self.open.push((bracket, self.at));
        self.at += 1;
    }

    fn close_bracket(&mut self, bracket: u8) {
        let end = self.at + 1;
        let matching = match bracket {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        match self.open.pop() {
            Some((open, start)) if open == matching => {
                self.found.brackets.push(Span { start, end });
            }
            Some((open, start)) => {
                let message = format!(
                    "`{}` closes the `{}` of column {}",
                    char::from(bracket),
                    char::from(open),
                    self.source[..start].chars().count() + 1
                );
                self.errors.push(bare_error(
                    Span {
                        start: self.at,
                        end,
                    },
                    message,
                ));
            }
            None => {
                let message = format!("`{}` closes nothing", char::from(bracket));
                self.errors.push(bare_error(
                    Span {
                        start: self.at,
                        end,
                    },
                    message,
                ));
            }
        }
        self.at = end;
    }

    fn stray(&mut self, byte: u8) {
        let start = self.at;
        let char = self.source[start..].chars().next().unwrap_or(' ');
        self.at += char.len_utf8();
        let span = Span {
            start,
            end: self.at,
        };
        let hint = match byte {
            b'=' => "write `==` to compare",
            b'&' => "write `&&`",
            b'|' => "write `||`",
            b'`' => "write `payload[\"a-b\"]` for a field that is no plain name",
            b'\\' => "a backslash stands in strings only",
            _ => "other characters stand in strings and comments only",
        };
        let message = format!("unexpected character `{}`", char.escape_debug());
        self.errors.push(error(span, message, hint));
    }
}

/// The text, or its tree, has too many nodes.
pub(crate) fn too_many_nodes() -> CompileError {
    error(
        Span { start: 0, end: 0 },
        format!("the expression has more than {MAX_NODES} nodes"),
        "split it into several predicates",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn first(source: &str) -> (String, Span) {
        let error = scan(source).unwrap_err().remove(0);
        (error.message, error.span)
    }

    #[test]
    fn brackets_are_matched() {
        assert_eq!(scan("f(a[1], {'k': ')'})").unwrap().brackets.len(), 3);
        assert_eq!(first("(a").0, "this `(` is never closed");
        assert_eq!(first("a)").0, "`)` closes nothing");
        assert_eq!(first("(a]").0, "`]` closes the `(` of column 1");
    }

    #[test]
    fn strings_are_skipped_as_cel_reads_them() {
        for source in [
            r#""a\"(""#,
            r"'('",
            r#"r"\" + "x""#,
            "'''a'(\n'''",
            r#"b"(""#,
            "a // (\n + b",
            r#""""(""" + ''"#,
        ] {
            assert!(scan(source).is_ok(), "{source}");
        }
        assert_eq!(first("x == \"abc").0, "this string is never closed");
        assert_eq!(first("\"a\\").0, "this string is never closed");
        assert_eq!(first("\"a\\é").0, "this string is never closed");
        assert_eq!(first("'a\nb'").0, "this string is never closed");
    }

    #[test]
    fn strays_are_named_with_their_bytes() {
        let (message, span) = first("'é' = 1");
        assert_eq!(message, "unexpected character `=`");
        assert_eq!(span, Span { start: 5, end: 6 });
        assert_eq!(first("é").1, Span { start: 0, end: 2 });
    }

    #[test]
    fn p5_the_text_is_bounded() {
        assert!(scan(&"a".repeat(MAX_SOURCE_BYTES)).is_ok());
        assert!(first(&"a".repeat(MAX_SOURCE_BYTES + 1)).0.contains("4097"));
        assert!(first(&"(".repeat(4000)).0.contains("nested deeper"));
        assert!(first(&"a+".repeat(2000)).0.contains("more than 512 nodes"));
        assert!(first(&".a".repeat(2000)).0.contains("more than 512 nodes"));
    }
}
