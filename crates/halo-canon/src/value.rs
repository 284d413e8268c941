//! Reading a document.

use std::fmt;

use crate::arena::Cell;
use crate::extract::extract;
use crate::number::is_integer;
use crate::order::{canonical_order, prefix};
use crate::{Document, MAX_INTEGER, Node, write};

/// A value in a [`Document`].
#[derive(Clone, Copy)]
pub struct Value<'a> {
    pub(crate) document: &'a Document,
    pub(crate) node: Node,
}

/// What a [`Value`] is.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// Any number: a finite double.
    Number(f64),
    /// A string, unescaped.
    String(&'a str),
    /// An array.
    Array(Array<'a>),
    /// An object.
    Object(Object<'a>),
}

/// The elements of an array value.
#[derive(Debug, Clone, Copy)]
pub struct Array<'a> {
    document: &'a Document,
    start: u32,
    len: u32,
}

/// The members of an object value, in canonical order.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    document: &'a Document,
    start: u32,
    len: u32,
}

impl<'a> Value<'a> {
    /// Its place, to be kept beside the document.
    #[inline]
    pub fn node(self) -> Node {
        self.node
    }

    /// What it is.
    #[inline]
    pub fn kind(self) -> Kind<'a> {
        let document = self.document;
        match self.cell() {
            Cell::Null => Kind::Null,
            Cell::Bool(value) => Kind::Bool(value),
            Cell::Number(value) => Kind::Number(value),
            Cell::String { offset, len, .. } => Kind::String(document.slice(offset, len)),
            Cell::Array { start, len, .. } => Kind::Array(Array {
                document,
                start,
                len,
            }),
            Cell::Object { start, len, .. } => Kind::Object(Object {
                document,
                start,
                len,
            }),
        }
    }

    /// The string, if it is one.
    #[inline]
    pub fn as_str(self) -> Option<&'a str> {
        match *self.document.cell_ref(self.node.0) {
            Cell::String { offset, len, .. } => Some(self.document.slice(offset, len)),
            _ => None,
        }
    }

    /// The bytes of the string, if it is one. A comparison needs no look at where characters begin.
    #[inline]
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match *self.document.cell_ref(self.node.0) {
            Cell::String { offset, len, .. } => Some(self.document.bytes(offset, len)),
            _ => None,
        }
    }

    /// The number, if it is one.
    #[inline]
    pub fn as_f64(self) -> Option<f64> {
        match self.cell() {
            Cell::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    #[inline]
    pub fn as_bool(self) -> Option<bool> {
        match self.cell() {
            Cell::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The array, if it is one.
    #[inline]
    pub fn as_array(self) -> Option<Array<'a>> {
        let document = self.document;
        match *document.cell_ref(self.node.0) {
            Cell::Array { start, len, .. } => Some(Array {
                document,
                start,
                len,
            }),
            _ => None,
        }
    }

    /// The object, if it is one.
    #[inline]
    pub fn as_object(self) -> Option<Object<'a>> {
        let document = self.document;
        match *document.cell_ref(self.node.0) {
            Cell::Object { start, len, .. } => Some(Object {
                document,
                start,
                len,
            }),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        matches!(self.cell(), Cell::Null)
    }

    /// The member `key` of an object; nothing for anything else.
    #[inline]
    pub fn get(self, key: &str) -> Option<Self> {
        self.as_object()?.get(key)
    }

    /// The element `index` of an array; nothing for anything else.
    #[inline]
    pub fn element(self, index: usize) -> Option<Self> {
        self.as_array()?.get(index)
    }

    /// How deep objects and arrays are nested in it: 0 for a scalar, 1 for `[]`. Looks at everything below it.
    pub fn depth(self) -> u32 {
        let mut deepest = 0;
        let mut left = vec![(self.cell(), 1)];
        while let Some((cell, depth)) = left.pop() {
            if cell.children().is_none() {
                continue;
            }
            deepest = deepest.max(depth);
            let containers = self.document.children(cell).iter();
            let containers = containers.filter(|cell| cell.children().is_some());
            left.extend(containers.map(|cell| (*cell, depth + 1)));
        }
        deepest
    }

    /// Appends the canonical form (RFC 8785).
    pub fn write_canonical(self, out: &mut Vec<u8>) {
        write::write_value(self.document, self.document.cell_ref(self.node.0), out);
    }

    /// The canonical form as text.
    pub fn to_canonical(self) -> String {
        let mut out = Vec::new();
        self.write_canonical(&mut out);
        // Never lossy: the writer puts together whole strings and ASCII.
        String::from_utf8(out)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// A document of its own with the same canonical value.
    pub fn to_document(self) -> Document {
        extract(self.document, self.cell())
    }

    /// The value for libraries that speak serde_json.
    ///
    /// The result is dropped recursively, as all of serde_json's values are: not for values nested thousands deep.
    pub fn to_serde(self) -> serde_json::Value {
        match self.kind() {
            Kind::Null => serde_json::Value::Null,
            Kind::Bool(value) => value.into(),
            Kind::Number(value) => serde_number(value).into(),
            Kind::String(text) => text.into(),
            Kind::Array(array) => array.iter().map(Self::to_serde).collect(),
            Kind::Object(object) => object
                .iter()
                .map(|(key, value)| (key.to_owned(), value.to_serde()))
                .collect(),
        }
    }

    pub(crate) fn cell(self) -> Cell {
        self.document.cell(self.node.0)
    }
}

/// A double as serde_json's number: an integer where it is one, for that crate tells `1` from `1.0`.
pub(crate) fn serde_number(value: f64) -> serde_json::Number {
    if value.abs() <= MAX_INTEGER && is_integer(value) {
        (value as i64).into()
    } else {
        // Nothing but a finite number is stored.
        serde_json::Number::from_f64(value).unwrap_or_else(|| 0.into())
    }
}

/// Equality of canonical values, also across documents.
impl PartialEq for Value<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.cell(), other.cell());
        same_but_children(self.document, a, other.document, b)
            && (a.children().is_none() || same_children(self.document, a, other.document, b))
    }
}

