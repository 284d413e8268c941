//! From the text of a `halo.yaml` to a [`Deployment`], collecting every finding.

mod access;
mod calls;
mod cel;
mod entries;
mod entry;
mod tokens;

pub use entry::Entry;

use super::{Deployment, Kinds};
use halo_catalog::{
    Catalog, Diagnostic,
    cursor::{Fields, Findings},
    yaml::{self, Data, Key, Mark, Yaml},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The fields of the file.
const FIELDS: [&str; 12] = [
    "catalog",
    "data",
    "listen",
    "tokens",
    "paths",
    "adapters",
    "providers",
    "routes",
    "epoch_file",
    "retention",
    "hosts",
    "origins",
];
/// Where the data is, unless the file says otherwise.
const DATA: &str = "halo-data";
/// Most names that a hint lists.
const MAX_LISTED: usize = 16;

/// What decoding gives: the deployment if there was no error, and all diagnostics either way.
#[derive(Debug)]
pub struct Decoded {
    /// The deployment.
    pub deployment: Option<Deployment>,
    /// Errors and warnings, in order of their place.
    pub diagnostics: Vec<Diagnostic>,
}

/// The catalog's file, of a `halo.yaml` in `folder`: what the rest is checked against. Errors: all findings so far.
pub fn catalog_file(file: &str, text: &str, folder: &Path) -> Result<PathBuf, Vec<Diagnostic>> {
    let tree = yaml::parse(file, text)?;
    let mut findings = Findings::new(file, text);
    let path = Fields::open(&mut findings, &tree, start(text, &tree), WHAT, &FIELDS)
        .and_then(|fields| fields.need(&mut findings, "catalog"))
        .and_then(|node| findings.label(node, "`catalog`"));
    path.map(|path| folder.join(path))
        .ok_or_else(|| findings.sorted())
}

/// Decodes a `halo.yaml` in `folder` and checks it against its catalog; `environment` gives the values of variables, `kinds`
/// what domains add.
pub fn decode(
    file: &str,
    text: &str,
    folder: &Path,
    catalog: &Catalog,
    environment: &dyn Fn(&str) -> Option<String>,
    kinds: &Kinds,
) -> Decoded {
    let tree = match yaml::parse(file, text) {
        Ok(tree) => tree,
        Err(diagnostics) => {
            return Decoded {
                deployment: None,
                diagnostics,
            };
        }
    };
    let mut decoder = Decoder {
        findings: Findings::new(file, text),
        place: start(text, &tree),
        folder,
        catalog,
        environment,
        kinds,
    };
    if let Err((mark, fault)) = tree.to_document() {
        let message = fault.to_string();
        let hint = "whole numbers go to 9007199254740991; quote it if text is meant";
        decoder.findings.error_hint(mark, message, hint);
    }
    let deployment = decoder.root(&tree);
    let deployment = deployment.filter(|_| !decoder.findings.has_errors());
    if deployment.is_none() && !decoder.findings.has_errors() {
        // A part that gave nothing said why; this stands in for one that forgot to, so that none goes on without it.
        decoder
            .findings
            .error(decoder.place, "the file can't be used");
    }
    Decoded {
        deployment,
        diagnostics: decoder.findings.sorted(),
    }
}

/// What the file is, for messages.
const WHAT: &str = "the deployment";

/// The start of a node for a finding that must not show all of it, because secrets may stand in it.
fn start(text: &str, node: &Yaml) -> Mark {
    let rest = text.get(node.mark.offset..).unwrap_or_default();
    let len = match rest.starts_with(['{', '[']) {
        true => 1,
        false => rest.find([':', '\n']).unwrap_or(rest.len()),
    };
    Mark { len, ..node.mark }
}

/// The work on one file.
struct Decoder<'a> {
    findings: Findings<'a>,
    /// Where the file starts: of what stands nowhere.
    place: Mark,
    folder: &'a Path,
    catalog: &'a Catalog,
    environment: &'a dyn Fn(&str) -> Option<String>,
    kinds: &'a Kinds,
}

