//! From the YAML tree to the compiled catalog, collecting every finding.
//!
//! Names come first, from all sections, so that a reference is judged once and a fault in one place is no fault in
//! another. A part that has a fault gives nothing, and what refers to it goes on.

mod bound;
mod checks;
mod lint;
mod names;
mod predicate;
mod prerequisites;
mod routes;
mod sources;
mod types;

use crate::{
    Catalog, Decoded, Limits,
    cursor::{Fields, Findings, MAX_COUNT},
    yaml::{self, Data, Yaml},
};
use halo_canon::{Builder, Digest, Document, Duration};
use halo_cel::SourceDecl;
use names::Names;
pub use predicate::place as place_within;
use std::sync::Arc;

/// P8's tolerance, unless the catalog says otherwise.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(500);

/// Decodes a catalog from text.
pub fn catalog(file: &str, text: &str) -> Decoded {
    match yaml::parse(file, text) {
        Ok(tree) => catalog_node(file, text, &tree),
        Err(diagnostics) => Decoded {
            catalog: None,
            diagnostics,
            value: None,
        },
    }
}

/// Decodes a catalog from a node of a larger file (a scenario with its catalog inline).
pub fn catalog_node(file: &str, text: &str, node: &Yaml) -> Decoded {
    let mut findings = Findings::new(file, text);
    check_numbers(&mut findings, node);
    let value = node.to_document().ok();
    let mut decoder = Decoder::new(findings);
    let catalog = decoder.root(node, value.as_ref());
    let catalog = match decoder.findings.has_errors() {
        true => None,
        false => catalog.map(Arc::new),
    };
    Decoded {
        catalog,
        diagnostics: decoder.findings.sorted(),
        value,
    }
}

/// Reports every number that P1 refuses.
fn check_numbers(findings: &mut Findings<'_>, node: &Yaml) {
    match &node.data {
        Data::Number(literal) => {
            if let Err(fault) = Builder::new().literal(literal) {
                findings.error_hint(
                    node.mark,
                    fault.to_string(),
                    "whole numbers go to 9007199254740991; quote it if text is meant",
                );
            }
        }
        Data::Sequence(items) => items.iter().for_each(|item| check_numbers(findings, item)),
        Data::Mapping(entries) => entries
            .iter()
            .for_each(|(_, value)| check_numbers(findings, value)),
        _ => {}
    }
}

/// The sections of a catalog by name, and what was found so far.
struct Decoder<'t> {
    findings: Findings<'t>,
    sources: Names,
    paths: Names,
    adapters: Names,
    issuers: Names,
    routes: Names,
    types: Names,
    /// The sources as predicates know them.
    declared: Vec<SourceDecl>,
    /// Which sources some type limits in age.
    limited: Vec<bool>,
    /// Per type: whether it is an action, where that could be told.
    actions: Vec<Option<bool>>,
    /// Per route: its `ready` condition, where it compiles.
    ready: Vec<Option<String>>,
}

impl<'t> Decoder<'t> {
    fn new(findings: Findings<'t>) -> Self {
        Self {
            findings,
            sources: Names::new("source"),
            paths: Names::new("path"),
            adapters: Names::new("adapter"),
            issuers: Names::new("issuer"),
            routes: Names::new("route"),
            types: Names::new("type"),
            declared: Vec::new(),
            limited: Vec::new(),
            actions: Vec::new(),
            ready: Vec::new(),
        }
    }

    fn root(&mut self, node: &Yaml, value: Option<&Document>) -> Option<Catalog> {
        let fields = Fields::open(
            &mut self.findings,
            node,
            node.mark,
            "the catalog",
            &[
                "halo",
                "catalog",
                "version",
                "malformed",
                "restart",
                "clock_tolerance",
                "limits",
                "sources",
                "paths",
                "adapters",
                "issuers",
                "routes",
                "types",
            ],
        )?;
        self.version_of_the_format(&fields);
        let name = self.title(&fields, "catalog");
        let version = self.title(&fields, "version");
        let malformed = self.either(&fields, "malformed", ["component", "response"]);
        let restart = self.either(&fields, "restart", ["readmit", "invalidate"]);
        let clock_tolerance = match fields.get("clock_tolerance") {
            Some(node) => self.findings.duration(node, "`clock_tolerance`"),
            None => Some(CLOCK_TOLERANCE),
        };
        let limits = self.limits(fields.get("limits"));
        self.collect_names(&fields);
        let sources = self.decode_sources(&fields);
        self.decode_paths(&fields);
        let adapters = self.decode_adapters(&fields);
        let issuers = self.decode_issuers(&fields);
        self.collect_effects(&fields);
        let routes = self.decode_routes(&fields);
        let types = self.decode_types(&fields);
        self.lint_unused();
        let mut sources = sources?;
        for (source, limited) in sources.iter_mut().zip(&self.limited) {
            source.has_freshness_limit = *limited;
        }
        Some(Catalog {
            name: name?,
            version: version?,
            content: Digest::of(value?.root().to_canonical().as_bytes()),
            malformed_refuses_response: malformed?,
            restart_invalidates: restart?,
            clock_tolerance: clock_tolerance?,
            limits: limits?,
            source_index: self.sources.index(),
            type_index: self.types.index(),
            sources,
            paths: self.paths.list().map(str::to_owned).collect(),
            adapters: adapters?,
            issuers: issuers?,
            routes: routes?,
            types: types?,
        })
    }

