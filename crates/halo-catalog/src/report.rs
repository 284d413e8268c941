//! What `halo check` prints of a catalog: what each type reads, binds, needs, and how it recovers.

use crate::{Catalog, Effect, Horizon, PrerequisiteRule, RouteIx, Temporal, Type};
use halo_canon::{Digest, Duration};
use halo_cel::{Program, RecordRef, RecordTable, SourceDecl};
use serde::Serialize;
use std::fmt;

/// A catalog, type by type.
#[derive(Debug, Clone, Serialize)]
pub struct CatalogReport {
    /// Its name.
    pub catalog: String,
    /// Its version.
    pub version: String,
    /// Digest of its canonical value.
    pub content: Digest,
    /// In catalog order.
    pub types: Vec<TypeReport>,
}

/// What a type does, reads, binds and needs, and how it recovers.
#[derive(Debug, Clone, Serialize)]
pub struct TypeReport {
    /// Its name.
    #[serde(rename = "type")]
    pub type_: String,
    /// How and where it leaves.
    pub leaves: Leaves,
    /// Every state path that its checks read (P6), each once.
    pub reads: Vec<String>,
    /// What is hashed into its witness.
    pub binds: Vec<Binding>,
    /// For how long what is fresh.
    pub fresh: Vec<FreshFor>,
    /// Other bounds of its authority, in words.
    pub bounds: Vec<String>,
    /// The references that it may or must declare.
    pub needs: Vec<Need>,
    /// The records that it writes.
    pub writes: Vec<String>,
    /// Where each failure leads.
    pub recovers: Vec<Recovery>,
}

/// How and where a type leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "to", rename_all = "lowercase")]
pub enum Leaves {
    /// Through this path.
    Emit(String),
    /// Through this adapter.
    Dispatch(String),
}

/// A bound path.
#[derive(Debug, Clone, Serialize)]
pub struct Binding {
    /// As declared.
    pub path: String,
    /// Its absence is bound too.
    pub absent_allowed: bool,
}

/// A freshness limit.
#[derive(Debug, Clone, Serialize)]
pub struct FreshFor {
    /// As declared.
    pub record: String,
    /// Largest age that is fresh.
    pub max_age: Duration,
}

/// A reference that a component may or must declare.
#[derive(Debug, Clone, Serialize)]
pub struct Need {
    /// The parent's type, or `*`.
    #[serde(rename = "type")]
    pub type_: String,
    /// How far it must have come.
    pub phase: &'static str,
    /// Until when the parent's support matters.
    pub support: &'static str,
    /// Whether it must be declared.
    pub required: bool,
}

/// Where a failure leads.
#[derive(Debug, Clone, Serialize)]
pub struct Recovery {
    /// What fails.
    pub check: &'static str,
    /// Its subject, where there are several of the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The route; nothing: terminal.
    pub route: Option<String>,
}

/// What `halo check` says about a valid catalog.
pub fn report(catalog: &Catalog) -> CatalogReport {
    let sources: Vec<SourceDecl> = catalog
        .sources
        .iter()
        .map(|source| SourceDecl {
            name: source.name.clone(),
            keyed: source.keyed,
        })
        .collect();
    CatalogReport {
        catalog: catalog.name.clone(),
        version: catalog.version.clone(),
        content: catalog.content,
        types: catalog
            .types
            .iter()
            .map(|type_| {
                let view = View {
                    catalog,
                    sources: &sources,
                    type_,
                };
                view.report()
            })
            .collect(),
    }
}

/// One type with what its positions refer to.
struct View<'c> {
    catalog: &'c Catalog,
    sources: &'c [SourceDecl],
    type_: &'c Type,
}

