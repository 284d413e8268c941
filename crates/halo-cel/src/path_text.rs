//! Declared paths: `map.epoch`, `legs[payload.leg].value.version` (formats.md §1).

use crate::hints::{
    self, COMPONENT_FIELDS, INDEX_FORMS, KEY_FORMS, RECORD_FIELDS, bare_error, clip, did_you_mean,
    error,
};
use crate::{
    CompileError, Index, MAX_DEPTH, MAX_SOURCE_BYTES, PathSegment, RecordRef, SourceDecl, Span,
};

/// Parses a path as catalogs declare it: a source, its key where it is keyed, then fields and indexes. `sources` are the
/// catalog's. Without segments the path names the record itself, as freshness limits do; otherwise the first segment is
/// one of the five fields of a record. Errors: the first thing that is wrong, its place in bytes of `text`.
pub fn parse_path(
    text: &str,
    sources: &[SourceDecl],
) -> Result<(RecordRef, Vec<PathSegment>), CompileError> {
    let mut path = PathText { text, at: 0 };
    if text.len() > MAX_SOURCE_BYTES {
        let message = format!("the path is longer than {MAX_SOURCE_BYTES} bytes");
        return Err(bare_error(Span { start: 0, end: 0 }, message));
    }
    let name = path.name("a source")?;
    let span = path.span(0);
    let (source, keyed) = hints::find_source(name, span, sources)?;
    let index = match (path.peek(), keyed) {
        (Some('['), true) => Some(path.key()?),
        (Some('['), false) => {
            path.index()?;
            return Err(hints::key_unwanted(path.span(0), "", name));
        }
        (_, true) => return Err(hints::key_missing(span, "", name)),
        (_, false) => None,
    };
    let record = path.span(0);
    let mut segments = Vec::new();
    while path.peek().is_some() {
        let start = path.at;
        let segment = path.segment()?;
        if segments.len() == MAX_DEPTH {
            let message = format!("the path has more than {MAX_DEPTH} steps");
            return Err(bare_error(path.span(start), message));
        }
        check(&segments, &segment, path.span(start), &text[..record.end])?;
        segments.push(segment);
    }
    Ok((RecordRef { source, index }, segments))
}

/// Whether `segment` may follow `before`: first a field of the record, more only below `value`.
fn check(
    before: &[PathSegment],
    segment: &PathSegment,
    span: Span,
    record: &str,
) -> Result<(), CompileError> {
    match (before.first(), segment) {
        (None, PathSegment::Field(name)) if RECORD_FIELDS.contains(&name.as_str()) => Ok(()),
        (None, PathSegment::Field(name)) => Err(hints::unknown_record_field(span, record, name)),
        (None, _) => {
            let message = format!("`{}` is a record: it has no index", clip(record));
            let hint = format!(
                "write `.value` and the index after it; {}",
                hints::record_fields()
            );
            Err(error(span, message, hint))
        }
        (Some(PathSegment::Field(name)), _) if name == "value" => Ok(()),
        (Some(first), _) => Err(bare_error(
            span,
            format!("`{}{first}` has nothing below it", clip(record)),
        )),
    }
}

