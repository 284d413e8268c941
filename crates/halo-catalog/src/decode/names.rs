//! The names of one section, and who asked for them.

use crate::{
    cursor::Findings,
    suggest,
    yaml::{Key, Mark, Yaml},
};
use std::collections::HashMap;

/// Longest name.
const MAX_NAME: usize = 128;

/// The names of one section, in catalog order.
pub(super) struct Names {
    /// What they name: `route`.
    kind: &'static str,
    list: Vec<Name>,
    index: HashMap<String, u16>,
}

struct Name {
    text: String,
    mark: Mark,
    used: bool,
}

impl Names {
    pub(super) fn new(kind: &'static str) -> Self {
        Self {
            kind,
            list: Vec::new(),
            index: HashMap::new(),
        }
    }
    /// Takes a name. One that is badly formed is taken too, so that what refers to it is not at fault.
    pub(super) fn declare(&mut self, findings: &mut Findings<'_>, key: &Key) {
        check_name(findings, &key.text, key.mark, self.kind);
        let position = u16::try_from(self.list.len()).unwrap_or(u16::MAX);
        self.index.insert(key.text.clone(), position);
        self.list.push(Name {
            text: key.text.clone(),
            mark: key.mark,
            used: false,
        });
    }
    /// The position of the name that `node` gives; a finding where there is none.
    pub(super) fn resolve(&mut self, findings: &mut Findings<'_>, node: &Yaml) -> Option<u16> {
        let text = findings.text(node, &format!("the name of {}", article(self.kind)))?;
        if let Some(&position) = self.index.get(text) {
            self.mark_used(position);
            return Some(position);
        }
        // What was meant is hardly unused.
        let meant = suggest::nearest(text, self.list()).map(str::to_owned);
        if let Some(&position) = meant.as_ref().and_then(|name| self.index.get(name)) {
            self.mark_used(position);
        }
        let message = format!("unknown {} `{text}`", self.kind);
        match suggest::hint(text, self.list(), &format!("known {}s", self.kind)) {
            Some(hint) => findings.error_hint(node.mark, message, hint),
            None => {
                let hint = format!(
                    "the catalog has no {}s; declare it in `{}s`",
                    self.kind, self.kind
                );
                findings.error_hint(node.mark, message, hint);
            }
        }
        None
    }
    /// Says that something refers to it.
    pub(super) fn mark_used(&mut self, position: u16) {
        if let Some(name) = self.list.get_mut(usize::from(position)) {
            name.used = true;
        }
    }
    /// Says that everything whose name stands in `text` is referred to: it can't be told better.
    pub(super) fn mark_named_in(&mut self, text: &str) {
        for name in &mut self.list {
            name.used |= text.contains(&name.text);
        }
    }
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }
    pub(super) fn list(&self) -> impl Iterator<Item = &str> + Clone {
        self.list.iter().map(|name| name.text.as_str())
    }
    pub(super) fn get(&self, position: u16) -> &str {
        self.list
            .get(usize::from(position))
            .map_or("", |name| &name.text)
    }
    pub(super) fn index(&self) -> HashMap<String, u16> {
        self.index.clone()
    }
    /// Warns of every name that nothing refers to.
    pub(super) fn lint_unused(&self, findings: &mut Findings<'_>, hint: &str) {
        for name in self.list.iter().filter(|name| !name.used) {
            let message = format!("the {} `{}` is never used", self.kind, name.text);
            findings.warning(name.mark, message, hint);
        }
    }
}

/// `a route`, `an issuer`.
pub(super) fn article(kind: &str) -> String {
    match kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {kind}"),
        false => format!("a {kind}"),
    }
}

/// Checks how a name is written.
pub(super) fn check_name(findings: &mut Findings<'_>, text: &str, mark: Mark, kind: &str) {
    let mut chars = text.chars();
    let first = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let rest = chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !(first && rest && text.len() <= MAX_NAME) {
        findings.error_hint(
            mark,
            format!("`{text}` can't name {}", article(kind)),
            "a name starts with a letter or `_`, goes on with letters, digits, `_` and `-`, and has at most 128 characters",
        );
    }
}