impl View<'_> {
    fn report(&self) -> TypeReport {
        let type_ = self.type_;
        TypeReport {
            type_: type_.name.clone(),
            leaves: self.leaves(),
            reads: self.reads(),
            binds: type_
                .bind
                .iter()
                .map(|bound| Binding {
                    path: bound.text.clone(),
                    absent_allowed: bound.absent_allowed,
                })
                .collect(),
            fresh: type_
                .fresh
                .iter()
                .map(|limit| FreshFor {
                    record: limit.text.clone(),
                    max_age: limit.max_age,
                })
                .collect(),
            bounds: self.bounds(),
            needs: self.needs(),
            writes: type_.writes.iter().map(|w| w.text.clone()).collect(),
            recovers: self.recovers(),
        }
    }

    fn leaves(&self) -> Leaves {
        match self.type_.effect {
            Effect::Emit(path) => Leaves::Emit(
                self.catalog
                    .paths
                    .get(usize::from(path))
                    .cloned()
                    .unwrap_or_default(),
            ),
            Effect::Action(adapter) => Leaves::Dispatch(
                self.catalog
                    .adapters
                    .get(usize::from(adapter))
                    .map(|adapter| adapter.name.clone())
                    .unwrap_or_default(),
            ),
        }
    }

    fn reads(&self) -> Vec<String> {
        let type_ = self.type_;
        let mut table = RecordTable::default();
        for record in &type_.records {
            table.intern(record.clone());
        }
        let mut reads: Vec<String> = type_
            .bind
            .iter()
            .map(|bound| format!("state.{}", bound.text))
            .collect();
        let age = |slot: u16| {
            Some(format!(
                "state.{}.age",
                self.record(type_.records.get(usize::from(slot))?)
            ))
        };
        reads.extend(type_.fresh.iter().filter_map(|limit| age(limit.slot)));
        let of = |program: &Program| -> Vec<String> {
            program
                .reads()
                .iter()
                .map(|read| read.describe(self.sources, &table))
                .collect()
        };
        if let Some(horizon) = self.horizon() {
            reads.extend(of(&horizon.end));
            reads.extend(of(&horizon.valid_until));
        }
        for check in &type_.support {
            reads.extend(of(&check.program));
        }
        let mut seen = std::collections::HashSet::new();
        reads.retain(|read| seen.insert(read.clone()));
        reads
    }

    fn record(&self, record: &RecordRef) -> String {
        record.describe(self.sources)
    }

    fn horizon(&self) -> Option<&Horizon> {
        match &self.type_.temporal {
            Temporal::Point => None,
            Temporal::Interval(horizon) => Some(horizon),
            Temporal::Rolling { horizon, .. } => horizon.as_ref(),
        }
    }

    fn bounds(&self) -> Vec<String> {
        let type_ = self.type_;
        let mut bounds = Vec::new();
        if let Temporal::Rolling { window, .. } = &type_.temporal {
            bounds.push(format!("rolls in windows of {window}"));
        }
        if let Some(Horizon {
            end,
            valid_until,
            guard,
            ..
        }) = self.horizon()
        {
            bounds.push(format!(
                "ends, {guard} added, before it stops being supported: {} < {}",
                end.source(),
                valid_until.source()
            ));
        }
        if let Some(limit) = &type_.ttl {
            bounds.push(format!("waits at most {}", limit.max));
        }
        if let Some(rule) = &type_.approval {
            let people = match rule.quorum {
                1 => "one approver".to_owned(),
                quorum => format!("{quorum} approvers"),
            };
            bounds.push(format!("needs {people} within {}", rule.within));
        }
        if let Some(rule) = &type_.certificate {
            bounds.push(self.certificate(rule));
        }
        if let Some(rule) = &type_.once {
            let held = rule
                .for_
                .map_or_else(|| "for ever".to_owned(), |span| format!("for {span}"));
            bounds.push(format!("leaves once per `{}`, {held}", rule.key.source()));
        }
        bounds
    }

    fn certificate(&self, rule: &crate::CertificateRule) -> String {
        let issuers: Vec<&str> = rule
            .issuers
            .iter()
            .filter_map(|issuer| self.catalog.issuers.get(usize::from(*issuer)))
            .map(|issuer| issuer.name.as_str())
            .collect();
        let verb = match rule.required {
            true => "needs",
            false => "takes",
        };
        format!("{verb} a certificate of {}", issuers.join(" or "))
    }

    fn needs(&self) -> Vec<Need> {
        let rule = |rule: &PrerequisiteRule, required| Need {
            type_: rule
                .type_
                .and_then(|parent| self.catalog.types.get(usize::from(parent)))
                .map_or_else(|| "*".to_owned(), |parent| parent.name.clone()),
            phase: rule.phase.name(),
            support: match rule.until_left {
                true => "until_left",
                false => "current",
            },
            required,
        };
        let type_ = self.type_;
        let requires = type_.requires.iter().map(|entry| rule(entry, true));
        let allows = type_.allows.iter().map(|entry| rule(entry, false));
        requires.chain(allows).collect()
    }

    fn recovers(&self) -> Vec<Recovery> {
        let type_ = self.type_;
        let mut list = Vec::new();
        let mut add = |check, subject: Option<&str>, route: Option<RouteIx>| {
            list.push(Recovery {
                check,
                subject: subject.map(str::to_owned),
                route: route
                    .and_then(|route| self.catalog.routes.get(usize::from(route)))
                    .map(|route| route.name.clone()),
            });
        };
        for bound in &type_.bind {
            add("bound", Some(&bound.text), bound.route);
        }
        for limit in &type_.fresh {
            add("fresh", Some(&limit.text), limit.route);
        }
        if let Some(rule) = &type_.certificate {
            add("certificate", None, rule.route);
        }
        if let Some(horizon) = self.horizon() {
            add("horizon", None, horizon.route);
        }
        if let Some(limit) = &type_.ttl {
            add("waiting", None, limit.route);
        }
        if let Some(rule) = &type_.approval {
            add("approval", None, rule.route);
        }
        if type_.once.is_some() {
            add("once", None, None);
        }
        for check in &type_.support {
            add("support", Some(&check.id), check.route);
        }
        if type_.is_action() {
            add("failure", None, type_.on_failure);
        }
        list
    }
}

