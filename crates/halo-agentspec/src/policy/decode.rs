//! From the text of a policy file to a [`Policy`], collecting every finding.

use super::{Origin, Policy, Scope};
use crate::{
    Mode,
    fault::Faults,
    lint::Lint,
    names::STRICT_PREDICATES,
    parse::{MAX_RULES, parse},
    place::Held,
    syntax::Rule,
};
use halo_canon::{Builder, Digest};
use halo_catalog::{
    Diagnostic, Severity,
    cursor::{Fields, Findings},
    decode::place_within,
    suggest,
    yaml::{self, Key, Yaml},
};
use halo_cel::{Environment, Expect, Program, RecordTable, SourceDecl};
use std::collections::{BTreeMap, BTreeSet};

/// Most texts of rules, and most predicates, of one policy.
const MAX_ENTRIES: usize = 1024;

/// What a policy is checked against: the catalog whose responses it is for.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The catalog's sources, in its order; their positions are what the policy's records refer to.
    pub sources: &'a [SourceDecl],
    /// The catalog's types.
    pub types: &'a [&'a str],
}

/// A file of rules, read by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleText {
    /// As it is to be named in findings.
    pub file: String,
    /// What it holds.
    pub text: String,
}

/// What decoding gives: the policy if there was no error, and all diagnostics either way.
#[derive(Debug)]
pub struct Decoded {
    /// The policy.
    pub policy: Option<Policy>,
    /// Errors and warnings: of the policy file first, then of the rule files, each in order of their place.
    pub diagnostics: Vec<Diagnostic>,
    /// The rule files that were read.
    pub texts: Vec<RuleText>,
}

/// Decodes a policy file. `read` gives the rule files that it names, or says why not; `surroundings` is its catalog,
/// where there is one.
pub fn decode(
    file: &str,
    text: &str,
    read: &dyn Fn(&str) -> Result<RuleText, String>,
    surroundings: Option<Surroundings<'_>>,
) -> Decoded {
    let tree = match yaml::parse(file, text) {
        Ok(tree) => tree,
        Err(diagnostics) => {
            return Decoded {
                policy: None,
                diagnostics,
                texts: Vec::new(),
            };
        }
    };
    let mut decoder = Decoder {
        file,
        findings: Findings::new(file, text),
        surroundings,
        read,
        of_files: Vec::new(),
        texts: Vec::new(),
    };
    let policy = decoder.root(&tree);
    let mut diagnostics = decoder.findings.sorted();
    diagnostics.append(&mut decoder.of_files);
    let errors = diagnostics
        .iter()
        .any(|finding| finding.severity == Severity::Error);
    Decoded {
        policy: policy.filter(|_| !errors),
        diagnostics,
        texts: decoder.texts,
    }
}

/// The work on one file.
struct Decoder<'a> {
    file: &'a str,
    findings: Findings<'a>,
    surroundings: Option<Surroundings<'a>>,
    read: &'a dyn Fn(&str) -> Result<RuleText, String>,
    /// What was found in rule files.
    of_files: Vec<Diagnostic>,
    texts: Vec<RuleText>,
}

/// The fields of the file.
const FIELDS: [&str; 7] = [
    "halo",
    "policy",
    "scope",
    "mode",
    "sources",
    "predicates",
    "rules",
];

