//! How the `jsonschema` crate reads our values.

use std::borrow::Cow;
use std::cell::Cell as Flag;
use std::collections::HashSet;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use serde_json::Value as Serde;

use crate::arena::{Cell, Document};
use crate::number::is_integer;
use crate::value::serde_number;
use crate::{Kind, MAX_INTEGER, Value, write_number};

/// Our documents, as a representation of JSON.
pub(super) struct Canon;

/// A value, or a member's name on its own: `propertyNames` applies a schema to names.
#[derive(Clone, Copy)]
pub(super) enum SchemaNode<'a> {
    Value(Value<'a>, &'a Stack),
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
            SchemaNode::Value(value, _) => value.kind(),
            SchemaNode::Name(name) => Kind::String(name),
        }
    }
}

impl<'a> Node<'a, Canon> for SchemaNode<'a> {
    type Object = Members<'a>;
    type Array = Elements<'a>;
    type Number = Double;

    fn as_object(&self) -> Option<Members<'a>> {
        let SchemaNode::Value(value, stack) = *self else {
            return None;
        };
        let object = value.as_object()?;
        stack.has_room().then_some(Members {
            object,
            next: 0,
            stack,
        })
    }

    fn as_array(&self) -> Option<Elements<'a>> {
        let SchemaNode::Value(value, stack) = *self else {
            return None;
        };
        let array = value.as_array()?;
        stack.has_room().then_some(Elements {
            array,
            next: 0,
            stack,
        })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self.kind() {
            Kind::String(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<Double> {
        match self {
            SchemaNode::Value(value, _) => value.as_f64().map(Double),
            SchemaNode::Name(_) => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self {
            SchemaNode::Value(value, _) => value.as_bool(),
            SchemaNode::Name(_) => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, SchemaNode::Value(value, _) if value.is_null())
    }

    fn json_type(&self) -> JsonType {
        let SchemaNode::Value(value, _) = self else {
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
            SchemaNode::Value(value, _) => value.to_serde(),
            SchemaNode::Name(name) => Serde::from(*name),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(match self {
            SchemaNode::Value(value, _) => {
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
        is_integer(self.0)
    }

    fn is_written_as_integer(&self) -> bool {
        // `1`, `1.0` and `1e0` are one number here.
        self.is_integer()
    }
}

/// The members of an object, in canonical order.
#[derive(Clone, Copy)]
pub(super) struct Members<'a> {
    object: crate::Object<'a>,
    next: u32,
    stack: &'a Stack,
}

impl<'a> Object<'a, Canon> for Members<'a> {
    type Node = SchemaNode<'a>;
    type MemberName = &'a str;
    type MembersIter = Self;

    fn len(&self) -> usize {
        self.object.len()
    }

    fn get(&self, key: &Box<str>) -> Option<SchemaNode<'a>> {
        let value = self.object.get(key)?;
        Some(SchemaNode::Value(value, self.stack))
    }

    fn members(&self) -> Self {
        *self
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, SchemaNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.object.member(self.next)?;
        self.next += 1;
        Some((name, SchemaNode::Value(value, self.stack)))
    }
}

/// The elements of an array.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    array: crate::Array<'a>,
    next: usize,
    stack: &'a Stack,
}

impl<'a> Array<'a, Canon> for Elements<'a> {
    type Node = SchemaNode<'a>;
    type ElementsIter = Self;

    fn len(&self) -> usize {
        self.array.len()
    }

    fn elements(&self) -> Self {
        *self
    }

    fn is_unique(&self) -> bool {
        // Few are compared faster than they are written down.
        const FEW: usize = 16;
        if self.array.len() > FEW {
            let mut seen = HashSet::with_capacity(self.array.len());
            return self
                .array
                .iter()
                .all(|value| seen.insert(value.to_canonical()));
        }
        let mut rest = self.array.iter();
        while let Some(value) = rest.next() {
            if rest.clone().any(|other| other == value) {
                return false;
            }
        }
        true
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = SchemaNode<'a>;

    fn next(&mut self) -> Option<SchemaNode<'a>> {
        let element = self.array.get(self.next)?;
        self.next += 1;
        Some(SchemaNode::Value(element, self.stack))
    }
}

/// How much of the thread's stack one validation uses.
///
/// The validator recurses once for every reference and every level of the value, so a schema that refers to itself and
/// a deep value multiply, and an overflow would end the process. Values are what it descends into, and they come from
/// here: once the stack is used up, objects and arrays show nothing inside, and the verdict counts for nothing.
pub(super) struct Stack {
    base: usize,
    exhausted: Flag<bool>,
}

impl Stack {
    /// A quarter of a thread's usual 2 MiB; the rest is for callers, and for the references still to be followed at the
    /// value where it was used up, which the size of a schema bounds.
    const BUDGET: usize = 512 * 1024;

    /// Counts from here on.
    pub(super) fn from_here() -> Self {
        Self {
            base: position(),
            exhausted: Flag::new(false),
        }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.get()
    }

    #[inline]
    fn has_room(&self) -> bool {
        let room = self.base.abs_diff(position()) < Self::BUDGET;
        if !room {
            self.exhausted.set(true);
        }
        room
    }
}

/// About where the stack ends now.
#[inline]
fn position() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)) as usize
}
