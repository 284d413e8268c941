//! Where in the text each node of the syntax tree stands, and how large the tree is.

use crate::hints::bare_error;
use crate::scan::{Scan, too_many_nodes};
use crate::{CompileError, MAX_DEPTH, MAX_NODES, Span};
use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, SourceInfo};
use std::collections::HashMap;

/// Nodes that cel's macros add to what is written: counted so that the limit means the expanded tree.
const NODES_OF_A_MACRO: usize = 8;

/// The span of every node, by its id.
#[derive(Debug)]
pub(crate) struct Extents {
    spans: HashMap<u64, Span>,
}

impl Extents {
    /// Measures a tree. Errors: too deep or too large.
    pub(crate) fn measure(
        source: &str,
        scan: &Scan,
        info: &SourceInfo,
        root: &IdedExpr,
    ) -> Result<Self, CompileError> {
        let mut measure = Measure {
            source,
            scan,
            info,
            nodes: 0,
            spans: HashMap::new(),
        };
        measure.node(root, 1)?;
        Ok(Self {
            spans: measure.spans,
        })
    }

    /// The span of a node of the measured tree.
    pub(crate) fn of(&self, node: &IdedExpr) -> Span {
        self.spans
            .get(&node.id)
            .copied()
            .unwrap_or(Span { start: 0, end: 0 })
    }
}

struct Measure<'s> {
    source: &'s str,
    scan: &'s Scan,
    info: &'s SourceInfo,
    nodes: usize,
    spans: HashMap<u64, Span>,
}

impl Measure<'_> {
    fn node(&mut self, node: &IdedExpr, depth: usize) -> Result<Span, CompileError> {
        let mut span = self.token(node.id);
        if depth > MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(bare_error(span, message));
        }
        self.nodes += 1;
        match &node.expr {
            Expr::Call(call) => {
                self.nodes += NODES_OF_A_MACRO * usize::from(is_macro(&call.func_name));
                if call.target.is_none() {
                    span.start = self.name_before(span.start, &call.func_name);
                }
                for part in call.target.iter().map(|target| &**target).chain(&call.args) {
                    span = join(span, self.node(part, depth + 1)?);
                }
            }
            Expr::Select(select) => {
                span = join(span, self.node(&select.operand, depth + 1)?);
                span.end = self.name_after(span.end, &select.field);
            }
            Expr::List(list) => {
                for element in &list.elements {
                    span = join(span, self.node(element, depth + 1)?);
                }
            }
            Expr::Map(map) => span = self.entries(span, &map.entries, depth)?,
            Expr::Struct(message) => span = self.entries(span, &message.entries, depth)?,
            Expr::Literal(literal) => span.start = self.sign_before(span.start, literal),
            Expr::Comprehension(_) | Expr::Ident(_) | Expr::Unspecified => {}
        }
        if self.nodes > MAX_NODES {
            return Err(too_many_nodes());
        }
        span = self.balance(span);
        self.spans.insert(node.id, span);
        Ok(span)
    }

    fn entries(
        &mut self,
        mut span: Span,
        entries: &[cel::common::ast::IdedEntryExpr],
        depth: usize,
    ) -> Result<Span, CompileError> {
        for entry in entries {
            match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    span = join(span, self.node(&entry.key, depth + 1)?);
                    span = join(span, self.node(&entry.value, depth + 1)?);
                }
                EntryExpr::StructField(field) => {
                    span = join(span, self.node(&field.value, depth + 1)?);
                }
            }
        }
        Ok(span)
    }

    /// The token that the parser noted; its offsets are bytes, the last one included.
    fn token(&self, id: u64) -> Span {
        let (start, last) = self.info.offset_for(id).unwrap_or((0, 0));
        let boundary = |byte: usize| {
            let mut byte = byte.min(self.source.len());
            while !self.source.is_char_boundary(byte) {
                byte -= 1;
            }
            byte
        };
        let start = boundary(start as usize);
        Span {
            start,
            end: boundary(last as usize + 1).max(start),
        }
    }

    /// The token of `f(x)` is the bracket: its name stands before.
    fn name_before(&self, start: usize, name: &str) -> usize {
        let before = self.source[..start].trim_end();
        match before.strip_suffix(name) {
            Some(rest) => rest.len(),
            None => start,
        }
    }

    /// The token of `a.b` is the dot: the field stands behind.
    fn name_after(&self, end: usize, name: &str) -> usize {
        let behind = &self.source[end..];
        let trimmed = behind.trim_start();
        match trimmed.starts_with(name) {
            true => end + (behind.len() - trimmed.len()) + name.len(),
            false => end,
        }
    }

    /// The token of `-1` is the number.
    fn sign_before(&self, start: usize, literal: &LiteralValue) -> usize {
        let negative = match literal {
            LiteralValue::Int(int) => *int.inner() < 0,
            LiteralValue::Double(double) => double.inner().is_sign_negative(),
            _ => false,
        };
        match self.source[..start].trim_end().strip_suffix('-') {
            Some(rest) if negative => rest.len(),
            _ => start,
        }
    }

    /// Takes in the other half of every bracket that one half of which is inside.
    fn balance(&self, mut span: Span) -> Span {
        for bracket in &self.scan.brackets {
            let starts_inside = (span.start..span.end).contains(&bracket.start);
            let ends_inside = (span.start + 1..=span.end).contains(&bracket.end);
            if starts_inside || ends_inside {
                span = join(span, *bracket);
            }
        }
        span
    }
}

fn join(left: Span, right: Span) -> Span {
    Span {
        start: left.start.min(right.start),
        end: left.end.max(right.end),
    }
}

/// The macros of CEL that loop.
pub(crate) fn is_macro(name: &str) -> bool {
    matches!(name, "all" | "exists" | "exists_one" | "map" | "filter")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::{parse::parse, scan::scan};

    /// The text of the root, or of its first child.
    fn texts(source: &str) -> (String, String) {
        let scan = scan(source).unwrap();
        let (root, info) = parse(source).unwrap();
        let extents = Extents::measure(source, &scan, &info, &root).unwrap();
        let text = |node: &IdedExpr| {
            let span = extents.of(node);
            source[span.start..span.end].to_string()
        };
        let child = match &root.expr {
            Expr::Call(call) => call.target.as_deref().or(call.args.first()).map(text),
            Expr::Select(select) => Some(text(&select.operand)),
            _ => None,
        };
        (text(&root), child.unwrap_or_default())
    }

    #[test]
    fn spans_are_the_text_of_the_node() {
        for (source, child) in [
            ("(a + b) * c", "a + b"),
            ("a[\"é\"].b", "a[\"é\"]"),
            ("size( payload.x ) > 2", "size( payload.x )"),
            ("[1, 2][0]", "[1, 2]"),
            ("{'é': f(x)}.y", "{'é': f(x)}"),
            ("-9.5 + 3", "-9.5"),
            ("x.all(y, y > (1))", "x"),
            ("!(a)", "a"),
            ("a . b . c", "a . b"),
        ] {
            let (root, first) = texts(source);
            assert_eq!((root.as_str(), first.as_str()), (source, child));
        }
    }
}
