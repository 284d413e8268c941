//! The strict parser: one pass, no recursion, no allocation per value.

use crate::arena::Cell;
use crate::assemble::{Assembler, RepeatedKey};
use crate::text::{BadEscape, escape, run_end, token};
use crate::{Document, Fault, JsonError, number};

/// What a text may hold.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_depth: u32,
    /// Integers beyond 2^53 − 1 without exponent.
    pub(crate) large_integers: bool,
}

/// Parses exactly one RFC 8259 value (P1).
pub(crate) fn parse(text: &[u8], limits: Limits) -> Result<Document, JsonError> {
    // Offsets into the arena's text have 32 bits.
    if u32::try_from(text.len()).is_err() {
        return Err(error_at(text, Fault::TooLong, 0));
    }
    let source = match std::str::from_utf8(text) {
        Ok(source) => source,
        Err(error) => return Err(error_at(text, Fault::NotUtf8, error.valid_up_to())),
    };
    let mut parser = Parser {
        source,
        limits,
        assembler: Assembler::for_text(source),
        unescaped: Vec::new(),
        failure: None,
    };
    match (parser.run(), parser.failure) {
        (Ok(()), _) => Ok(parser.assembler.finish()),
        (Err(Stopped), failure) => {
            let (fault, offset) = failure.unwrap_or((Fault::Syntax(String::new()), 0));
            Err(error_at(text, fault, offset))
        }
    }
}

/// Lines and columns are counted only here: a text that parses does not pay for them.
#[cold]
fn error_at(text: &[u8], fault: Fault, offset: usize) -> JsonError {
    let before = &text[..offset];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let begin = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |newline| newline + 1);
    // Of a character's UTF-8 bytes, only the first is no continuation byte.
    let characters = before[begin..].iter().filter(|byte| **byte & 0xC0 != 0x80);
    let column = characters.count() + 1;
    JsonError {
        fault,
        offset,
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
    }
}

struct Parser<'a> {
    source: &'a str,
    limits: Limits,
    assembler: Assembler,
    /// For each string that had escapes: where it stands in the assembler's text, and where in the source.
    unescaped: Vec<(u32, u32)>,
    failure: Option<(Fault, usize)>,
}

/// The text is refused; the parser knows why. A small error keeps the hot functions' results in registers.
struct Stopped;

