//! What the state held where a predicate read it.

use super::Explainer;
use crate::terminal::shortened;
use halo_catalog::Type;
use halo_cel::{Index, PathSegment, Program, ReadPath, RecordTable, SourceDecl};
use halo_core::{ComponentView, RecordView};

/// Most characters of a value that is shown.
const VALUE: usize = 80;

impl Explainer<'_> {
    /// The state values that these programs read.
    pub(super) fn values(
        &self,
        response: &str,
        view: &ComponentView<'_>,
        type_: &Type,
        programs: &[&Program],
    ) -> Vec<String> {
        let sources: Vec<SourceDecl> = self
            .engine
            .catalog()
            .sources
            .iter()
            .map(|source| SourceDecl {
                name: source.name.clone(),
                keyed: source.keyed,
            })
            .collect();
        let mut table = RecordTable::default();
        for record in &type_.records {
            table.intern(record.clone());
        }
        let read = |path: &ReadPath| {
            let found = self.value(response, view, type_, path);
            format!("  {} is {found}", path.describe(&sources, &table))
        };
        let paths = programs.iter().flat_map(|program| program.reads());
        paths.map(read).collect()
    }

    fn value(
        &self,
        response: &str,
        view: &ComponentView<'_>,
        type_: &Type,
        path: &ReadPath,
    ) -> String {
        let absent = || "absent".to_owned();
        let index = |index: &Index| match index {
            Index::Payload(fields) => {
                let found = fields
                    .iter()
                    .try_fold(view.payload?, |value, field| value.get(field))?;
                found.as_str().map(str::to_owned)
            }
            Index::ComponentId => Some(view.id.to_owned()),
            Index::ComponentResponse => Some(response.to_owned()),
            Index::ComponentDigest => view.digest.map(|digest| digest.to_string()),
            Index::Literal(text) => Some(text.clone()),
            Index::Number(number) => Some(number.to_string()),
        };
        let Some(record) = type_.records.get(usize::from(path.slot)) else {
            return absent();
        };
        let catalog = self.engine.catalog();
        let source = catalog.sources.get(usize::from(record.source));
        let mut address = source.map(|source| source.name.clone()).unwrap_or_default();
        if let Some(key) = &record.index {
            address = format!("{address}/{}", index(key).unwrap_or_default());
        }
        let Some(record) = self
            .engine
            .records()
            .find(|record| record.address == address)
        else {
            return format!("absent: there is no record {address}");
        };
        let now = self.engine.now();
        field(&record, &path.segments, now, index).unwrap_or_else(absent)
    }
}

/// The part of a record that a path names, as text.
fn field(
    record: &RecordView<'_>,
    path: &[PathSegment],
    now: halo_canon::Instant,
    index: impl Fn(&Index) -> Option<String>,
) -> Option<String> {
    let (first, below) = path.split_first()?;
    let PathSegment::Field(first) = first else {
        return None;
    };
    match first.as_str() {
        "epoch" => return Some(record.epoch.to_string()),
        "provenance" => return Some(record.provenance.to_owned()),
        "observed_at" => return Some(record.observed_at.to_string()),
        "age" => return Some(now.since(record.observed_at).to_string()),
        _ => {}
    }
    let mut value = record.value;
    for step in below {
        value = match step {
            PathSegment::Field(name) => value.get(name)?,
            PathSegment::Index(Index::Number(position)) => value.element(*position as usize)?,
            PathSegment::Index(key) => value.get(&index(key)?)?,
            PathSegment::Any => break,
        };
    }
    Some(shortened(&value.to_canonical(), VALUE))
}