impl fmt::Display for CatalogReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "catalog {}, version {}", self.catalog, self.version)?;
        writeln!(f, "{}", self.content)?;
        for type_ in &self.types {
            write!(f, "\n{type_}")?;
        }
        Ok(())
    }
}

impl fmt::Display for TypeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leaves = match &self.leaves {
            Leaves::Emit(path) => format!("is emitted through {path}"),
            Leaves::Dispatch(adapter) => format!("acts through {adapter}"),
        };
        writeln!(f, "{} {leaves}", self.type_)?;
        lines(f, "reads", self.reads.iter().cloned())?;
        let binds = self.binds.iter().map(|bound| match bound.absent_allowed {
            true => format!("{}, or its absence", bound.path),
            false => bound.path.clone(),
        });
        lines(f, "binds", binds)?;
        let fresh = self.fresh.iter();
        let fresh = fresh.map(|limit| format!("{} for {}", limit.record, limit.max_age));
        lines(f, "fresh", fresh)?;
        lines(f, "bounds", self.bounds.iter().cloned())?;
        let needs = self.needs.iter().map(|need| {
            let must = match need.required {
                true => "must follow",
                false => "may follow",
            };
            let left = match need.support {
                "until_left" => ", whose support matters until it left",
                _ => "",
            };
            format!("{must} {} {}{left}", need.type_, need.phase)
        });
        lines(f, "needs", needs)?;
        lines(f, "writes", self.writes.iter().cloned())?;
        let recovers = self.recovers.iter().map(|recovery| {
            let subject = recovery
                .subject
                .as_ref()
                .map_or_else(String::new, |subject| format!(" {subject}"));
            let route = recovery.route.as_deref().unwrap_or("terminal");
            format!("{}{subject} → {route}", recovery.check)
        });
        lines(f, "recovers", recovers)
    }
}

/// A heading with one line for each item; nothing where there is none.
fn lines(
    f: &mut fmt::Formatter<'_>,
    heading: &str,
    items: impl Iterator<Item = String>,
) -> fmt::Result {
    let mut heading = heading;
    for item in items {
        writeln!(f, "  {heading:<9} {item}")?;
        heading = "";
    }
    Ok(())
}
