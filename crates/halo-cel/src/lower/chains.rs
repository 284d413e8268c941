//! Names and what follows them: `payload.a[0].b`, `state.legs[payload.leg].value.open`, `has(…)`.

use super::{Lowering, Typed};
use crate::hints::{
    self, COMPONENT_FIELDS, KEY_FORMS, VARIABLES, clip, did_you_mean, error, record_fields,
};
use crate::kinds::{Kind, Kinds};
use crate::program::{ComponentField, Op, Path, RecordField, Root, Step, StepKind};
use crate::{CompileError, Index, PathSegment, RecordRef, Span};
use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

/// What hangs on a root, in order.
struct Chain<'t> {
    root: &'t IdedExpr,
    links: Vec<Link<'t>>,
}

struct Link<'t> {
    kind: LinkKind<'t>,
    /// The text of the chain up to here.
    span: Span,
}

enum LinkKind<'t> {
    Field(&'t str),
    Index(&'t IdedExpr),
}

/// A root with its kinds, and how many links it took up.
struct Resolved {
    root: Root,
    kinds: Kinds,
    taken: usize,
    /// The record whose `value` is read.
    value_of: Option<u16>,
}

impl<'t> LinkKind<'t> {
    /// The name, of a field or of an index that is a string literal.
    fn name(&self) -> Option<&'t str> {
        match self {
            LinkKind::Field(name) => Some(name),
            LinkKind::Index(index) => string_literal(index),
        }
    }
}

