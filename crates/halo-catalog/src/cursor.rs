//! Typed access to the nodes of a file; what does not fit is a finding and gives nothing.
//!
//! For every YAML format of the product: unknown fields, wrong kinds and misspelled words are reported alike everywhere.

use crate::{
    suggest,
    yaml::{Data, Key, Mark, Yaml},
};
use halo_canon::{Builder, Duration};

pub use crate::findings::Findings;

/// The most entries of a list or mapping: positions are 16 bits wide.
pub const MAX_COUNT: usize = 65_535;

/// Longest label (an assignee, the catalog's name), in characters.
const MAX_LABEL: usize = 256;

/// A mapping with known fields.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'y> {
    entries: &'y [(Key, Yaml)],
    /// What it is, for messages: `a route`.
    what: &'static str,
    /// Where a missing field is reported: at the name of the thing.
    place: Mark,
}

impl<'y> Fields<'y> {
    /// Opens a mapping and reports every field that is not one of `known`.
    pub fn open(
        findings: &mut Findings<'_>,
        node: &'y Yaml,
        place: Mark,
        what: &'static str,
        known: &[&str],
    ) -> Option<Self> {
        let Data::Mapping(entries) = &node.data else {
            let message = format!("expected {what} as a mapping, found {}", node.kind());
            let hint = match known {
                [] => "write `{}`".to_owned(),
                _ => format!("its fields: {}", quoted(known)),
            };
            findings.error_hint(node.mark, message, hint);
            return None;
        };
        for (key, _) in entries {
            if known.contains(&key.text.as_str()) {
                continue;
            }
            let message = format!("unknown field `{}` in {what}", key.text);
            match suggest::hint(&key.text, known.iter().copied(), "known fields") {
                Some(hint) => findings.error_hint(key.mark, message, hint),
                None => findings.error_hint(
                    key.mark,
                    message,
                    "there is nothing to say here: write `{}`",
                ),
            }
        }
        Some(Self {
            entries,
            what,
            place,
        })
    }
    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&'y Yaml> {
        self.entry(name).map(|(_, value)| value)
    }
    /// Where a field's name stands.
    pub fn key(&self, name: &str) -> Option<Mark> {
        self.entry(name).map(|(key, _)| key.mark)
    }
    fn entry(&self, name: &str) -> Option<&'y (Key, Yaml)> {
        self.entries.iter().find(|(key, _)| key.text == name)
    }
    /// The value of a field that must be there.
    pub fn need(&self, findings: &mut Findings<'_>, name: &'static str) -> Option<&'y Yaml> {
        let value = self.get(name);
        if value.is_none() {
            let message = format!("{} needs `{name}`", self.what);
            findings.error_hint(self.place, message, format!("add `{name}: …`"));
        }
        value
    }
}

/// `` `a`, `b` ``
pub fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

