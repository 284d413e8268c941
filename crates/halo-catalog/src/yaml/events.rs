//! From the events of the YAML parser to the tree.

use super::{
    Data, Key, MAX_DEPTH, Mark, Yaml, check_duplicates,
    place::Places,
    scalar::{self, ScalarFault},
};
use crate::cursor::Findings;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

/// Reads one YAML document. Nothing: there is no tree at all; the findings say why.
pub(super) fn read<'t>(findings: &mut Findings<'t>, text: &'t str) -> Option<Yaml> {
    let mut reader = Reader {
        findings,
        places: Places::new(text),
        stack: Vec::new(),
        root: None,
        documents: 0,
    };
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let go_on = match event {
            Ok((event, span)) => reader.event(event, span),
            Err(error) => {
                reader.syntax(&error);
                false
            }
        };
        if !go_on {
            return None;
        }
    }
    if reader.root.is_none() {
        let mark = reader.places.at(1, 1);
        let hint = "a file holds one YAML or JSON document";
        reader.findings.error_hint(mark, "the file is empty", hint);
    }
    reader.root
}

/// A collection that is still open.
enum Frame {
    Sequence {
        mark: Mark,
        items: Vec<Yaml>,
    },
    Mapping {
        mark: Mark,
        entries: Vec<(Key, Yaml)>,
        key: Pending,
    },
}

/// What of the current entry was seen.
enum Pending {
    /// Nothing: the next node is a key.
    None,
    /// Its key.
    Key(Key),
    /// A key that was refused: its value is read and dropped.
    Refused,
}

struct Reader<'f, 't> {
    findings: &'f mut Findings<'t>,
    places: Places<'t>,
    stack: Vec<Frame>,
    root: Option<Yaml>,
    documents: usize,
}

impl Reader<'_, '_> {
    /// Takes one event. False: reading on makes no sense.
    fn event(&mut self, event: Event<'_>, span: Span) -> bool {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    let mark = self.mark(span.start);
                    self.findings.error_hint(
                        mark,
                        "a second document starts here",
                        "a file holds one document; put the other one into a file of its own",
                    );
                    return false;
                }
            }
            Event::Alias(_) => {
                let mark = self.scalar_mark(span);
                self.alias(mark);
                self.place(Yaml {
                    mark,
                    data: Data::Null,
                });
            }
            Event::Scalar(text, style, anchor, tag) => {
                let mark = self.scalar_mark(span);
                self.properties(mark, anchor, tag.is_some());
                self.scalar(&text, style, mark);
            }
            Event::SequenceStart(anchor, tag) => {
                let mark = self.mark(span.start);
                self.properties(mark, anchor, tag.is_some());
                return self.open(Frame::Sequence {
                    mark,
                    items: Vec::new(),
                });
            }
            Event::MappingStart(anchor, tag) => {
                let mark = self.mark(span.start);
                self.properties(mark, anchor, tag.is_some());
                return self.open(Frame::Mapping {
                    mark,
                    entries: Vec::new(),
                    key: Pending::None,
                });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        true
    }
    fn open(&mut self, frame: Frame) -> bool {
        let (Frame::Sequence { mark, .. } | Frame::Mapping { mark, .. }) = &frame;
        if self.stack.len() >= MAX_DEPTH {
            self.findings.error_hint(
                *mark,
                "nested deeper than 128 levels",
                "no file of this kind needs that",
            );
            return false;
        }
        self.stack.push(frame);
        true
    }
    fn close(&mut self) {
        let node = match self.stack.pop() {
            Some(Frame::Sequence { mark, items }) => Yaml {
                mark,
                data: Data::Sequence(items),
            },
            Some(Frame::Mapping { mark, entries, .. }) => {
                check_duplicates(self.findings, &entries);
                Yaml {
                    mark,
                    data: Data::Mapping(entries),
                }
            }
            None => return,
        };
        self.place(node);
    }
    fn scalar(&mut self, text: &str, style: ScalarStyle, mark: Mark) {
        if let Some(Frame::Mapping {
            key: key @ Pending::None,
            ..
        }) = self.stack.last_mut()
        {
            *key = if style == ScalarStyle::Plain && text == "<<" {
                self.findings.error_hint(
                    mark,
                    "merge keys are not allowed",
                    "write the members out; `\"<<\"` in quotes is a key like any other",
                );
                Pending::Refused
            } else {
                Pending::Key(Key {
                    mark,
                    text: text.to_owned(),
                })
            };
            return;
        }
        let data = if style == ScalarStyle::Plain {
            scalar::resolve(text).unwrap_or_else(|fault| {
                let (message, hint) = match fault {
                    ScalarFault::NotFinite => (
                        format!("`{text}` is no JSON number"),
                        "write a finite number, or quote it if text is meant",
                    ),
                    ScalarFault::TooLarge => (
                        format!("the number `{text}` is too large"),
                        "quote it if text is meant",
                    ),
                };
                self.findings.error_hint(mark, message, hint);
                Data::Null
            })
        } else {
            Data::String(text.to_owned())
        };
        self.place(Yaml { mark, data });
    }
    /// Puts a complete node where it belongs.
    fn place(&mut self, node: Yaml) {
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame::Sequence { items, .. }) => items.push(node),
            Some(Frame::Mapping { entries, key, .. }) => {
                match std::mem::replace(key, Pending::None) {
                    Pending::Key(key) => entries.push((key, node)),
                    Pending::Refused => {}
                    Pending::None => {
                        *key = Pending::Refused;
                        // An alias was reported as such; its text would have been a fine key.
                        if !matches!(node.data, Data::Null) {
                            let message = format!("{} can't be a key", node.kind());
                            let hint = "keys are text; quote it";
                            self.findings.error_hint(node.mark, message, hint);
                        }
                    }
                }
            }
        }
    }
    /// Refuses anchors and tags, which stand at the start of their node.
    fn properties(&mut self, mark: Mark, anchor: usize, tag: bool) {
        if anchor == 0 && !tag {
            return;
        }
        let source = self.findings.source();
        let mut rest = source.get(mark.offset..).unwrap_or_default();
        let mut mark = Mark { len: 0, ..mark };
        while rest.starts_with(['&', '!']) {
            mark.len = rest
                .find(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}'))
                .unwrap_or(rest.len());
            if rest.starts_with('&') {
                let hint = "write the value out at each place";
                self.findings
                    .error_hint(mark, "anchors are not allowed", hint);
            } else {
                let hint = "remove it; quotes make text of a number";
                self.findings.error_hint(mark, "tags are not allowed", hint);
            }
            rest = rest.get(mark.len..).unwrap_or_default();
            let next = rest.trim_start_matches([' ', '\t']);
            let skipped = mark.len + (rest.len() - next.len());
            mark.offset += skipped;
            // Anchors and tags are seldom anything but ASCII; a name that is not shifts the column of the second one.
            mark.column += skipped as u32;
            rest = next;
        }
    }
    fn alias(&mut self, mark: Mark) {
        let hint = "write the value out; quote text that starts with `*`";
        self.findings
            .error_hint(mark, "aliases are not allowed", hint);
    }
    fn mark(&mut self, marker: Marker) -> Mark {
        let line = u32::try_from(marker.line()).unwrap_or(u32::MAX);
        let column = u32::try_from(marker.col() + 1).unwrap_or(u32::MAX);
        self.places.at(line.max(1), column)
    }
    fn scalar_mark(&mut self, span: Span) -> Mark {
        let mut start = self.mark(span.start);
        let end = self.mark(span.end);
        start.len = end.offset.saturating_sub(start.offset);
        start
    }
    /// A finding of the parser, in words that help.
    fn syntax(&mut self, error: &ScanError) {
        let mark = self.mark(*error.marker());
        let info = error.info();
        if info.contains("unknown anchor") {
            let rest = self
                .findings
                .source()
                .get(mark.offset..)
                .unwrap_or_default();
            let len = rest
                .find(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}'))
                .unwrap_or(rest.len());
            return self.alias(Mark { len, ..mark });
        }
        let (message, hint) = explain(info);
        match hint {
            Some(hint) => self.findings.error_hint(mark, message, hint),
            None => self.findings.error(mark, message),
        }
    }
}

