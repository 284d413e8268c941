//! The strict parser: one pass, no recursion, no allocation per value.

use crate::arena::Cell;
use crate::assemble::{Assembler, RepeatedKey};
use crate::text::{BadEscape, escape, run_end, skip_space};
use crate::{Document, Fault, JsonError, number};

/// Parses exactly one RFC 8259 value (P1).
pub(crate) fn parse(text: &[u8], max_depth: u32) -> Result<Document, JsonError> {
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
        max_depth,
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
    max_depth: u32,
    assembler: Assembler,
    /// For each string that had escapes: where it stands in the assembler's text, and where in the source.
    unescaped: Vec<(u32, u32)>,
    failure: Option<(Fault, usize)>,
}

/// The text is refused; the parser knows why. A small error keeps the hot functions' results in registers.
struct Stopped;

/// What must follow.
enum Next {
    Value(usize),
    /// After a value: a comma, the end of the container, or of the text.
    Rest(usize),
}

impl Parser<'_> {
    fn run(&mut self) -> Result<(), Stopped> {
        let mut next = Next::Value(0);
        loop {
            next = match next {
                Next::Value(at) => self.value(at)?,
                Next::Rest(at) => match self.rest(at)? {
                    Some(next) => next,
                    None => return Ok(()),
                },
            }
        }
    }

    /// Reads a scalar, or the beginning of a container up to its first value.
    #[inline]
    fn value(&mut self, at: usize) -> Result<Next, Stopped> {
        let bytes = self.source.as_bytes();
        let at = skip_space(bytes, at);
        match bytes.get(at) {
            Some(b'"') => Ok(Next::Rest(self.string(at)?)),
            Some(b'{') => self.begin_object(at),
            Some(b'[') => self.begin_array(at),
            Some(b'-' | b'0'..=b'9') => Ok(Next::Rest(self.number(at)?)),
            Some(b't') => self.word(at, "true", Cell::Bool(true)),
            Some(b'f') => self.word(at, "false", Cell::Bool(false)),
            Some(b'n') => self.word(at, "null", Cell::Null),
            _ => Err(self.expected(at, "a value")),
        }
    }

    /// Reads on after a value; nothing if it was the last.
    #[inline]
    fn rest(&mut self, at: usize) -> Result<Option<Next>, Stopped> {
        let bytes = self.source.as_bytes();
        let at = skip_space(bytes, at);
        let Some(container) = self.assembler.innermost() else {
            return match bytes.get(at) {
                None => Ok(None),
                Some(_) => Err(self.expected(at, "nothing after the value")),
            };
        };
        match (bytes.get(at), container.object) {
            (Some(b','), true) => Ok(Some(Next::Value(self.key(skip_space(bytes, at + 1))?))),
            (Some(b','), false) => Ok(Some(Next::Value(at + 1))),
            (Some(b'}'), true) => {
                self.end_object()?;
                Ok(Some(Next::Rest(at + 1)))
            }
            (Some(b']'), false) => {
                self.assembler.close_array();
                Ok(Some(Next::Rest(at + 1)))
            }
            (_, true) => Err(self.expected(at, "`,` or `}`")),
            (_, false) => Err(self.expected(at, "`,` or `]`")),
        }
    }

    #[inline]
    fn begin_object(&mut self, at: usize) -> Result<Next, Stopped> {
        self.open(at, true)?;
        let bytes = self.source.as_bytes();
        let at = skip_space(bytes, at + 1);
        if bytes.get(at) == Some(&b'}') {
            self.end_object()?;
            return Ok(Next::Rest(at + 1));
        }
        if bytes.get(at) != Some(&b'"') {
            return Err(self.expected(at, "a key or `}`"));
        }
        Ok(Next::Value(self.key(at)?))
    }

    #[inline]
    fn begin_array(&mut self, at: usize) -> Result<Next, Stopped> {
        self.open(at, false)?;
        let bytes = self.source.as_bytes();
        let at = skip_space(bytes, at + 1);
        if bytes.get(at) == Some(&b']') {
            self.assembler.close_array();
            return Ok(Next::Rest(at + 1));
        }
        Ok(Next::Value(at))
    }

    #[inline]
    fn open(&mut self, at: usize, object: bool) -> Result<(), Stopped> {
        if self.assembler.depth() >= self.max_depth as usize {
            let limit = self.max_depth;
            return Err(self.stop(at, Fault::TooDeep { limit }));
        }
        self.assembler.open(object);
        Ok(())
    }

    #[inline]
    fn end_object(&mut self) -> Result<(), Stopped> {
        match self.assembler.close_object() {
            Ok(()) => Ok(()),
            Err(repeated) => Err(self.repeated(repeated)),
        }
    }

    /// Reads a key and its colon; the offset behind them.
    #[inline]
    fn key(&mut self, at: usize) -> Result<usize, Stopped> {
        let bytes = self.source.as_bytes();
        if bytes.get(at) != Some(&b'"') {
            return Err(self.expected(at, "a key in quotes"));
        }
        let at = skip_space(bytes, self.string(at)?);
        if bytes.get(at) != Some(&b':') {
            return Err(self.expected(at, "`:` after the key"));
        }
        Ok(at + 1)
    }

    /// Reads the string whose quote stands at `at`; the offset behind it.
    #[inline]
    fn string(&mut self, at: usize) -> Result<usize, Stopped> {
        let begin = at + 1;
        let end = run_end(self.source.as_bytes(), begin);
        if self.source.as_bytes().get(end) != Some(&b'"') {
            return self.escaped_string(begin, end);
        }
        self.assembler.push(Cell::String {
            plain: true,
            offset: begin as u32,
            len: (end - begin) as u32,
        });
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
        self.unescaped.push((offset as u32, begin as u32));
        self.assembler.push(Cell::String {
            plain: false,
            offset: offset as u32,
            len: (self.assembler.text.len() - offset) as u32,
        });
        Ok(end + 1)
    }

    #[inline]
    fn number(&mut self, at: usize) -> Result<usize, Stopped> {
        match number::read(self.source, at) {
            Ok(number::Read {
                end,
                value: Some(value),
            }) => {
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

    fn word(&mut self, at: usize, word: &'static str, cell: Cell) -> Result<Next, Stopped> {
        let end = at + word.len();
        if self.source.as_bytes().get(at..end) != Some(word.as_bytes()) {
            return Err(self.expected(at, "a value"));
        }
        self.assembler.push(cell);
        Ok(Next::Rest(end))
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