impl Decoder<'_> {
    fn root(&mut self, tree: &Yaml) -> Option<Policy> {
        if let Err((mark, fault)) = tree.to_document() {
            let hint = "whole numbers go to 9007199254740991; quote it if text is meant";
            self.findings.error_hint(mark, fault.to_string(), hint);
        }
        let findings = &mut self.findings;
        let fields = Fields::open(findings, tree, tree.mark, "the policy", &FIELDS)?;
        let halo = fields.need(findings, "halo");
        let format = halo.and_then(|node| findings.choice(node, "`halo`", &[("v1", ())]));
        let name = fields.need(findings, "policy");
        let name = name.and_then(|node| findings.label(node, "`policy`"));
        let scope = match fields.get("scope") {
            Some(node) => findings.choice(node, "`scope`", &SCOPES),
            None => Some(Scope::Component),
        };
        let mode = match fields.get("mode") {
            Some(node) => findings.choice(node, "`mode`", &MODES),
            None => Some(Mode::Extended),
        };
        let sources = self.sources(fields.get("sources"))?;
        let mut records = RecordTable::default();
        let predicates = match fields.get("predicates") {
            Some(node) => self.predicates(node, mode, &sources, &mut records),
            None => Some(Predicates::default()),
        };
        // A word that is no mode or scope was reported; what it leaves open is not guessed.
        let mut lint = Lint {
            scope: scope?,
            predicates: &predicates.as_ref()?.names,
            types: self.surroundings.map(|surroundings| surroundings.types),
            seen: BTreeMap::new(),
            used: BTreeSet::new(),
        };
        let rules = self.rules(&fields, mode?, &mut lint);
        let used = lint.used;
        let predicates = predicates?;
        self.unused(&predicates, &used);
        let rules = rules?;
        let content = self.content(tree)?;
        format?;
        let (rules, origins) = rules.into_iter().unzip();
        Some(Policy {
            name: name?,
            scope: scope?,
            mode: mode?,
            rules,
            origins,
            predicates: predicates.programs,
            records,
            sources,
            content,
        })
    }

    /// What predicates may read: the catalog's sources, where it is given, else the policy's own.
    fn sources(&mut self, node: Option<&Yaml>) -> Option<Vec<SourceDecl>> {
        let entries = match node {
            Some(node) => self.findings.entries(node, "`sources`")?,
            None => &[],
        };
        let mut declared = Vec::new();
        for (key, node) in entries {
            let findings = &mut self.findings;
            let fields = Fields::open(findings, node, key.mark, "a source", &["keyed"]);
            let keyed = fields
                .and_then(|fields| fields.get("keyed"))
                .and_then(|node| findings.flag(node, "`keyed`"));
            let source = SourceDecl {
                name: key.text.clone(),
                keyed: keyed.unwrap_or(false),
            };
            self.same_in_catalog(key, &source);
            declared.push(source);
        }
        Some(match self.surroundings {
            Some(surroundings) => surroundings.sources.to_vec(),
            None => declared,
        })
    }

    fn same_in_catalog(&mut self, key: &Key, declared: &SourceDecl) {
        let Some(surroundings) = self.surroundings else {
            return;
        };
        let mut sources = surroundings.sources.iter();
        let (message, hint) = match sources.find(|source| source.name == declared.name) {
            Some(source) if source.keyed == declared.keyed => return,
            Some(source) => (
                format!("the catalog's source `{}` is declared otherwise", key.text),
                format!("write `{}: {{keyed: {}}}`", key.text, source.keyed),
            ),
            None => {
                let names = surroundings.sources.iter().map(|source| &*source.name);
                let hint = suggest::hint(&key.text, names, "the catalog's sources");
                (
                    format!("the catalog has no source `{}`", key.text),
                    hint.unwrap_or_else(|| "the catalog has no sources".to_owned()),
                )
            }
        };
        self.findings.error_hint(key.mark, message, hint);
    }

    fn predicates<'y>(
        &mut self,
        node: &'y Yaml,
        mode: Option<Mode>,
        sources: &[SourceDecl],
        records: &mut RecordTable,
    ) -> Option<Predicates<'y>> {
        let entries = self.findings.entries(node, "`predicates`")?;
        self.few(node, entries.len(), "predicates")?;
        let mut predicates = Predicates::default();
        for (key, node) in entries {
            self.predicate_name(key, mode);
            predicates.names.insert(key.text.clone());
            predicates.keys.push(key);
            if let Some(program) = self.predicate(node, sources, records) {
                predicates.programs.insert(key.text.clone(), program);
            }
        }
        Some(predicates)
    }

    /// A name that no rule could ask for is a mistake.
    fn predicate_name(&mut self, key: &Key, mode: Option<Mode>) {
        let mut chars = key.text.chars();
        let first = chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let is_name = first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || crate::names::KEYWORDS.contains(&&*key.text) {
            self.findings.error_hint(
                key.mark,
                format!("`{}` can't name a predicate", key.text),
                "letters, digits and `_`, and no word of the rule language",
            );
        } else if mode == Some(Mode::Strict) && !STRICT_PREDICATES.contains(&&*key.text) {
            let open = "`mode: extended` takes any name";
            let near = suggest::nearest(&key.text, STRICT_PREDICATES.into_iter());
            let hint = match near {
                Some(near) => format!("did you mean `{near}`? {open}"),
                None => open.to_owned(),
            };
            let message = format!("strict mode has no predicate `{}`", key.text);
            self.findings.error_hint(key.mark, message, hint);
        }
    }

    fn predicate(
        &mut self,
        node: &Yaml,
        sources: &[SourceDecl],
        records: &mut RecordTable,
    ) -> Option<Program> {
        let text = self.findings.text(node, "a predicate")?;
        let environment = Environment {
            sources,
            state: true,
        };
        match Program::compile(text, environment, Expect::Bool, records) {
            Ok(program) => Some(program),
            Err(errors) => {
                for error in errors {
                    let source = self.findings.source();
                    let mark = place_within(source, node.mark, text, error.span);
                    let hint = error.hint.unwrap_or_else(|| PREDICATE_HINT.to_owned());
                    self.findings.error_hint(mark, error.message, hint);
                }
                None
            }
        }
    }

    /// The rules of all texts, in their order.
    fn rules(
        &mut self,
        fields: &Fields<'_>,
        mode: Mode,
        lint: &mut Lint<'_>,
    ) -> Option<Vec<(Rule, Origin)>> {
        let node = fields.need(&mut self.findings, "rules")?;
        let items = self.findings.list(node, "`rules`")?;
        self.few(node, items.len(), "texts of rules")?;
        let mut rules = Some(Vec::new());
        for item in items {
            let more = self.text_of_rules(item, mode, lint);
            rules = rules.zip(more).map(|(mut rules, more)| {
                rules.extend(more);
                rules
            });
        }
        let rules = rules?;
        if rules.is_empty() || rules.len() > MAX_RULES {
            let message = match rules.len() {
                0 => "there is no rule, and what no rule stops is allowed".to_owned(),
                count => format!("{count} rules are too many"),
            };
            let hint = "a policy has 1 to 4096 rules: `rule @name trigger … check … enforce … end`";
            self.findings.error_hint(node.mark, message, hint);
        }
        Some(rules)
    }

    /// An entry of `rules`: a file, or the text itself.
    fn text_of_rules(
        &mut self,
        item: &Yaml,
        mode: Mode,
        lint: &mut Lint<'_>,
    ) -> Option<Vec<(Rule, Origin)>> {
        let known = ["file", "text"];
        let fields = Fields::open(
            &mut self.findings,
            item,
            item.mark,
            "a text of rules",
            &known,
        )?;
        match (fields.get("file"), fields.get("text")) {
            (Some(node), None) => {
                let name = self.findings.label(node, "`file`")?;
                let held = match (self.read)(&name) {
                    Ok(held) => held,
                    Err(error) => {
                        let hint = "a file beside this one, unless the path is absolute";
                        self.findings.error_hint(node.mark, error, hint);
                        return None;
                    }
                };
                let mut findings = Findings::new(&held.file, &held.text);
                let place = Held::file(&held.text);
                let rules = rules_of(&held.file, place, &mut findings, mode, lint);
                self.of_files.extend(findings.sorted());
                self.texts.push(held);
                rules
            }
            (None, Some(node)) => {
                let value = self.findings.text(node, "`text`")?;
                let source = self.findings.source();
                let place = Held::scalar(source, node, value);
                rules_of(self.file, place, &mut self.findings, mode, lint)
            }
            _ => {
                let message = "a text of rules is a `file`, or the `text` itself";
                let hint = "write `{file: NAME}`, or `text: |` and the rules below it";
                self.findings.error_hint(item.mark, message, hint);
                None
            }
        }
    }

    fn unused(&mut self, predicates: &Predicates<'_>, used: &BTreeSet<String>) {
        for key in predicates
            .keys
            .iter()
            .filter(|key| !used.contains(&key.text))
        {
            let message = format!("the predicate `{}` is never used", key.text);
            self.findings
                .warning(key.mark, message, "no rule asks for it; remove it");
        }
    }

    fn few(&mut self, node: &Yaml, count: usize, what: &str) -> Option<()> {
        if count <= MAX_ENTRIES {
            return Some(());
        }
        let message = format!("{count} {what} are too many");
        self.findings.error_hint(node.mark, message, "at most 1024");
        None
    }

    /// The digest of all that decides: the file's canonical value and the texts of its rule files.
    fn content(&self, tree: &Yaml) -> Option<Digest> {
        let mut builder = Builder::new();
        builder.begin_object();
        builder.key("policy");
        tree.build(&mut builder).ok()?;
        builder.key("texts");
        builder.begin_array();
        for text in &self.texts {
            builder.string(&text.text);
        }
        builder.end_array();
        builder.end_object().ok()?;
        let document = builder.finish().ok()?;
        Some(Digest::of(document.root().to_canonical().as_bytes()))
    }
}