/// A part of the parser's message, our message, a way out: of the usual mistakes.
const KNOWN: [(&str, &str, &str); 14] = [
    (
        "mapping values are not allowed",
        "a `: ` is not expected here",
        "quote text that contains `: `, and check the indentation",
    ),
    (
        "simple key expect",
        "expected `:` after the key",
        "a key and its `:` stand in one line",
    ),
    (
        "flow mapping, did not find expected",
        "expected `,` or `}`",
        "close the `{`, and quote text that contains `,`, `{` or `}`",
    ),
    (
        "flow sequence, expected",
        "expected `,` or `]`",
        "close the `[`, and quote text that contains `,`, `[` or `]`",
    ),
    (
        "did not find expected key",
        "expected a key",
        "check the indentation: the keys of one mapping start in one column",
    ),
    (
        "did not find expected '-'",
        "expected `- `",
        "check the indentation: the items of one list start in one column",
    ),
    (
        "tabs disallowed",
        "a tab can't indent",
        "indent with spaces",
    ),
    (
        "tab cannot be used",
        "a tab can't indent",
        "indent with spaces",
    ),
    (
        "unexpected end of stream",
        "the quotes are never closed",
        "close the quotes",
    ),
    (
        "unknown escape character",
        "unknown escape in a text in double quotes",
        "write `\\\\` for a backslash, or use single quotes",
    ),
    (
        "invalid Unicode character escape",
        "the escape is no Unicode character",
        "write the character itself, or `\\U0001F600`",
    ),
    (
        "trailing content after double-quoted",
        "unexpected text after the closing quote",
        "put the whole text into quotes, or separate the values",
    ),
    (
        "recursion limit",
        "nested deeper than 128 levels",
        "no file of this kind needs that",
    ),
    (
        "unexpected character: `@'",
        "text can't start with `@`",
        "quote it",
    ),
];

/// The parser's message in our words.
fn explain(info: &str) -> (String, Option<&'static str>) {
    match KNOWN.iter().find(|(part, ..)| info.contains(part)) {
        Some((_, message, hint)) => ((*message).to_owned(), Some(hint)),
        None => (
            format!("not YAML: {info}"),
            Some("check the indentation, the quotes and the brackets around this place"),
        ),
    }
}