impl Decoder<'_> {
    fn root(&mut self, tree: &Yaml) -> Option<Deployment> {
        let fields = Fields::open(&mut self.findings, tree, self.place, WHAT, &FIELDS)?;
        let catalog = fields
            .need(&mut self.findings, "catalog")
            .and_then(|node| self.path(node, "`catalog`"));
        let data = match fields.get("data") {
            Some(node) => self.path(node, "`data`"),
            None => Some(self.folder.join(DATA)),
        };
        let tokens = self.tokens(&fields);
        let listen = self.listen(&fields, tokens.as_deref());
        let epoch_file = self.epoch_file(&fields, data.as_deref());
        let retention = self.retention(&fields);
        let hosts = self.hosts(&fields);
        let origins = self.origins(&fields);
        // Every section, whatever the ones before gave.
        let catalog_of = self.catalog;
        let names = catalog_of.paths.iter().map(|path| &**path).collect();
        let paths = self.section(&fields, Section::all("path", names), Self::path_entry);
        let names = catalog_of.adapters.iter().map(|adapter| &*adapter.name);
        let adapters = Section::all("adapter", names.collect());
        let adapters = self.section(&fields, adapters, Self::adapter_entry);
        let names = catalog_of.sources.iter().map(|source| &*source.name);
        let providers = Section::some("provider", "source", names.collect());
        let providers = self.section(&fields, providers, Self::provider_entry);
        let names = catalog_of.routes.iter().map(|route| &*route.name);
        let routes = Section::some("route", "route", names.collect());
        let routes = self.section(&fields, routes, Self::route_entry);
        Some(Deployment {
            catalog: catalog?,
            data: data?,
            listen: listen?,
            tokens: tokens?,
            paths: paths?,
            adapters: adapters?,
            providers: providers?,
            routes: routes?,
            epoch_file: epoch_file?,
            retention: retention?,
            hosts: hosts?,
            origins: origins?,
        })
    }

    /// A path, resolved against the file's folder.
    fn path(&mut self, node: &Yaml, what: &str) -> Option<PathBuf> {
        let text = self.findings.label(node, what)?;
        Some(self.folder.join(text))
    }

    /// The entries of one section: for names of the catalog only, and for all of them where it needs all.
    fn section<T>(
        &mut self,
        fields: &Fields<'_>,
        section: Section<'_>,
        entry: impl Fn(&mut Self, &Key, &Yaml) -> Option<T>,
    ) -> Option<BTreeMap<String, T>> {
        let title = format!("{}s", section.entry);
        let entries = match fields.get(&title) {
            Some(node) => self.findings.entries(node, &format!("`{title}`"))?,
            None => &[],
        };
        let mut whole = true;
        let mut decoded = BTreeMap::new();
        for (key, node) in entries {
            if !section.names.contains(&&*key.text) {
                self.unknown(section.names_what, &key.text, key.mark, &section.names);
            }
            match entry(self, key, node) {
                Some(item) => drop(decoded.insert(key.text.clone(), item)),
                None => whole = false,
            }
        }
        let place = fields.key(&title).or_else(|| fields.key("catalog"));
        let place = place.unwrap_or(self.place);
        for name in section.names.iter().filter(|_| section.needs_all) {
            if !entries.iter().any(|(key, _)| key.text == *name) {
                self.findings.error_hint(
                    place,
                    format!(
                        "the catalog's {} `{name}` has no entry in `{title}`",
                        section.entry
                    ),
                    section.hint(name),
                );
            }
        }
        whole.then_some(decoded)
    }

    /// Reports a name that the catalog does not have.
    fn unknown(&mut self, kind: &str, text: &str, mark: Mark, names: &[&str]) {
        let listed: Vec<String> = names
            .iter()
            .take(MAX_LISTED)
            .map(|name| format!("`{name}`"))
            .collect();
        let hint = match listed.is_empty() {
            true => format!("the catalog has no {kind}s"),
            false => format!("the catalog's {kind}s: {}", listed.join(", ")),
        };
        let message = format!("unknown {kind} `{text}`");
        self.findings.error_hint(mark, message, hint);
    }

    /// The value of a variable that a field names. The value is never in a finding.
    fn variable(&mut self, node: &Yaml, what: &str) -> Option<String> {
        let name = self.findings.text(node, what)?;
        match (self.environment)(name) {
            Some(value) if !value.is_empty() => Some(value),
            Some(_) => {
                let message = format!("the environment's variable `{name}` is empty");
                let hint = "it must hold the secret before the start";
                self.findings.error_hint(node.mark, message, hint);
                None
            }
            None => {
                let message = format!("the environment has no variable `{name}`");
                let hint = "set it before the start; here stands its name, not its value";
                self.findings.error_hint(node.mark, message, hint);
                None
            }
        }
    }
}

/// A section, and the names of the catalog that its entries are for.
struct Section<'c> {
    /// What an entry is: `provider`.
    entry: &'static str,
    /// What its name names: `source`.
    names_what: &'static str,
    names: Vec<&'c str>,
    needs_all: bool,
}

impl<'c> Section<'c> {
    fn all(entry: &'static str, names: Vec<&'c str>) -> Self {
        Self {
            entry,
            names_what: entry,
            names,
            needs_all: true,
        }
    }
    fn some(entry: &'static str, names_what: &'static str, names: Vec<&'c str>) -> Self {
        Self {
            entry,
            names_what,
            names,
            needs_all: false,
        }
    }
    fn hint(&self, name: &str) -> String {
        match self.entry {
            "path" => format!("add `{name}: {{stdout: {{}}}}`, or a file, webhook or events"),
            _ => {
                format!("add `{name}: {{http: {{url: …}}}}` or `{name}: {{command: {{run: […]}}}}`")
            }
        }
    }
}

/// Whether a mapping says something at all: a finding about a missing choice would only repeat another.
fn is_mapping(node: &Yaml) -> bool {
    matches!(node.data, Data::Mapping(_))
}
