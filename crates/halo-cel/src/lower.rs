//! Syntax tree to program: names resolved, reads listed, kinds checked.
//!
//! Every error is noted and lowering goes on with a stand-in, so that a catalog's author sees all of them.

mod calls;
mod chains;
mod operators;
mod records;

use crate::extent::Extents;
use crate::hints::{bare_error, error};
use crate::kinds::{Kind, Kinds};
use crate::program::{Node, Op};
use crate::{CompileError, Environment, Expect, PathSegment, ReadPath, RecordTable, Span, parse};
use cel::common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue};

/// A lowered expression and the kinds that its value may have.
pub(crate) struct Typed {
    pub(crate) node: Node,
    pub(crate) kinds: Kinds,
}

/// The variable of the loop being lowered.
struct Local {
    name: String,
    kinds: Kinds,
}

/// The work on one expression.
pub(crate) struct Lowering<'l> {
    source: &'l str,
    environment: Environment<'l>,
    extents: &'l Extents,
    records: &'l mut RecordTable,
    errors: Vec<CompileError>,
    reads: Vec<ReadPath>,
    reads_clock: bool,
    local: Option<Local>,
    in_loop: bool,
}

impl<'l> Lowering<'l> {
    pub(crate) fn new(
        source: &'l str,
        environment: Environment<'l>,
        extents: &'l Extents,
        records: &'l mut RecordTable,
    ) -> Self {
        Self {
            source,
            environment,
            extents,
            records,
            errors: Vec::new(),
            reads: Vec::new(),
            reads_clock: false,
            local: None,
            in_loop: false,
        }
    }

    /// What was found: the errors, the reads, and whether the clock is read.
    pub(crate) fn finish(self) -> (Vec<CompileError>, Vec<ReadPath>, bool) {
        (self.errors, self.reads, self.reads_clock)
    }

    /// Notes an error where `typed` can give nothing that satisfies `expect`.
    pub(crate) fn require(&mut self, typed: &Typed, expect: Expect) {
        if typed.kinds.meets(expect.kinds()) {
            return;
        }
        let message = format!("gives {}, not {}", typed.kinds, expect.kinds());
        self.errors.push(bare_error(typed.node.span, message));
    }

    /// Lowers one expression.
    pub(crate) fn expression(&mut self, tree: &IdedExpr) -> Typed {
        match &tree.expr {
            Expr::Literal(literal) => self.literal(tree, literal),
            Expr::Ident(_) | Expr::Select(_) => self.chain(tree),
            Expr::Call(call) => self.call(tree, call),
            Expr::List(list) => self.list(tree, &list.elements),
            Expr::Map(map) => self.map(tree, &map.entries),
            Expr::Struct(message) => {
                let text = format!(
                    "message literals such as `{}{{…}}` do not exist here",
                    message.type_name
                );
                self.refuse(tree, text, "write a map: {\"a\": 1}")
            }
            Expr::Comprehension(_) | Expr::Unspecified => {
                self.refuse(tree, "this is no expression", "write a CEL expression")
            }
        }
    }

    fn literal(&mut self, tree: &IdedExpr, literal: &LiteralValue) -> Typed {
        let (op, kind) = match literal {
            LiteralValue::Null => (Op::Null, Kind::Null),
            LiteralValue::Boolean(value) => (Op::Bool(*value.inner()), Kind::Bool),
            LiteralValue::Double(value) => (Op::Number(*value.inner()), Kind::Number),
            LiteralValue::String(value) => (Op::String(value.inner().into()), Kind::String),
            LiteralValue::Int(value) => {
                return self.integer(tree, value.inner().unsigned_abs(), *value.inner() < 0);
            }
            LiteralValue::UInt(value) => return self.integer(tree, *value.inner(), false),
            LiteralValue::Bytes(_) => {
                return self.refuse(tree, "bytes literals do not exist here", "write a string");
            }
        };
        self.typed(tree, op, Kinds::of(kind))
    }

    fn integer(&mut self, tree: &IdedExpr, magnitude: u64, negative: bool) -> Typed {
        let span = self.extents.of(tree);
        let number = magnitude as f64;
        // Compared as integers: 2^53 itself has a double, but so has 2^53 + 1, and it is the same one.
        if magnitude > halo_canon::MAX_INTEGER as u64 {
            let text = &self.source[span.start..span.end];
            self.errors.push(parse::integer_too_large(span, text));
        }
        let number = if negative { -number } else { number };
        self.typed(tree, Op::Number(number), Kinds::of(Kind::Number))
    }

    fn list(&mut self, tree: &IdedExpr, elements: &[IdedExpr]) -> Typed {
        let nodes = elements
            .iter()
            .map(|element| self.expression(element).node)
            .collect();
        self.typed(tree, Op::List(nodes), Kinds::of(Kind::List))
    }

    fn map(&mut self, tree: &IdedExpr, entries: &[IdedEntryExpr]) -> Typed {
        const KEYS: Kinds = Kinds::of(Kind::String).or(Kind::Number).or(Kind::Bool);
        let mut nodes = Vec::with_capacity(entries.len());
        for entry in entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                continue;
            };
            let key = self.expression(&entry.key);
            if !key.kinds.meets(KEYS) {
                let message = format!("{} cannot be the key of a map", key.kinds);
                self.errors.push(bare_error(key.node.span, message));
            }
            nodes.push((key.node, self.expression(&entry.value).node));
        }
        self.typed(tree, Op::Map(nodes.into()), Kinds::of(Kind::Map))
    }

    fn typed(&self, tree: &IdedExpr, op: Op, kinds: Kinds) -> Typed {
        let span = self.extents.of(tree);
        Typed {
            node: Node { span, op },
            kinds,
        }
    }

    /// Notes an error; the stand-in may be anything, so that nothing follows from it.
    fn refuse(
        &mut self,
        tree: &IdedExpr,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Typed {
        let span = self.extents.of(tree);
        self.refuse_at(span, error(span, message, hint))
    }

    fn refuse_at(&mut self, span: Span, refusal: CompileError) -> Typed {
        self.errors.push(refusal);
        Typed {
            node: Node { span, op: Op::Null },
            kinds: Kinds::ANY,
        }
    }

    /// Lists a read, once.
    fn read(&mut self, slot: u16, segments: Vec<PathSegment>) {
        let read = ReadPath { slot, segments };
        if !self.reads.contains(&read) {
            self.reads.push(read);
        }
    }
}