/// The predicates of a file.
#[derive(Default)]
struct Predicates<'y> {
    /// Also of those that do not compile.
    names: BTreeSet<String>,
    keys: Vec<&'y Key>,
    programs: BTreeMap<String, Program>,
}

/// The rules of one text with their places; what is wrong with it goes to `findings`.
fn rules_of(
    file: &str,
    held: Held<'_>,
    findings: &mut Findings<'_>,
    mode: Mode,
    lint: &mut Lint<'_>,
) -> Option<Vec<(Rule, Origin)>> {
    let mut faults = Faults::default();
    let rules = parse(held.text, mode, &mut faults);
    lint.rules(&rules, &mut faults);
    held.report(findings, &faults);
    let with_origin = |rule: Rule| {
        let origin = held.origin(file, &rule);
        (rule, origin)
    };
    (!faults.has_errors()).then(|| rules.into_iter().map(with_origin).collect())
}

/// What to do about an expression whose fault speaks for itself.
const PREDICATE_HINT: &str =
    "predicates are CEL and true where the rule is to act, as `payload.epoch != state.map.epoch`";

const SCOPES: [(&str, Scope); 2] = [
    ("component", Scope::Component),
    ("response", Scope::Response),
];
const MODES: [(&str, Mode); 2] = [("strict", Mode::Strict), ("extended", Mode::Extended)];

/// The word for one of a few.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    let found = words.iter().find(|(_, known)| known == value);
    found.map_or("", |(word, _)| word)
}

impl Scope {
    /// As a policy file spells it.
    pub fn word(self) -> &'static str {
        word(&SCOPES, &self)
    }
}

impl Mode {
    /// As a policy file spells it.
    pub fn word(self) -> &'static str {
        word(&MODES, &self)
    }
}
