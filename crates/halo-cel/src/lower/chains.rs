//! Names and what follows them: `payload.a[0].b`, `state.legs[payload.leg].value.open`, `has(…)`.

use super::records::string_literal;
use super::{Lowering, Typed};
use crate::hints::{COMPONENT_FIELDS, VARIABLES, clip, did_you_mean, error};
use crate::kinds::{Kind, Kinds};
use crate::program::{ComponentField, Op, Path, Root, Step, StepKind};
use crate::{CompileError, Span};
use cel::common::ast::{Expr, IdedExpr, operators};

/// What hangs on a root, in order.
pub(super) struct Chain<'t> {
    pub(super) root: &'t IdedExpr,
    pub(super) links: Vec<Link<'t>>,
}

pub(super) struct Link<'t> {
    pub(super) kind: LinkKind<'t>,
    /// The text of the chain up to here.
    pub(super) span: Span,
}

pub(super) enum LinkKind<'t> {
    Field(&'t str),
    Index(&'t IdedExpr),
}

/// A root with its kinds, and how many links it took up.
pub(super) struct Resolved {
    pub(super) root: Root,
    pub(super) kinds: Kinds,
    pub(super) taken: usize,
    /// The record whose `value` is read.
    pub(super) value_of: Option<u16>,
}

impl<'t> LinkKind<'t> {
    /// The name, of a field or of an index that is a string literal.
    pub(super) fn name(&self) -> Option<&'t str> {
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
            (
                [],
                Root::Record {
                    slot, record_end, ..
                },
            ) => Op::HasRecord {
                slot: *slot,
                record: Span {
                    start: self.extents.of(chain.root).start,
                    end: *record_end,
                },
            },
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
