//! Paths: from a root, field by field, and what is said where one ends early.

use super::{EvalError, Machine, Outcome};
use crate::hints::clip;
use crate::kinds::Kind;
use crate::program::{ComponentField, Node, Path, RecordField, Root, Step, StepKind};
use crate::value::json_kind;
use crate::{Span, Val};
use halo_canon::Value;
use std::borrow::Cow;

impl<'a> Machine<'a, '_, '_> {
    pub(super) fn path(&mut self, path: &'a Path) -> Outcome<'a> {
        self.step(1)?;
        let root = match &path.root {
            Root::Payload => return self.json_steps(path, self.inputs.payload, 0),
            Root::Record {
                slot,
                field,
                record_end,
            } => {
                let Some(record) = self.inputs.records.record(*slot) else {
                    return Err(self.no_record(path.start, *record_end));
                };
                match field {
                    RecordField::Value => return self.json_steps(path, record.value, 0),
                    RecordField::Epoch => Val::Number(record.epoch as f64),
                    RecordField::ObservedAt => Val::Timestamp(record.observed_at),
                    RecordField::Age => Val::Duration(record.age),
                    RecordField::Provenance => Val::String(Cow::Borrowed(record.provenance)),
                }
            }
            Root::Certificate => match self.inputs.claims {
                Some(claims) => return self.json_steps(path, claims, 0),
                None => Val::Map(Vec::new()),
            },
            Root::Component(field) => {
                let component = &self.inputs.component;
                Val::String(Cow::Borrowed(match field {
                    ComponentField::Id => component.id,
                    ComponentField::Type => component.kind,
                    ComponentField::Digest => component.digest,
                    ComponentField::Response => component.response,
                }))
            }
            Root::Now => Val::Timestamp(self.inputs.now),
            Root::Local => self.local()?,
            Root::Computed(node) => self.value(node)?,
        };
        self.steps_from(path, root)
    }

    /// A copy of the loop variable, paid for where it is not just a reference.
    fn local(&mut self) -> Outcome<'a> {
        let Some(local) = &self.local else {
            return Ok(Val::Null);
        };
        let local = local.clone();
        self.step(weight(&local))?;
        Ok(local)
    }