    fn version_of_the_format(&mut self, fields: &Fields<'_>) {
        let Some(node) = fields.need(&mut self.findings, "halo") else {
            return;
        };
        if node.as_str() != Some("v1") {
            self.findings.error_hint(
                node.mark,
                "this is no version of the format that can be read here",
                "write `halo: v1`",
            );
        }
    }

    /// The catalog's name or version: any text in one line.
    fn title(&mut self, fields: &Fields<'_>, name: &'static str) -> Option<String> {
        let node = fields.need(&mut self.findings, name)?;
        self.findings.label(node, &format!("`{name}`"))
    }

    /// A choice of two, the first being the default: whether it is the second.
    fn either(
        &mut self,
        fields: &Fields<'_>,
        name: &'static str,
        [default, other]: [&'static str; 2],
    ) -> Option<bool> {
        match fields.get(name) {
            None => Some(false),
            Some(node) => self.findings.choice(
                node,
                &format!("`{name}`"),
                &[(default, false), (other, true)],
            ),
        }
    }

    fn limits(&mut self, node: Option<&Yaml>) -> Option<Limits> {
        let mut limits = Limits::default();
        let Some(node) = node else {
            return Some(limits);
        };
        let fields = Fields::open(
            &mut self.findings,
            node,
            node.mark,
            "`limits`",
            &[
                "components",
                "prerequisites",
                "response_bytes",
                "payload_bytes",
                "depth",
            ],
        )?;
        let mut ok = true;
        let mut limit = |name: &'static str, default: usize, max: u64| match fields.get(name) {
            None => default,
            Some(node) => {
                let count = self.findings.count(node, &format!("`{name}`"), 1, max);
                ok &= count.is_some();
                count
                    .and_then(|n| usize::try_from(n).ok())
                    .unwrap_or(default)
            }
        };
        limits.components = limit("components", limits.components, 1 << 24);
        limits.prerequisites = limit("prerequisites", limits.prerequisites, 1 << 27);
        limits.response_bytes = limit("response_bytes", limits.response_bytes, u64::from(u32::MAX));
        limits.payload_bytes = limit("payload_bytes", limits.payload_bytes, 64 << 20);
        limits.depth = u32::try_from(limit("depth", limits.depth as usize, 512)).ok()?;
        ok.then_some(limits)
    }

    /// Takes the names of all sections, before anything refers to them.
    fn collect_names(&mut self, fields: &Fields<'_>) {
        for (section, names) in [
            ("sources", &mut self.sources),
            ("paths", &mut self.paths),
            ("adapters", &mut self.adapters),
            ("issuers", &mut self.issuers),
            ("routes", &mut self.routes),
            ("types", &mut self.types),
        ] {
            let node = match section {
                "types" => fields.need(&mut self.findings, section),
                _ => fields.get(section),
            };
            let Some(node) = node else { continue };
            let Some(entries) = self.findings.entries(node, &format!("`{section}`")) else {
                continue;
            };
            for (key, _) in entries {
                names.declare(&mut self.findings, key);
            }
        }
    }

    /// The entries of a section whose names were taken before.
    fn section<'y>(&self, fields: &Fields<'y>, name: &'static str) -> Section<'y> {
        match fields.get(name).map(|node| &node.data) {
            Some(Data::Mapping(entries)) if entries.len() <= MAX_COUNT => entries,
            _ => &[],
        }
    }
}

/// The entries of one section, in file order.
type Section<'y> = &'y [(yaml::Key, Yaml)];