struct PathText<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> PathText<'t> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let eaten = self.peek() == Some(wanted);
        if eaten {
            self.at += wanted.len_utf8();
        }
        eaten
    }

    /// From `start` to here.
    fn span(&self, start: usize) -> Span {
        Span {
            start,
            end: self.at,
        }
    }

    /// The next character.
    fn here(&self) -> Span {
        let len = self.peek().map_or(0, char::len_utf8);
        Span {
            start: self.at,
            end: self.at + len,
        }
    }

    /// A name: anything but dots, brackets, quotes and blanks.
    fn name(&mut self, what: &str) -> Result<&'t str, CompileError> {
        let rest = &self.text[self.at..];
        let stops =
            |char: char| ".[]\"'`".contains(char) || char.is_whitespace() || char.is_control();
        let len = rest.find(stops).unwrap_or(rest.len());
        if len == 0 {
            return Err(self.expected(what));
        }
        self.at += len;
        Ok(&rest[..len])
    }

    fn expected(&self, what: &str) -> CompileError {
        let found = match self.peek() {
            Some(char) => format!("`{}`", char.escape_debug()),
            None => "the end".to_string(),
        };
        let hint = "a path is a source, then `.field` and `[index]` steps, as in `legs[payload.leg].value.open`";
        error(self.here(), format!("expected {what}, found {found}"), hint)
    }

    fn segment(&mut self) -> Result<PathSegment, CompileError> {
        if self.eat('.') {
            return Ok(PathSegment::Field(self.name("a field")?.to_string()));
        }
        match self.peek() {
            Some('[') => Ok(PathSegment::Index(self.index()?)),
            _ => Err(self.expected("`.` or `[`")),
        }
    }

    /// The key of a keyed source: no number.
    fn key(&mut self) -> Result<Index, CompileError> {
        let start = self.at;
        match self.index()? {
            Index::Number(_) => Err(error(self.span(start), "a key is a string", KEY_FORMS)),
            index => Ok(index),
        }
    }

    /// An index with its brackets.
    fn index(&mut self) -> Result<Index, CompileError> {
        self.at += 1;
        let index = match self.peek() {
            Some('"' | '\'') => Index::Literal(self.quoted()?),
            Some(char) if char.is_ascii_digit() => self.number()?,
            _ => self.variable()?,
        };
        match self.eat(']') {
            true => Ok(index),
            false => Err(self.expected("`]`")),
        }
    }

    fn number(&mut self) -> Result<Index, CompileError> {
        let start = self.at;
        let rest = &self.text[start..];
        let len = rest
            .find(|char: char| !char.is_ascii_digit())
            .unwrap_or(rest.len());
        self.at += len;
        match rest[..len].parse() {
            Ok(number) => Ok(Index::Number(number)),
            Err(_) => Err(bare_error(self.span(start), "this index is too large")),
        }
    }

    fn quoted(&mut self) -> Result<String, CompileError> {
        let start = self.at;
        let quote = self.peek();
        let mut chars = self.text[start..].char_indices().skip(1);
        let mut literal = String::new();
        while let Some((offset, char)) = chars.next() {
            match char {
                '\\' => match chars.next() {
                    Some((_, escaped @ ('\\' | '"' | '\''))) => literal.push(escaped),
                    _ => {
                        self.at = start + offset;
                        let message = "only `\\\\`, `\\\"` and `\\'` are escapes in a path";
                        return Err(bare_error(self.here(), message));
                    }
                },
                char if Some(char) == quote => {
                    self.at = start + offset + char.len_utf8();
                    return Ok(literal);
                }
                char => literal.push(char),
            }
        }
        Err(bare_error(self.here(), "this string is never closed"))
    }

    /// `payload.a["b"]`, `component.id`
    fn variable(&mut self) -> Result<Index, CompileError> {
        let start = self.at;
        let variable = self.name("an index").map_err(|mut error| {
            error.hint = Some(INDEX_FORMS.to_string());
            error
        })?;
        let mut names = Vec::new();
        loop {
            if self.eat('.') {
                names.push(self.name("a field")?.to_string());
            } else if self.peek() == Some('[') {
                self.at += 1;
                match self.peek() {
                    Some('"' | '\'') => names.push(self.quoted()?),
                    _ => return Err(self.expected("a string")),
                }
                if !self.eat(']') {
                    return Err(self.expected("`]`"));
                }
            } else {
                break;
            }
        }
        let span = self.span(start);
        let fields: Vec<&str> = names.iter().map(String::as_str).collect();
        match (variable, &*fields) {
            ("payload", [_, ..]) => Ok(Index::Payload(names)),
            ("component", ["id"]) => Ok(Index::ComponentId),
            ("component", ["response"]) => Ok(Index::ComponentResponse),
            ("component", ["digest"]) => Ok(Index::ComponentDigest),
            ("component", [name]) if !COMPONENT_FIELDS.contains(name) => {
                let message = format!("`component` has no field `{}`", clip(name));
                let hint = did_you_mean(name, ["id", "response", "digest"].into_iter(), "fields");
                Err(error(span, message, hint))
            }
            _ => {
                let message = format!("`{}` is no index", clip(&self.text[start..self.at]));
                Err(error(span, message, INDEX_FORMS))
            }
        }
    }
}
