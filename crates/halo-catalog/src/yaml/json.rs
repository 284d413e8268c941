//! Strict JSON into the same tree, in file order and with the same marks.

use super::{Data, Key, MAX_DEPTH, Mark, Yaml, check_duplicates, place::Places};
use crate::cursor::Findings;

/// Why a text is no JSON.
pub(super) struct NotJson {
    pub(super) mark: Mark,
    pub(super) message: String,
}

/// Reads one JSON text. `Ok(None)`: it is JSON, but has faults that are reported already.
pub(super) fn read(findings: &mut Findings<'_>, text: &str) -> Result<Option<Yaml>, NotJson> {
    let mut reader = Reader {
        text,
        at: 0,
        places: Places::new(text),
        pending: Vec::new(),
        too_deep: false,
    };
    let tree = reader.value(1).and_then(|tree| {
        reader.space();
        match reader.text.len() == reader.at {
            true => Ok(tree),
            false => reader.fail("unexpected text after the end of the JSON value"),
        }
    });
    let (pending, too_deep) = (reader.pending, reader.too_deep);
    match tree {
        Err(fault) if !too_deep => Err(fault),
        tree => {
            for (mark, message, hint) in pending {
                findings.error_hint(mark, message, hint);
            }
            let tree = tree.ok();
            if let Some(tree) = &tree {
                duplicates(findings, tree);
            }
            Ok(tree)
        }
    }
}

/// Reports the duplicate keys of all mappings; only once it is clear that the text is JSON.
fn duplicates(findings: &mut Findings<'_>, node: &Yaml) {
    match &node.data {
        Data::Sequence(items) => items.iter().for_each(|item| duplicates(findings, item)),
        Data::Mapping(entries) => {
            check_duplicates(findings, entries);
            entries.iter().for_each(|(_, v)| duplicates(findings, v));
        }
        _ => {}
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    places: Places<'t>,
    /// Faults of text that is JSON all the same.
    pending: Vec<(Mark, &'static str, &'static str)>,
    too_deep: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }
    fn fail<T>(&mut self, message: impl Into<String>) -> Result<T, NotJson> {
        let mut mark = self.places.at_offset(self.at);
        mark.len = self
            .text
            .get(self.at..)
            .map_or(0, |rest| rest.chars().next().map_or(0, char::len_utf8));
        Err(NotJson {
            mark,
            message: message.into(),
        })
    }
    fn value(&mut self, depth: usize) -> Result<Yaml, NotJson> {
        self.space();
        let start = self.at;
        let mut mark = self.places.at_offset(start);
        let data = match self.peek() {
            Some(b'{' | b'[') if depth > MAX_DEPTH => {
                self.pending.push((
                    mark,
                    "nested deeper than 128 levels",
                    "no file of this kind needs that",
                ));
                self.too_deep = true;
                return self.fail("nested deeper than 128 levels");
            }
            Some(b'{') => {
                return Ok(Yaml {
                    mark,
                    data: self.object(depth)?,
                });
            }
            Some(b'[') => {
                return Ok(Yaml {
                    mark,
                    data: self.array(depth)?,
                });
            }
            Some(b'"') => Data::String(self.string()?),
            Some(b't') => self.word("true", Data::Bool(true))?,
            Some(b'f') => self.word("false", Data::Bool(false))?,
            Some(b'n') => self.word("null", Data::Null)?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => return self.fail("expected a JSON value"),
            None => return self.fail("the text ends where a JSON value is expected"),
        };
        mark.len = self.at - start;
        Ok(Yaml { mark, data })
    }
    fn word(&mut self, word: &str, data: Data) -> Result<Data, NotJson> {
        match self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            true => {
                self.at += word.len();
                Ok(data)
            }
            false => self.fail("expected a JSON value"),
        }
    }
    fn array(&mut self, depth: usize) -> Result<Data, NotJson> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Data::Sequence(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.closes(b']', "expected `,` or `]`")? {
                return Ok(Data::Sequence(items));
            }
        }
    }
    fn object(&mut self, depth: usize) -> Result<Data, NotJson> {
        self.at += 1;
        let mut entries = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Data::Mapping(entries));
        }
        loop {
            self.space();
            let start = self.at;
            let mut mark = self.places.at_offset(start);
            if self.peek() != Some(b'"') {
                return self.fail("expected a key in double quotes");
            }
            let text = self.string()?;
            mark.len = self.at - start;
            self.space();
            if self.peek() != Some(b':') {
                return self.fail("expected `:` after the key");
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            entries.push((Key { mark, text }, value));
            if self.closes(b'}', "expected `,` or `}`")? {
                return Ok(Data::Mapping(entries));
            }
        }
    }
    /// Whether the collection closes here; else a comma stood there.
    fn closes(&mut self, close: u8, message: &str) -> Result<bool, NotJson> {
        self.space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(false)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(true)
            }
            _ => self.fail(message),
        }
    }
    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }
    fn number(&mut self) -> Result<Data, NotJson> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) {
            return self.fail("not a JSON number");
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return self.fail("expected a digit");
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return self.fail("expected a digit");
            }
        }
        Ok(Data::Number(
            self.text.get(start..self.at).unwrap_or_default().to_owned(),
        ))
    }
    fn string(&mut self) -> Result<String, NotJson> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let plain = rest
                .bytes()
                .position(|b| b == b'"' || b == b'\\' || b < 0x20)
                .unwrap_or(rest.len());
            out.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => return self.fail("a control character in a JSON string"),
                None => return self.fail("the text ends inside a JSON string"),
            }
        }
    }
    fn escape(&mut self, out: &mut String) -> Result<(), NotJson> {
        let start = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode(start, out);
            }
            _ => return self.fail("unknown escape in a JSON string"),
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }
    fn unicode(&mut self, start: usize, out: &mut String) -> Result<(), NotJson> {
        let unit = self.hex4()?;
        let decoded = match unit {
            0xd800..=0xdbff if self.text.as_bytes()[self.at..].starts_with(b"\\u") => {
                let back = self.at;
                self.at += 2;
                let low = self.hex4()?;
                if !(0xdc00..=0xdfff).contains(&low) {
                    self.at = back;
                    None
                } else {
                    char::from_u32((0x10000 + ((unit - 0xd800) << 10)) | (low - 0xdc00))
                }
            }
            _ => char::from_u32(unit),
        };
        if decoded.is_none() {
            let mut mark = self.places.at_offset(start);
            mark.len = self.at - start;
            self.pending.push((
                mark,
                "a lone surrogate escape",
                "characters beyond `\\uffff` are a pair of escapes, `\\ud83d\\ude00`",
            ));
        }
        out.push(decoded.unwrap_or('\u{fffd}'));
        Ok(())
    }
    fn hex4(&mut self) -> Result<u32, NotJson> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return self.fail("expected four hexadecimal digits");
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).or_else(|_| self.fail("expected four hexadecimal digits"))
    }
}
