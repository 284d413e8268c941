//! Standard output and error as people and programs want them: colour, signs, and text that cannot steer a terminal.

use serde::Serialize;
use std::{
    env,
    io::{self, BufWriter, IsTerminal, Stdout, Write},
    process::ExitCode,
};

/// What a command comes to. Of several, the largest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// Fine.
    Fine,
    /// The answer is no.
    No,
    /// Wrong usage, or input that cannot be used.
    Unusable,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        Self::from(verdict as u8)
    }
}

/// How a piece of text stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
    Cyan,
}

/// Text with the codes around it, where the stream shows colour.
pub(crate) fn painted(color: bool, paint: Paint, text: &str) -> String {
    let code = match paint {
        Paint::Bold => "1",
        Paint::Dim => "2",
        Paint::Red => "31",
        Paint::Green => "32",
        Paint::Yellow => "33",
        Paint::Blue => "34",
        Paint::Cyan => "36",
    };
    if color && !text.is_empty() {
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

/// Whether a character could steer a terminal or reorder a line: what agents and files bring is never printed so.
fn steers(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line of text with whatever could steer a terminal shown as its escape.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match steers(char) {
            true => shown.extend(char.escape_default()),
            false => shown.push(char),
        }
    }
    shown
}

/// The same with one column for each character, so that a caret below still points right.
pub(crate) fn plain_columns(text: &str) -> String {
    let column = |char| match char {
        '\t' => ' ',
        char if steers(char) => '\u{fffd}',
        char => char,
    };
    text.chars().map(column).collect()
}

/// At most `limit` characters of `text`.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(limit).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Both output streams. Writing to it writes to standard output.
#[derive(Debug)]
pub(crate) struct Screen {
    out: BufWriter<Stdout>,
    json: bool,
    color: bool,
    error_color: bool,
    /// The reader of standard output went away.
    closed: bool,
}

impl Screen {
    /// The process's streams.
    pub(crate) fn new(json: bool) -> Self {
        let wanted = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            out: BufWriter::new(io::stdout()),
            json,
            color: wanted && io::stdout().is_terminal(),
            error_color: wanted && io::stderr().is_terminal(),
            closed: false,
        }
    }

    /// Whether standard output is to hold JSON only.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Text for standard output, in colour where that is wanted.
    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        painted(self.color, paint, text)
    }

    /// Text for standard error, in colour where that is wanted.
    pub(crate) fn paint_error(&self, paint: Paint, text: &str) -> String {
        painted(self.error_color, paint, text)
    }

    /// Writes one line to standard error. That it cannot be written is no reason to stop.
    pub(crate) fn error_line(&mut self, text: &str) {
        // Both streams often are one terminal: what was said before comes first.
        let _ = self.flush();
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Says on standard error what is wrong.
    pub(crate) fn complain(&mut self, text: &str) {
        let sign = self.paint_error(Paint::Red, "error:");
        self.error_line(&format!("{sign} {}", plain(text)));
    }

    /// Writes a JSON document: over several lines, or in one where it is one of many.
    pub(crate) fn document(&mut self, document: &impl Serialize, one_line: bool) -> io::Result<()> {
        let text = match one_line {
            true => serde_json::to_string(document),
            false => serde_json::to_string_pretty(document),
        };
        writeln!(self, "{}", text.map_err(io::Error::from)?)
    }
}

/// A reader that went away is no error: the command goes on silently, so that its exit code still tells the answer.
impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        match self.out.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        match self.out.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            flushed => flushed,
        }
    }
}