impl Lowering<'_> {
    /// Lowers a name, a selection or an index, with all that it hangs on.
    pub(super) fn chain(&mut self, tree: &IdedExpr) -> Typed {
        let chain = self.flatten(tree);
        let resolved = match self.resolve(&chain) {
            Ok(resolved) => resolved,
            Err(refusal) => return self.refuse_at(self.extents.of(tree), refusal),
        };
        let rest = &chain.links[resolved.taken..];
        self.list_read(&resolved, rest);
        let kinds = self.kinds_after(&resolved, rest);
        let op = self.path(&chain, resolved, rest);
        self.typed(tree, op, kinds)
    }

    /// Lowers `has(field)`, a selection.
    pub(super) fn has_field(&mut self, tree: &IdedExpr, field: &IdedExpr) -> Typed {
        let chain = self.flatten(field);
        let resolved = match self.resolve(&chain) {
            Ok(resolved) => resolved,
            Err(refusal) => return self.refuse_at(self.extents.of(tree), refusal),
        };
        let rest = &chain.links[resolved.taken..];
        self.list_read(&resolved, rest);
        let op = match (rest, &resolved.root) {
            // A record that is there has all five fields, a component all four.
            ([], Root::Record { slot, .. }) => Op::HasRecord { slot: *slot },
            ([], _) => Op::Bool(true),
            ([before @ .., last], _) => {
                self.kinds_after(&resolved, rest);
                let span = before
                    .last()
                    .map_or_else(|| self.root_span(&chain, resolved.taken), |link| link.span);
                let name = last.kind.name().unwrap_or_default().into();
                let object = crate::program::Node {
                    span,
                    op: self.path(&chain, resolved, before),
                };
                Op::Has {
                    object: object.into(),
                    field: name,
                }
            }
        };
        self.typed(tree, op, Kinds::of(Kind::Bool))
    }

    fn flatten<'t>(&self, tree: &'t IdedExpr) -> Chain<'t> {
        let mut links = Vec::new();
        let mut root = tree;
        loop {
            let span = self.extents.of(root);
            let (kind, operand) = match &root.expr {
                Expr::Select(select) => (LinkKind::Field(&select.field), &*select.operand),
                Expr::Call(call) if call.func_name == operators::INDEX => match &*call.args {
                    [operand, index] => (LinkKind::Index(index), operand),
                    _ => break,
                },
                _ => break,
            };
            links.push(Link { kind, span });
            root = operand;
        }
        links.reverse();
        Chain { root, links }
    }

    /// The span of the root with the links that it took up.
    fn root_span(&self, chain: &Chain<'_>, taken: usize) -> Span {
        match taken {
            0 => self.extents.of(chain.root),
            _ => chain.links[taken - 1].span,
        }
    }

    fn resolve(&mut self, chain: &Chain<'_>) -> Result<Resolved, CompileError> {
        let plain = |root, kinds| Resolved {
            root,
            kinds,
            taken: 0,
            value_of: None,
        };
        let Expr::Ident(name) = &chain.root.expr else {
            let typed = self.expression(chain.root);
            return Ok(plain(Root::Computed(typed.node.into()), typed.kinds));
        };
        if let Some(local) = &self.local
            && local.name == *name
        {
            return Ok(plain(Root::Local, local.kinds));
        }
        let span = self.extents.of(chain.root);
        match name.as_str() {
            "payload" => Ok(plain(Root::Payload, Kinds::JSON)),
            "component" => self.component(chain, span),
            "state" | "now" | "certificate" if !self.environment.state => Err(error(
                span,
                format!("`{name}` is not in scope here"),
                "only `payload` and `component` are",
            )),
            "state" => self.record(chain, span),
            "now" => {
                self.reads_clock = true;
                Ok(plain(Root::Now, Kinds::of(Kind::Timestamp)))
            }
            "certificate" => Ok(plain(Root::Certificate, Kinds::JSON)),
            _ => Err(self.unknown_variable(name, span)),
        }
    }

    fn unknown_variable(&self, name: &str, span: Span) -> CompileError {
        let is_source = self
            .environment
            .sources
            .iter()
            .any(|source| source.name == name);
        let hint = if is_source && self.environment.state {
            format!("the record of a source is read as `state.{name}.value`")
        } else {
            let scope = if self.environment.state { 5 } else { 2 };
            let local = self.local.iter().map(|local| local.name.as_str());
            let names = VARIABLES[..scope].iter().copied().chain(local);
            did_you_mean(name, names, "variables")
        };
        error(span, format!("unknown variable `{}`", clip(name)), hint)
    }

    fn component(&self, chain: &Chain<'_>, span: Span) -> Result<Resolved, CompileError> {
        let fields = || did_you_mean("", COMPONENT_FIELDS.into_iter(), "fields");
        let Some(link) = chain.links.first() else {
            return Err(error(span, "`component` as a whole is no value", fields()));
        };
        let field = match link.kind.name() {
            Some("id") => ComponentField::Id,
            Some("type") => ComponentField::Type,
            Some("digest") => ComponentField::Digest,
            Some("response") => ComponentField::Response,
            Some(name) => {
                let message = format!("`component` has no field `{}`", clip(name));
                let hint = did_you_mean(name, COMPONENT_FIELDS.into_iter(), "fields");
                return Err(error(link.span, message, hint));
            }
            None => return Err(error(link.span, "`component` is not indexed", fields())),
        };
        Ok(Resolved {
            root: Root::Component(field),
            kinds: Kinds::of(Kind::String),
            taken: 1,
            value_of: None,
        })
    }

    /// `state.SOURCE.field`, `state.SOURCE[KEY].field`.
    fn record(&mut self, chain: &Chain<'_>, span: Span) -> Result<Resolved, CompileError> {
        let sources = self.environment.sources;
        let names = || sources.iter().map(|source| source.name.as_str());
        let Some(first) = chain.links.first() else {
            let hint = format!(
                "read a field of a record, such as `state.SOURCE.value`; {}",
                did_you_mean("", names(), "sources")
            );
            return Err(error(span, "`state` as a whole is no value", hint));
        };
        let Some(name) = first.kind.name() else {
            let hint = format!(
                "write `state.SOURCE`; {}",
                did_you_mean("", names(), "sources")
            );
            let message = "the source must be named by a literal, so that reads can be listed";
            return Err(error(first.span, message, hint));
        };
        let (source, keyed) = hints::find_source(name, first.span, sources)?;
        let second = chain.links.get(1);
        let mut taken = 1;
        let mut index = None;
        match second.map(|link| (&link.kind, link.span)) {
            Some((LinkKind::Index(key), span)) if keyed => {
                index = Some(self.key(key, span)?);
                taken = 2;
            }
            Some((LinkKind::Index(_), span)) => {
                return Err(hints::key_unwanted(span, "state.", name));
            }
            _ if keyed => return Err(hints::key_missing(first.span, "state.", name)),
            _ => {}
        }
        let record = chain.links[taken - 1].span;
        let field = self.record_field(chain.links.get(taken), record)?;
        let slot = self.slot(RecordRef { source, index }, record)?;
        self.reads_clock |= field == RecordField::Age;
        let kind = match field {
            RecordField::Epoch => Kind::Number,
            RecordField::ObservedAt => Kind::Timestamp,
            RecordField::Age => Kind::Duration,
            RecordField::Provenance => Kind::String,
            RecordField::Value => Kind::Null,
        };
        let is_value = field == RecordField::Value;
        let root = Root::Record {
            slot,
            field,
            record_end: record.end,
        };
        if !is_value {
            let name = chain.links[taken].kind.name().unwrap_or_default();
            self.read(slot, vec![PathSegment::Field(name.to_string())]);
        }
        Ok(Resolved {
            root,
            kinds: if is_value {
                Kinds::JSON
            } else {
                Kinds::of(kind)
            },
            taken: taken + 1,
            value_of: is_value.then_some(slot),
        })
    }

    fn slot(&mut self, record: RecordRef, span: Span) -> Result<u16, CompileError> {
        let full = self.records.records().len() > usize::from(u16::MAX);
        if full && !self.records.records().contains(&record) {
            return Err(hints::bare_error(span, "more than 65536 records"));
        }
        Ok(self.records.intern(record))
    }

    fn key(&self, key: &IdedExpr, span: Span) -> Result<Index, CompileError> {
        match static_index(key) {
            Some(Index::Number(_)) | None => Err(error(
                span,
                "this key is computed, so the reads cannot be listed",
                KEY_FORMS,
            )),
            Some(index) => Ok(index),
        }
    }

    fn record_field(
        &self,
        link: Option<&Link<'_>>,
        record: Span,
    ) -> Result<RecordField, CompileError> {
        let record_text = &self.source[record.start..record.end];
        let Some(link) = link else {
            let message = format!("`{}` is a record, not a value", clip(record_text));
            let hint = format!(
                "read one of its fields, such as `.value`; {}",
                record_fields()
            );
            return Err(error(record, message, hint));
        };
        match link.kind {
            LinkKind::Field("epoch") => Ok(RecordField::Epoch),
            LinkKind::Field("observed_at") => Ok(RecordField::ObservedAt),
            LinkKind::Field("age") => Ok(RecordField::Age),
            LinkKind::Field("provenance") => Ok(RecordField::Provenance),
            LinkKind::Field("value") => Ok(RecordField::Value),
            LinkKind::Field(name) => Err(hints::unknown_record_field(link.span, record_text, name)),
            LinkKind::Index(_) => {
                let message = format!("`{}` is a record: it has no index", clip(record_text));
                let hint = format!("write `.value` and the index after it; {}", record_fields());
                Err(error(link.span, message, hint))
            }
        }
    }

    /// Lists what is read below `value`.
    fn list_read(&mut self, resolved: &Resolved, rest: &[Link<'_>]) {
        let Some(slot) = resolved.value_of else {
            return;
        };
        let mut segments = vec![PathSegment::Field("value".to_string())];
        for link in rest {
            let segment = match link.kind {
                LinkKind::Field(name) => PathSegment::Field(name.to_string()),
                LinkKind::Index(index) => {
                    static_index(index).map_or(PathSegment::Any, PathSegment::Index)
                }
            };
            let ends = segment == PathSegment::Any;
            segments.push(segment);
            if ends {
                break;
            }
        }
        self.read(slot, segments);
    }

    /// The kinds at the end of a chain; notes an error where the root can have nothing below it.
    fn kinds_after(&mut self, resolved: &Resolved, rest: &[Link<'_>]) -> Kinds {
        const CONTAINER: Kinds = Kinds::of(Kind::List).or(Kind::Map);
        let Some(first) = rest.first() else {
            return resolved.kinds;
        };
        let list_by_name = first.kind.name().is_some() && !resolved.kinds.has(Kind::Map);
        if !resolved.kinds.meets(CONTAINER) || list_by_name {
            let hint = if resolved.kinds == Kinds::of(Kind::Timestamp) {
                "parts of a timestamp are calls, such as `now.getHours()`"
            } else {
                "only objects have fields, only objects and lists an index"
            };
            let message = format!("{} has nothing below it", resolved.kinds);
            self.errors.push(error(first.span, message, hint));
            return Kinds::ANY;
        }
        match resolved.kinds {
            Kinds::JSON => Kinds::JSON,
            _ => Kinds::ANY,
        }
    }

    fn path(&mut self, chain: &Chain<'_>, resolved: Resolved, rest: &[Link<'_>]) -> Op {
        let root_span = self.root_span(chain, resolved.taken);
        let mut steps = Vec::with_capacity(rest.len());
        for link in rest {
            let kind = match (&link.kind, link.kind.name()) {
                (_, Some(name)) => StepKind::Field(name.into()),
                (LinkKind::Index(index), None) => StepKind::Index(self.index(index)),
                (LinkKind::Field(name), None) => StepKind::Field((*name).into()),
            };
            steps.push(Step {
                end: link.span.end,
                kind,
            });
        }
        if steps.is_empty()
            && let Root::Computed(node) = resolved.root
        {
            return node.op;
        }
        Op::Path(Box::new(Path {
            root: resolved.root,
            start: root_span.start,
            end: root_span.end,
            steps: steps.into(),
        }))
    }

    fn index(&mut self, index: &IdedExpr) -> crate::program::Node {
        const KEYS: Kinds = Kinds::of(Kind::String).or(Kind::Number).or(Kind::Bool);
        let typed = self.expression(index);
        if !typed.kinds.meets(KEYS) {
            let message = format!("{} is no index", typed.kinds);
            let hint = "an object is indexed by a string, a list by a number";
            self.errors.push(error(typed.node.span, message, hint));
        }
        typed.node
    }
}

