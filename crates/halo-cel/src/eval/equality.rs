//! Equality and membership: deep, across JSON and values made by the expression, and paid for.

use super::{EvalError, Machine};
use crate::Val;
use crate::program::Node;
use halo_canon::{Array, Object};
use std::borrow::Borrow;

/// Deepest nesting that is compared: nothing that arrives is nested deeper, and the stack stays bounded.
const MAX_COMPARED_DEPTH: usize = 256;

impl<'a> Machine<'a, '_, '_> {
    /// `==`: values of different kinds differ.
    pub(super) fn equal(
        &mut self,
        left: &Val<'_>,
        right: &Val<'_>,
        depth: usize,
    ) -> Result<bool, EvalError> {
        match (left, right) {
            (Val::Number(left), Val::Number(right)) => Ok(left == right),
            (Val::String(left), Val::String(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                self.text_steps(left.len())?;
                Ok(left == right)
            }
            (Val::Bool(left), Val::Bool(right)) => Ok(left == right),
            (Val::Null, Val::Null) => Ok(true),
            (Val::Timestamp(left), Val::Timestamp(right)) => Ok(left == right),
            (Val::Duration(left), Val::Duration(right)) => Ok(left == right),
            (
                Val::Json(_) | Val::List(_) | Val::Map(_),
                Val::Json(_) | Val::List(_) | Val::Map(_),
            ) => {
                if depth == MAX_COMPARED_DEPTH {
                    return Err(EvalError("values nested too deep to compare".into()));
                }
                self.containers_equal(left, right, depth + 1)
            }
            _ => Ok(false),
        }
    }

    fn containers_equal(
        &mut self,
        left: &Val<'_>,
        right: &Val<'_>,
        depth: usize,
    ) -> Result<bool, EvalError> {
        match (Shape::of(left), Shape::of(right)) {
            (Shape::JsonList(left), Shape::JsonList(right)) => {
                let pairs = left.iter().map(Val::from).zip(right.iter().map(Val::from));
                Ok(left.len() == right.len() && self.all_equal(pairs, depth)?)
            }
            (Shape::List(left), Shape::List(right)) => {
                let pairs = left.iter().zip(right);
                Ok(left.len() == right.len() && self.all_equal(pairs, depth)?)
            }
            (Shape::JsonList(json), Shape::List(list))
            | (Shape::List(list), Shape::JsonList(json)) => {
                let pairs = json.iter().map(Val::from).zip(list);
                Ok(json.len() == list.len() && self.all_equal(pairs, depth)?)
            }
            (Shape::JsonMap(left), Shape::JsonMap(right)) => self.objects_equal(left, right, depth),
            (Shape::JsonMap(json), Shape::Map(map)) | (Shape::Map(map), Shape::JsonMap(json)) => {
                self.object_equals_map(json, map, depth)
            }
            (Shape::Map(left), Shape::Map(right)) => self.maps_equal(left, right, depth),
            _ => Ok(false),
        }
    }

    fn all_equal<'v, 'w>(
        &mut self,
        pairs: impl Iterator<Item = (impl Borrow<Val<'v>>, impl Borrow<Val<'w>>)>,
        depth: usize,
    ) -> Result<bool, EvalError> {
        for (left, right) in pairs {
            self.step(1)?;
            if !self.equal(left.borrow(), right.borrow(), depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Both in canonical order, so the members pair up.
    fn objects_equal(
        &mut self,
        left: Object<'_>,
        right: Object<'_>,
        depth: usize,
    ) -> Result<bool, EvalError> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for ((left_key, left), (right_key, right)) in left.iter().zip(right.iter()) {
            self.step(1)?;
            self.text_steps(left_key.len())?;
            if left_key != right_key || !self.equal(&left.into(), &right.into(), depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn object_equals_map(
        &mut self,
        json: Object<'_>,
        map: &[(Val<'_>, Val<'_>)],
        depth: usize,
    ) -> Result<bool, EvalError> {
        if json.len() != map.len() {
            return Ok(false);
        }
        // The keys of a map differ, so as many matches as keys are a match of all.
        for (key, value) in map {
            self.step(1)?;
            let Val::String(key) = key else {
                return Ok(false);
            };
            let Some(found) = json.get(key) else {
                return Ok(false);
            };
            if !self.equal(&found.into(), value, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn maps_equal(
        &mut self,
        left: &[(Val<'_>, Val<'_>)],
        right: &[(Val<'_>, Val<'_>)],
        depth: usize,
    ) -> Result<bool, EvalError> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (key, value) in left {
            let mut matched = false;
            for (other_key, other) in right {
                self.step(1)?;
                if self.equal(key, other_key, depth)? {
                    matched = self.equal(value, other, depth)?;
                    break;
                }
            }
            if !matched {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `in`: an element of a list, a key of an object.
    pub(super) fn membership(&mut self, sides: &'a [Node; 2]) -> Result<bool, EvalError> {
        self.step(1)?;
        let needle = self.value(&sides[0])?;
        let container = self.value(&sides[1])?;
        match (Shape::of(&container), &needle) {
            (Shape::JsonList(array), _) => {
                for element in array.iter() {
                    self.step(1)?;
                    if self.equal(&needle, &element.into(), 0)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (Shape::List(list), _) => {
                for element in list {
                    self.step(1)?;
                    if self.equal(&needle, element, 0)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (
                Shape::JsonMap(_) | Shape::Map(_),
                Val::Null
                | Val::Timestamp(_)
                | Val::Duration(_)
                | Val::Json(_)
                | Val::List(_)
                | Val::Map(_),
            ) => Err(self.program.not_a(&sides[0], &needle, "a key of an object")),
            (Shape::JsonMap(object), Val::String(key)) => Ok(object.get(key).is_some()),
            (Shape::JsonMap(_), _) => Ok(false),
            (Shape::Map(map), _) => {
                for (key, _) in map {
                    self.step(1)?;
                    if self.equal(&needle, key, 0)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (Shape::Scalar, _) => {
                Err(self
                    .program
                    .not_a(&sides[1], &container, "a list or an object"))
            }
        }
    }
}

/// A container, by where it comes from.
pub(super) enum Shape<'v, 'a> {
    JsonList(Array<'a>),
    JsonMap(Object<'a>),
    List(&'v [Val<'a>]),
    Map(&'v [(Val<'a>, Val<'a>)]),
    Scalar,
}

impl<'v, 'a> Shape<'v, 'a> {
    pub(super) fn of(value: &'v Val<'a>) -> Self {
        match value {
            Val::Json(json) => match (json.as_array(), json.as_object()) {
                (Some(array), _) => Self::JsonList(array),
                (_, Some(object)) => Self::JsonMap(object),
                _ => Self::Scalar,
            },
            Val::List(list) => Self::List(list),
            Val::Map(map) => Self::Map(map),
            _ => Self::Scalar,
        }
    }
}
