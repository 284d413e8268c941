//! Records of the state: `state.legs[payload.leg].value.open`, and what of them is read (P6).

use super::Lowering;
use super::chains::{Chain, Link, LinkKind, Resolved};
use crate::hints::{self, KEY_FORMS, clip, did_you_mean, error, record_fields};
use crate::kinds::{Kind, Kinds};
use crate::program::{RecordField, Root};
use crate::{CompileError, Index, PathSegment, RecordRef, Span};
use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

impl Lowering<'_> {
    /// `state.SOURCE.field`, `state.SOURCE[KEY].field`.
    pub(super) fn record(
        &mut self,
        chain: &Chain<'_>,
        span: Span,
    ) -> Result<Resolved, CompileError> {
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
    pub(super) fn list_read(&mut self, resolved: &Resolved, rest: &[Link<'_>]) {
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

/// The text of a string literal.
pub(super) fn string_literal(tree: &IdedExpr) -> Option<&str> {
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