/// Whether all below two containers is equal.
#[inline(never)]
fn same_children(left: &Document, a: Cell, right: &Document, b: Cell) -> bool {
    let mut rest = Vec::new();
    let mut pair = Some((a, b));
    while let Some((a, b)) = pair {
        if !same_but_children(left, a, right, b) {
            return false;
        }
        if let (Some(a), Some(b)) = (a.children(), b.children()) {
            rest.extend(a.zip(b));
        }
        pair = rest.pop().map(|(a, b)| (left.cell(a), right.cell(b)));
    }
    true
}

/// Whether two cells are equal as far as can be said without looking below them.
#[inline]
fn same_but_children(left: &Document, a: Cell, right: &Document, b: Cell) -> bool {
    match (a, b) {
        (Cell::Null, Cell::Null) => true,
        (Cell::Bool(a), Cell::Bool(b)) => a == b,
        (Cell::Number(a), Cell::Number(b)) => a == b,
        (
            Cell::String {
                offset: a,
                len: m,
                prefix: p,
                ..
            },
            Cell::String {
                offset: b,
                len: n,
                prefix: q,
                ..
            },
        ) => m == n && p == q && (m <= 4 || same_text(left.bytes(a, m), right.bytes(b, n))),
        (Cell::Array { len: m, .. }, Cell::Array { len: n, .. })
        | (Cell::Object { len: m, .. }, Cell::Object { len: n, .. }) => m == n,
        _ => false,
    }
}

/// The canonical text.
impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_canonical())
    }
}

/// The canonical text.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_canonical())
    }
}

impl<'a> Array<'a> {
    /// Number of elements.
    #[inline]
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The element at `index`.
    #[inline]
    pub fn get(self, index: usize) -> Option<Value<'a>> {
        let index = u32::try_from(index).ok().filter(|i| *i < self.len)?;
        Some(self.document.at(Node(self.start + index)))
    }

    /// The elements in order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = Value<'a>> + Clone {
        let document = self.document;
        (self.start..self.start + self.len).map(move |index| document.at(Node(index)))
    }
}

