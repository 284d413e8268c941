//! How the `jsonschema` crate reads our values.

use std::borrow::Cow;
use std::collections::HashSet;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use serde_json::Value as Serde;

use crate::arena::{Cell, Document};
use crate::value::serde_number;
use crate::{Kind, MAX_INTEGER, Value, write_number};

/// Our documents, as a representation of JSON.
pub(super) struct Canon;

/// A value, or a member's name on its own: `propertyNames` applies a schema to names.
#[derive(Clone, Copy)]
pub(super) enum SchemaNode<'a> {
    Value(Value<'a>),
    Name(&'a str),
}

impl Json for Canon {
    type Node<'a> = SchemaNode<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = ();

    // A lookup scans or searches the names, so one pass over a small object replaces it cheaply.
    const KEYS_PER_LOOKUP: usize = 2;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(SchemaNode<'_>) -> T) -> T {
        f(SchemaNode::Name(string))
    }
}

impl<'a> SchemaNode<'a> {
    fn kind(self) -> Kind<'a> {
        match self {
            SchemaNode::Value(value) => value.kind(),
            SchemaNode::Name(name) => Kind::String(name),
        }
    }
}

impl<'a> Node<'a, Canon> for SchemaNode<'a> {
    type Object = crate::Object<'a>;
    type Array = crate::Array<'a>;
    type Number = Double;

    fn as_object(&self) -> Option<crate::Object<'a>> {
        match self {
            SchemaNode::Value(value) => value.as_object(),
            SchemaNode::Name(_) => None,
        }
    }

    fn as_array(&self) -> Option<crate::Array<'a>> {
        match self {
            SchemaNode::Value(value) => value.as_array(),
            SchemaNode::Name(_) => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self.kind() {
            Kind::String(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<Double> {
        match self {
            SchemaNode::Value(value) => value.as_f64().map(Double),
            SchemaNode::Name(_) => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self {
            SchemaNode::Value(value) => value.as_bool(),
            SchemaNode::Name(_) => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, SchemaNode::Value(value) if value.is_null())
    }

    fn json_type(&self) -> JsonType {
        let SchemaNode::Value(value) = self else {
            return JsonType::String;
        };
        match value.cell() {
            Cell::Null => JsonType::Null,
            Cell::Bool(_) => JsonType::Boolean,
            Cell::Number(_) => JsonType::Number,
            Cell::String { .. } => JsonType::String,
            Cell::Array { .. } => JsonType::Array,
            Cell::Object { .. } => JsonType::Object,
        }
    }

    fn string_length_within(&self, min: u64, max: u64) -> Option<bool> {
        let Kind::String(text) = self.kind() else {
            return None;
        };
        // A character has one to four bytes, which mostly decides without counting.
        let bytes = text.len() as u64;
        let fewest = bytes.div_ceil(4);
        if bytes < min || fewest > max {
            return Some(false);
        }
        if min <= fewest && bytes <= max {
            return Some(true);
        }
        Some((min..=max).contains(&(text.chars().count() as u64)))
    }

    fn equals_value(&self, expected: &Serde) -> bool {
        equals(self.kind(), expected)
    }

    fn to_value(&self) -> Cow<'a, Serde> {
        Cow::Owned(match self {
            SchemaNode::Value(value) => value.to_serde(),
            SchemaNode::Name(name) => Serde::from(*name),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(match self {
            SchemaNode::Value(value) => {
                let document = std::ptr::from_ref::<Document>(value.document);
                NodeIdentity::tagged(document as usize, value.node.0)
            }
            // Names lie in a document's text, which is elsewhere than any document.
            SchemaNode::Name(name) => NodeIdentity::tagged(name.as_ptr() as usize, u32::MAX),
        })
    }
}

/// Recursion is bounded by `expected`, a part of a schema.
fn equals(value: Kind<'_>, expected: &Serde) -> bool {
    match (value, expected) {
        (Kind::Null, Serde::Null) => true,
        (Kind::Bool(a), Serde::Bool(b)) => a == *b,
        (Kind::Number(a), Serde::Number(b)) => b.as_f64() == Some(a),
        (Kind::String(a), Serde::String(b)) => a == b,
        (Kind::Array(a), Serde::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equals(a.kind(), b))
        }
        (Kind::Object(a), Serde::Object(b)) => {
            let same = |(key, b): (&String, &Serde)| {
                let a = a.get(key);
                a.is_some_and(|a| equals(a.kind(), b))
            };
            a.len() == b.len() && b.iter().all(same)
        }
        _ => false,
    }
}

/// A number of ours.
pub(super) struct Double(f64);

impl JsonNumber for Double {
    // Beyond 2^53 a double no longer names one integer; there it is compared as the double it is.
    fn as_u64(&self) -> Option<u64> {
        let whole = self.is_integer() && (0.0..=MAX_INTEGER).contains(&self.0);
        whole.then_some(self.0 as u64)
    }

    fn as_i64(&self) -> Option<i64> {
        let whole = self.is_integer() && self.0.abs() <= MAX_INTEGER;
        whole.then_some(self.0 as i64)
    }

    fn as_f64(&self) -> Option<f64> {
        Some(self.0)
    }

    fn as_str(&self) -> Cow<'_, str> {
        let mut out = Vec::new();
        write_number(&mut out, self.0);
        Cow::Owned(String::from_utf8_lossy(&out).into_owned())
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(serde_number(self.0))
    }

    fn is_integer(&self) -> bool {
        self.0.trunc() == self.0
    }

    fn is_written_as_integer(&self) -> bool {
        // `1`, `1.0` and `1e0` are one number here.
        self.is_integer()
    }
}

impl<'a> Object<'a, Canon> for crate::Object<'a> {
    type Node = SchemaNode<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        (*self).len()
    }

    fn get(&self, key: &Box<str>) -> Option<SchemaNode<'a>> {
        (*self).get(key).map(SchemaNode::Value)
    }

    fn members(&self) -> Members<'a> {
        Members {
            object: *self,
            next: 0,
        }
    }
}

/// The members of an object, in canonical order.
pub(super) struct Members<'a> {
    object: crate::Object<'a>,
    next: u32,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, SchemaNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.object.member(self.next)?;
        self.next += 1;
        Some((name, SchemaNode::Value(value)))
    }
}

impl<'a> Array<'a, Canon> for crate::Array<'a> {
    type Node = SchemaNode<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        (*self).len()
    }

    fn elements(&self) -> Elements<'a> {
        Elements {
            array: *self,
            next: 0,
        }
    }

    fn is_unique(&self) -> bool {
        let few = 16;
        if (*self).len() > few {
            let mut seen = HashSet::with_capacity((*self).len());
            return self.iter().all(|value| seen.insert(value.to_canonical()));
        }
        let mut rest = self.iter();
        while let Some(value) = rest.next() {
            if rest.clone().any(|other| other == value) {
                return false;
            }
        }
        true
    }
}

/// The elements of an array.
pub(super) struct Elements<'a> {
    array: crate::Array<'a>,
    next: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = SchemaNode<'a>;

    fn next(&mut self) -> Option<SchemaNode<'a>> {
        let element = self.array.get(self.next)?;
        self.next += 1;
        Some(SchemaNode::Value(element))
    }
}