impl Parser<'_> {
    /// Reads the whole text. One turn of the outer loop reads a value's beginning, up to the first value inside it; the
    /// inner loop reads what stands behind complete values, up to the next one.
    fn run(&mut self) -> Result<(), Stopped> {
        let mut at = 0;
        'value: loop {
            let (byte, start) = self.token(at);
            at = match byte {
                b'"' => self.string(start)?,
                b'{' => {
                    self.open(start, true)?;
                    let (byte, inside) = self.token(start + 1);
                    if byte != b'}' {
                        at = self.key(inside, "a key or `}`")?;
                        continue 'value;
                    }
                    self.end_object(inside + 1)?;
                    inside + 1
                }
                b'[' => {
                    self.open(start, false)?;
                    let (byte, inside) = self.token(start + 1);
                    if byte != b']' {
                        at = inside;
                        continue 'value;
                    }
                    self.assembler.close_array(inside + 1);
                    inside + 1
                }
                b'-' | b'0'..=b'9' => self.number(start)?,
                _ => self.word(start)?,
            };
            while let Some(container) = self.assembler.innermost() {
                let (byte, behind) = self.token(at);
                match (byte, container.object) {
                    (b',', true) => {
                        let (_, begin) = self.token(behind + 1);
                        at = self.key(begin, "a key in quotes")?;
                        continue 'value;
                    }
                    (b',', false) => {
                        at = behind + 1;
                        continue 'value;
                    }
                    (b'}', true) => self.end_object(behind + 1)?,
                    (b']', false) => self.assembler.close_array(behind + 1),
                    (_, true) => return Err(self.expected(behind, "`,` or `}`")),
                    (_, false) => return Err(self.expected(behind, "`,` or `]`")),
                }
                at = behind + 1;
            }
            return self.end(at);
        }
    }

    /// The next byte that is no white space, and where it stands.
    #[inline(always)]
    fn token(&mut self, at: usize) -> (u8, usize) {
        let (byte, found) = token(self.source.as_bytes(), at);
        self.assembler.blemishes += u32::from(found != at);
        (byte, found)
    }

    /// Makes sure that nothing stands behind the outermost value.
    fn end(&mut self, at: usize) -> Result<(), Stopped> {
        let (_, rest) = token(self.source.as_bytes(), at);
        if rest == self.source.len() {
            Ok(())
        } else {
            Err(self.expected(rest, "nothing after the value"))
        }
    }

    #[inline]
    fn open(&mut self, at: usize, object: bool) -> Result<(), Stopped> {
        if self.assembler.depth() >= self.limits.max_depth as usize {
            let limit = self.limits.max_depth;
            return Err(self.stop(at, Fault::TooDeep { limit }));
        }
        // Texts have less than 4 GiB.
        self.assembler.open(object, at as u32);
        Ok(())
    }

    #[inline]
    fn end_object(&mut self, end: usize) -> Result<(), Stopped> {
        match self.assembler.close_object(end) {
            Ok(()) => Ok(()),
            Err(repeated) => Err(self.repeated(repeated)),
        }
    }

    /// Reads a key and its colon; the offset behind them.
    #[inline(always)]
    fn key(&mut self, at: usize, what: &str) -> Result<usize, Stopped> {
        let bytes = self.source.as_bytes();
        if bytes.get(at) != Some(&b'"') {
            return Err(self.expected(at, what));
        }
        let behind = self.string(at)?;
        let (byte, at) = self.token(behind);
        if byte != b':' {
            return Err(self.expected(at, "`:` after the key"));
        }
        Ok(at + 1)
    }

    /// Reads the string whose quote stands at `at`; the offset behind it.
    #[inline(always)]
    fn string(&mut self, at: usize) -> Result<usize, Stopped> {
        let bytes = self.source.as_bytes();
        let begin = at + 1;
        let end = run_end(bytes, begin);
        if bytes.get(end) != Some(&b'"') {
            return self.escaped_string(begin, end);
        }
        let cell = Cell::string(bytes, begin, end - begin, true);
        self.assembler.push(cell);
        Ok(end + 1)
    }

    /// [`Self::string`] for one that begins at `begin` and does not end at `end`, its first special byte.
    #[inline(never)]
    fn escaped_string(&mut self, begin: usize, end: usize) -> Result<usize, Stopped> {
        let bytes = self.source.as_bytes();
        let offset = self.assembler.text.len();
        let (mut run, mut end) = (begin, end);
        loop {
            self.assembler.text.push_str(&self.source[run..end]);
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => match escape(bytes, end) {
                    Ok((character, behind)) => {
                        self.assembler.text.push(character);
                        run = behind;
                    }
                    Err(bad) => return Err(self.bad_escape(end, bad)),
                },
                Some(_) => {
                    return Err(self.expected(end, "an escape instead of a control character"));
                }
                None => return Err(self.stop(end, syntax("the text ends inside a string"))),
            }
            end = run_end(bytes, run);
        }
        if u32::try_from(self.assembler.text.len()).is_err() {
            return Err(self.stop(begin, Fault::TooLong));
        }
        self.assembler.blemishes += 1;
        self.unescaped.push((offset as u32, begin as u32));
        let text = self.assembler.text.as_bytes();
        let cell = Cell::string(text, offset, text.len() - offset, false);
        self.assembler.push(cell);
        Ok(end + 1)
    }

    #[inline]
    fn number(&mut self, at: usize) -> Result<usize, Stopped> {
        match number::read(self.source, at, self.limits.large_integers) {
            Ok(number::Read {
                end,
                value: Some(value),
            }) => {
                let literal = &self.source.as_bytes()[at..end];
                self.assembler.blemishes += u32::from(!number::is_canonical(literal));
                self.assembler.push(Cell::Number(value));
                Ok(end)
            }
            Ok(refused) => {
                let fault = number::refusal(&self.source[at..refused.end]);
                Err(self.stop(at, fault))
            }
            Err(wrong) if wrong.at >= self.source.len() => {
                Err(self.stop(wrong.at, syntax("the text ends inside a number")))
            }
            Err(wrong) => Err(self.expected(wrong.at, wrong.expected)),
        }
    }

    /// Reads `true`, `false` or `null`; the offset behind it.
    fn word(&mut self, at: usize) -> Result<usize, Stopped> {
        let rest = &self.source.as_bytes()[at..];
        let words = [
            ("true", Cell::Bool(true)),
            ("false", Cell::Bool(false)),
            ("null", Cell::Null),
        ];
        for (word, cell) in words {
            if rest.starts_with(word.as_bytes()) {
                self.assembler.push(cell);
                return Ok(at + word.len());
            }
        }
        Err(self.expected(at, "a value"))
    }

    #[cold]
    fn bad_escape(&mut self, at: usize, bad: BadEscape) -> Stopped {
        let fault = match bad {
            BadEscape::End => syntax("the text ends inside a string"),
            BadEscape::LoneSurrogate => Fault::LoneSurrogate,
            BadEscape::Unknown => {
                let shown: String = self.source[at..].chars().take(6).collect();
                Fault::Syntax(format!("no JSON escape begins as `{shown}` does"))
            }
        };
        self.stop(at, fault)
    }

    #[cold]
    fn repeated(&mut self, repeated: RepeatedKey) -> Stopped {
        let places = repeated.offsets.map(|offset| {
            let known = self
                .unescaped
                .binary_search_by_key(&offset, |entry| entry.0);
            known.map_or(offset, |index| self.unescaped[index].1)
        });
        // The place of the later one's quote.
        let at = (places[0].max(places[1]) as usize).saturating_sub(1);
        self.stop(at, Fault::DuplicateKey(repeated.key))
    }

    #[cold]
    fn expected(&mut self, at: usize, what: &str) -> Stopped {
        let fault = match self.source[at..].chars().next() {
            None => syntax(match self.assembler.innermost() {
                Some(open) if open.object => "the text ends inside an object",
                Some(_) => "the text ends inside an array",
                None if self.source.is_empty() => "the text is empty",
                None => "the text ends before a value",
            }),
            Some('\u{feff}') if at == 0 => syntax("the text begins with a byte order mark"),
            Some(found) if found.is_control() => {
                let code = u32::from(found);
                Fault::Syntax(format!("expected {what}, found U+{code:04X}"))
            }
            Some(found) => Fault::Syntax(format!("expected {what}, found `{found}`")),
        };
        self.stop(at, fault)
    }

    #[cold]
    fn stop(&mut self, at: usize, fault: Fault) -> Stopped {
        self.failure = Some((fault, at));
        Stopped
    }
}

fn syntax(message: &str) -> Fault {
    Fault::Syntax(message.to_owned())
}