    /// The steps through values made by the expression, until they reach JSON.
    fn steps_from(&mut self, path: &'a Path, root: Val<'a>) -> Outcome<'a> {
        let mut current = root;
        for (position, step) in path.steps.iter().enumerate() {
            if let Val::Json(value) = current {
                return self.json_steps(path, value, position);
            }
            self.step(1)?;
            let key = match &step.kind {
                StepKind::Field(name) => Val::String(Cow::Borrowed(name)),
                StepKind::Index(node) => self.value(node)?,
            };
            current = match (current, &key) {
                (Val::List(mut list), Val::Number(index)) => {
                    match index_of(*index).filter(|index| *index < list.len()) {
                        Some(index) => list.swap_remove(index),
                        None => return Err(self.no_element(path, step, *index, list.len())),
                    }
                }
                (Val::Map(map), _) => match self.lookup(map, &key)? {
                    Some(value) => value,
                    None => return Err(self.missing(path, step, None)),
                },
                (other, _) => return Err(self.no_container(path, position, other.kind(), &key)),
            };
        }
        Ok(current)
    }

    fn lookup(
        &mut self,
        map: Vec<(Val<'a>, Val<'a>)>,
        key: &Val<'a>,
    ) -> Result<Option<Val<'a>>, EvalError> {
        for (known, value) in map {
            if self.equal(&known, key, 0)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// The steps through JSON: the usual path, which copies nothing.
    fn json_steps(&mut self, path: &'a Path, root: Value<'a>, from: usize) -> Outcome<'a> {
        let mut current = root;
        for (position, step) in path.steps.iter().enumerate().skip(from) {
            self.step(1)?;
            current = match &step.kind {
                StepKind::Field(name) => match current.get(name) {
                    Some(value) => value,
                    None => return Err(self.no_field(path, position, current, name)),
                },
                StepKind::Index(node) => self.json_index(path, position, current, node)?,
            };
        }
        Ok(current.into())
    }

    fn json_index(
        &mut self,
        path: &'a Path,
        position: usize,
        current: Value<'a>,
        node: &'a Node,
    ) -> Result<Value<'a>, EvalError> {
        let step = &path.steps[position];
        let key = self.value(node)?;
        match (&key, current.as_array()) {
            (Val::Number(index), Some(array)) => index_of(*index)
                .and_then(|index| array.get(index))
                .ok_or_else(|| self.no_element(path, step, *index, array.len())),
            (Val::String(name), None) if current.as_object().is_some() => current
                .get(name)
                .ok_or_else(|| self.missing(path, step, Some(name))),
            _ => Err(self.no_container(path, position, json_kind(current), &key)),
        }
    }

    /// `has(object.field)`
    pub(super) fn has(&mut self, object: &'a Node, field: &str) -> Result<bool, EvalError> {
        self.step(1)?;
        match self.value(object)? {
            Val::Json(value) if value.as_object().is_some() => Ok(value.get(field).is_some()),
            Val::Map(map) => {
                self.step(map.len())?;
                Ok(map
                    .iter()
                    .any(|(key, _)| matches!(key, Val::String(name) if name == field)))
            }
            other => Err(self.program.not_a(object, &other, "an object")),
        }
    }

    /// `has(state.X.value)`
    pub(super) fn has_record(&mut self, slot: u16, record: Span) -> Result<bool, EvalError> {
        self.step(1)?;
        match self.inputs.records.record(slot) {
            Some(_) => Ok(true),
            None => Err(self.no_record(record.start, record.end)),
        }
    }

    #[cold]
    fn no_record(&self, start: usize, end: usize) -> EvalError {
        EvalError(format!("no record `{}`", self.slice(start, end)))
    }

    /// The field of an object is not there, or what should have it is none.
    #[cold]
    fn no_field(&self, path: &Path, position: usize, found: Value<'_>, name: &str) -> EvalError {
        match json_kind(found) {
            Kind::Map => self.missing(path, &path.steps[position], None),
            kind => self.no_container(path, position, kind, &Val::String(Cow::Borrowed(name))),
        }
    }

    #[cold]
    fn missing(&self, path: &Path, step: &Step, key: Option<&str>) -> EvalError {
        let text = self.slice(path.start, step.end);
        EvalError(match key {
            Some(key) => format!("`{text}` is missing: there is no `{}`", clip(key)),
            None => format!("`{text}` is missing"),
        })
    }

    #[cold]
    fn no_element(&self, path: &Path, step: &Step, index: f64, len: usize) -> EvalError {
        let text = self.slice(path.start, step.end);
        EvalError(format!(
            "`{text}` is missing: {index} is no index of a list of {len}"
        ))
    }

    /// What stands before a step cannot be entered by this key.
    #[cold]
    fn no_container(&self, path: &Path, position: usize, found: Kind, key: &Val<'_>) -> EvalError {
        let end = match position {
            0 => path.end,
            _ => path.steps[position - 1].end,
        };
        let text = self.slice(path.start, end);
        let wanted = match (found, key.kind()) {
            (Kind::List, _) => "a list is indexed by a number",
            (Kind::Map, _) => "an object is indexed by a string",
            (_, Kind::Number) => "not a list",
            _ => "not an object",
        };
        EvalError(match found {
            Kind::List | Kind::Map => format!("`{text}`: {wanted}, not by {}", key.kind().noun()),
            _ => format!("`{text}` is {}, {wanted}", found.noun()),
        })
    }

    fn slice(&self, start: usize, end: usize) -> Cow<'a, str> {
        self.program.text(Span { start, end })
    }
}

/// An index that a list may have.
fn index_of(index: f64) -> Option<usize> {
    let whole = index >= 0.0 && index <= f64::from(u32::MAX) && index.fract() == 0.0;
    whole.then_some(index as usize)
}

/// The steps that copying a value takes, beyond the one for reading it.
fn weight(value: &Val<'_>) -> usize {
    match value {
        Val::String(Cow::Owned(text)) => text.len() / 64,
        Val::List(list) => list.iter().map(|element| 1 + weight(element)).sum(),
        Val::Map(map) => map
            .iter()
            .map(|(key, value)| 1 + weight(key) + weight(value))
            .sum(),
        _ => 0,
    }
}