/// Whether two texts of one length and one prefix are equal. Of most keys and many values, the prefix and the last four
/// bytes are all.
#[inline(always)]
fn same_text(a: &[u8], b: &[u8]) -> bool {
    match (a.last_chunk::<4>(), b.last_chunk::<4>()) {
        (Some(last), Some(other)) => last == other && (a.len() <= 8 || a == b),
        // The prefix holds all of it.
        _ => true,
    }
}

/// Whether a cell is the string `key`, whose prefix is `wanted`.
#[inline(always)]
fn is_key(document: &Document, cell: &Cell, key: &[u8], wanted: u32) -> bool {
    match *cell {
        Cell::String {
            offset,
            len,
            prefix,
            ..
        } if prefix == wanted && len as usize == key.len() => {
            key.len() <= size_of::<u32>() || same_text(document.bytes(offset, len), key)
        }
        _ => false,
    }
}

/// Up to this many members a scan beats the binary search: most keys differ in length.
const SCANNED: u32 = 8;

impl<'a> Object<'a> {
    /// Number of members.
    #[inline]
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The member `key`.
    #[inline]
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let wanted = prefix(key.as_bytes(), 0, key.len());
        let index = if self.len <= SCANNED {
            self.scan(key.as_bytes(), wanted)
        } else {
            self.search(key.as_bytes(), wanted)
        };
        index.map(|index| self.document.at(Node(self.start + 2 * index + 1)))
    }

    /// The place of a member's value among the members.
    #[inline]
    pub fn place(self, value: Value<'_>) -> u32 {
        value.node.0.saturating_sub(self.start) / 2
    }

    /// The members in canonical order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = (&'a str, Value<'a>)> + Clone {
        (0..self.len).map(move |index| self.pair(index))
    }

    /// The member at `index` of the canonical order.
    pub(crate) fn member(self, index: u32) -> Option<(&'a str, Value<'a>)> {
        (index < self.len).then(|| self.pair(index))
    }

    fn pair(self, index: u32) -> (&'a str, Value<'a>) {
        let key = self.start + 2 * index;
        // Every key is a string.
        let name = self.document.at(Node(key)).as_str().unwrap_or_default();
        (name, self.document.at(Node(key + 1)))
    }

    fn scan(self, key: &[u8], wanted: u32) -> Option<u32> {
        let (members, _) = self.cells().as_chunks::<2>();
        let found = members
            .iter()
            .position(|[name, _]| is_key(self.document, name, key, wanted));
        found.map(|index| index as u32)
    }

    fn search(self, key: &[u8], wanted: u32) -> Option<u32> {
        let (members, _) = self.cells().as_chunks::<2>();
        let found = members.binary_search_by(|[name, _]| match *name {
            Cell::String { prefix, .. } if prefix != wanted => prefix.cmp(&wanted),
            Cell::String { offset, len, .. } => {
                canonical_order(self.document.bytes(offset, len), key)
            }
            _ => std::cmp::Ordering::Less,
        });
        found.ok().map(|index| index as u32)
    }

    fn cells(self) -> &'a [Cell] {
        let (start, end) = (self.start as usize, (self.start + 2 * self.len) as usize);
        self.document.cells.get(start..end).unwrap_or(&[])
    }

    /// The values of `keys`, if these are all its members. `keys` must be in canonical order. For objects of a known
    /// shape, which are many: one look, no search.
    #[inline(always)]
    pub fn exactly<const N: usize>(self, keys: [&str; N]) -> Option<[Value<'a>; N]> {
        let (members, _) = self.cells().as_chunks::<2>();
        let members: &[[Cell; 2]; N] = members.try_into().ok()?;
        // A loop of known length over known keys: their prefixes are constants.
        for index in 0..N {
            let key = keys[index].as_bytes();
            let wanted = prefix(key, 0, key.len());
            if !is_key(self.document, &members[index][0], key, wanted) {
                return None;
            }
        }
        let value = |index: usize| self.document.at(Node(self.start + 2 * index as u32 + 1));
        Some(std::array::from_fn(value))
    }
}
