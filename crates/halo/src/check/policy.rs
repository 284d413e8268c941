//! AgentSpec policies, with the rule files that they name.

use super::{Kind, Report};
use crate::{
    excerpt,
    source::{self, Text},
    terminal::Screen,
};
use halo_agentspec::{RuleText, Surroundings, policy::decode};
use halo_catalog::{Catalog, Diagnostic, yaml};
use halo_cel::SourceDecl;
use std::path::Path;

/// What a file is: rules are named so or start as rules do, and a policy says `policy`; all else is a catalog.
pub(super) fn kind(input: &Text) -> Kind {
    let named = [".rules", ".ar"]
        .iter()
        .any(|end| input.name.ends_with(end));
    let text = input.text.trim_start();
    let rule = text.strip_prefix("rule").map(str::trim_start);
    if named || text.starts_with("//") || rule.is_some_and(|rest| rest.starts_with('@')) {
        return Kind::Rules;
    }
    match yaml::parse(&input.name, &input.text) {
        Ok(tree) if tree.get("policy").is_some() => Kind::Policy,
        _ => Kind::Catalog,
    }
}

/// Checks a policy in the file at `path`, against a catalog where there is one.
pub(super) fn check(
    path: &Path,
    input: &Text,
    catalog: Option<&Catalog>,
    screen: &mut Screen,
) -> (Option<Report>, Vec<Diagnostic>) {
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let read = |name: &str| match source::file_text(&folder.join(name)) {
        Ok(Text { name, text }) => Ok(RuleText { file: name, text }),
        Err(fault) => Err(format!("{}: {}", fault.file, fault.error)),
    };
    let names = catalog.map(Names::of);
    let surroundings = names.as_ref().map(|names| Surroundings {
        sources: &names.sources,
        types: &names.types,
    });
    let decoded = decode(&input.name, &input.text, &read, surroundings);
    for findings in decoded.diagnostics.chunk_by(|a, b| a.file == b.file) {
        let about = findings.first().map(|finding| &finding.file);
        let mut texts = decoded.texts.iter();
        let text = match texts.find(|text| Some(&text.file) == about) {
            Some(text) => &text.text,
            None => &input.text,
        };
        excerpt::show(screen, findings, text);
    }
    let report = decoded.policy.map(|policy| policy.report());
    (report.map(Report::Policy), decoded.diagnostics)
}

/// What of a catalog a policy may name.
struct Names<'c> {
    sources: Vec<SourceDecl>,
    types: Vec<&'c str>,
}

impl<'c> Names<'c> {
    fn of(catalog: &'c Catalog) -> Self {
        let declared = |source: &halo_catalog::Source| SourceDecl {
            name: source.name.clone(),
            keyed: source.keyed,
        };
        Self {
            sources: catalog.sources.iter().map(declared).collect(),
            types: catalog.types.iter().map(|type_| &*type_.name).collect(),
        }
    }
}