/// An index that the catalog can list (formats.md §1).
fn static_index(index: &IdedExpr) -> Option<Index> {
    if let Some(text) = string_literal(index) {
        return Some(Index::Literal(text.to_string()));
    }
    match &index.expr {
        Expr::Literal(literal) => number_literal(literal).map(Index::Number),
        Expr::Select(_) | Expr::Call(_) => {
            let mut names = Vec::new();
            match root_of_names(index, &mut names)? {
                "payload" if !names.is_empty() => Some(Index::Payload(
                    names.iter().map(|name| (*name).to_string()).collect(),
                )),
                "component" => match names[..] {
                    ["id"] => Some(Index::ComponentId),
                    ["response"] => Some(Index::ComponentResponse),
                    ["digest"] => Some(Index::ComponentDigest),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

/// The variable of a chain of names only, and the names.
fn root_of_names<'t>(tree: &'t IdedExpr, names: &mut Vec<&'t str>) -> Option<&'t str> {
    let (operand, name) = match &tree.expr {
        Expr::Ident(name) => return Some(name),
        Expr::Select(select) => (&*select.operand, select.field.as_str()),
        Expr::Call(call) if call.func_name == operators::INDEX => match &*call.args {
            [operand, index] => (operand, string_literal(index)?),
            _ => return None,
        },
        _ => return None,
    };
    let root = root_of_names(operand, names)?;
    names.push(name);
    Some(root)
}

fn string_literal(tree: &IdedExpr) -> Option<&str> {
    match &tree.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

fn number_literal(literal: &LiteralValue) -> Option<u32> {
    match literal {
        LiteralValue::Int(int) => u32::try_from(*int.inner()).ok(),
        LiteralValue::UInt(uint) => u32::try_from(*uint.inner()).ok(),
        LiteralValue::Double(double) => {
            let number = *double.inner();
            let whole = number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0;
            whole.then_some(number as u32)
        }
        _ => None,
    }
}