impl Findings<'_> {
    fn mismatch(&mut self, node: &Yaml, what: &str, expected: &str, hint: Option<String>) {
        let message = format!("expected {expected} for {what}, found {}", node.kind());
        match hint {
            Some(hint) => self.error_hint(node.mark, message, hint),
            None => self.error(node.mark, message),
        }
    }
    /// Text.
    pub fn text<'y>(&mut self, node: &'y Yaml, what: &str) -> Option<&'y str> {
        if let Data::String(text) = &node.data {
            return Some(text);
        }
        let written = self
            .source()
            .get(node.mark.offset..node.mark.offset + node.mark.len)
            .unwrap_or_default();
        let hint = match &node.data {
            Data::Number(_) | Data::Bool(_) => Some(format!("quote it: `\"{written}\"`")),
            _ => None,
        };
        self.mismatch(node, what, "text", hint);
        None
    }
    /// Text in one line, not empty: something that people name as they like.
    pub fn label(&mut self, node: &Yaml, what: &str) -> Option<String> {
        let text = self.text(node, what)?;
        let fits = !text.is_empty() && text.chars().count() <= MAX_LABEL;
        if fits && !text.chars().any(char::is_control) {
            return Some(text.to_owned());
        }
        self.error_hint(
            node.mark,
            format!("{what} must be text of one line"),
            "1 to 256 characters, none of them a control character",
        );
        None
    }
    /// A boolean.
    pub fn flag(&mut self, node: &Yaml, what: &str) -> Option<bool> {
        if let Data::Bool(value) = &node.data {
            return Some(*value);
        }
        let hint = match node.as_str() {
            Some(text @ ("on" | "off" | "yes" | "no")) => {
                format!("write `true` or `false`; `{text}` is text in YAML 1.2")
            }
            _ => "write `true` or `false`".to_owned(),
        };
        self.mismatch(node, what, "a boolean", Some(hint));
        None
    }
    /// A whole number within bounds. `1.0` and `1e0` are whole too.
    pub fn count(&mut self, node: &Yaml, what: &str, min: u64, max: u64) -> Option<u64> {
        let hint = format!("a whole number from {min} to {max}");
        let Data::Number(literal) = &node.data else {
            self.mismatch(node, what, "a number", Some(hint));
            return None;
        };
        if Builder::new().literal(literal).is_err() {
            // No number at all (P1), which is said of every such literal of the file.
            return None;
        }
        let value: f64 = literal.parse().unwrap_or(f64::NAN);
        if value.fract() == 0.0 && value >= min as f64 && value <= max as f64 {
            return Some(value as u64);
        }
        let message = format!("`{literal}` is out of range for {what}");
        self.error_hint(node.mark, message, hint);
        None
    }
    /// A duration.
    pub fn duration(&mut self, node: &Yaml, what: &str) -> Option<Duration> {
        const HINT: &str = "durations are written `250ms`, `2s`, `5m` or `1h`";
        let Data::String(text) = &node.data else {
            self.mismatch(node, what, "a duration", Some(HINT.to_owned()));
            return None;
        };
        match Duration::parse(text) {
            Ok(duration) => Some(duration),
            Err(_) => {
                let message = format!("`{text}` is no duration");
                self.error_hint(node.mark, message, HINT);
                None
            }
        }
    }
    /// A duration above zero.
    pub fn positive(&mut self, node: &Yaml, what: &str) -> Option<Duration> {
        let duration = self.duration(node, what)?;
        if duration > Duration::ZERO {
            return Some(duration);
        }
        let message = format!("{what} must be longer than nothing");
        self.error_hint(node.mark, message, "write a duration such as `30s`");
        None
    }
    /// One of a few words.
    pub fn choice<T: Copy>(
        &mut self,
        node: &Yaml,
        what: &str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let Data::String(text) = &node.data else {
            let hint = format!("one of {}", quoted(&names));
            self.mismatch(node, what, "a word", Some(hint));
            return None;
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| word == text) {
            return Some(*value);
        }
        let message = format!("`{text}` is nothing that {what} can be");
        match suggest::hint(text, names.iter().copied(), "one of") {
            Some(hint) => self.error_hint(node.mark, message, hint),
            None => self.error(node.mark, message),
        }
        None
    }
    /// A list.
    pub fn list<'y>(&mut self, node: &'y Yaml, what: &str) -> Option<&'y [Yaml]> {
        let Data::Sequence(items) = &node.data else {
            let hint = match &node.data {
                Data::String(text) => Some(format!("write `[{text}]`")),
                _ => None,
            };
            self.mismatch(node, what, "a list", hint);
            return None;
        };
        self.few(node, what, items.len()).then_some(items)
    }
    /// The entries of a mapping.
    pub fn entries<'y>(&mut self, node: &'y Yaml, what: &str) -> Option<&'y [(Key, Yaml)]> {
        let Data::Mapping(entries) = &node.data else {
            let hint = match &node.data {
                Data::Null => Some("write `{}`, or leave it out".to_owned()),
                _ => None,
            };
            self.mismatch(node, what, "a mapping", hint);
            return None;
        };
        self.few(node, what, entries.len()).then_some(entries)
    }
    fn few(&mut self, node: &Yaml, what: &str, count: usize) -> bool {
        if count > MAX_COUNT {
            let message = format!("{count} entries in {what} are too many");
            self.error_hint(node.mark, message, "at most 65535");
        }
        count <= MAX_COUNT
    }
}
