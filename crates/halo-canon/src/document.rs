//! A parsed JSON value that is already in canonical order.

use crate::{Fault, JsonError};

/// One JSON value and everything under it, immutable, in one arena.
///
/// Members stand in canonical order (UTF-16 code units, RFC 8785), numbers are IEEE doubles, so two documents are
/// equal exactly when their canonical bytes are.
#[derive(Debug)]
pub struct Document {}

/// The place of a value in its [`Document`]; only meaningful together with that document.
#[derive(Debug, Clone, Copy)]
pub struct Node(u32);

/// A value in a [`Document`].
#[derive(Debug, Clone, Copy)]
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
pub struct Array<'a>(Value<'a>);
/// The members of an object value, in canonical order.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a>(Value<'a>);

impl Document {
    /// Parses exactly one RFC 8259 value, as P1 demands. `max_depth` counts objects and arrays; the outermost is 1.
    pub fn parse(text: &[u8], max_depth: u32) -> Result<Self, JsonError> {
        let _ = (text, max_depth);
        todo!()
    }
    /// The outermost value.
    pub fn root(&self) -> Value<'_> {
        todo!()
    }
    /// The value at `node`, which must come from this document. `null` for a node of another document that is out of range.
    pub fn at(&self, node: Node) -> Value<'_> {
        let _ = node;
        todo!()
    }
}

impl<'a> Value<'a> {
    /// Its place, to be kept beside the document.
    pub fn node(self) -> Node {
        self.node
    }
    /// What it is.
    pub fn kind(self) -> Kind<'a> {
        let _ = self.document;
        todo!()
    }
    /// The string, if it is one.
    pub fn as_str(self) -> Option<&'a str> {
        todo!()
    }
    /// The number, if it is one.
    pub fn as_f64(self) -> Option<f64> {
        todo!()
    }
    /// The boolean, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        todo!()
    }
    /// The array, if it is one.
    pub fn as_array(self) -> Option<Array<'a>> {
        todo!()
    }
    /// The object, if it is one.
    pub fn as_object(self) -> Option<Object<'a>> {
        todo!()
    }
    /// The member `key` of an object; nothing for anything else.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let _ = key;
        todo!()
    }
    /// The element `index` of an array; nothing for anything else.
    pub fn element(self, index: usize) -> Option<Value<'a>> {
        let _ = index;
        todo!()
    }
    /// Appends the canonical form (RFC 8785).
    pub fn write_canonical(self, out: &mut Vec<u8>) {
        let _ = out;
        todo!()
    }
    /// The canonical form as text.
    pub fn to_canonical(self) -> String {
        todo!()
    }
    /// A document of its own with the same canonical value.
    pub fn to_document(self) -> Document {
        todo!()
    }
    /// The value for libraries that speak serde_json.
    pub fn to_serde(self) -> serde_json::Value {
        todo!()
    }
}

/// Equality of canonical values, also across documents.
impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        let _ = other;
        todo!()
    }
}

impl<'a> Array<'a> {
    /// Number of elements.
    pub fn len(self) -> usize {
        let _ = self.0;
        todo!()
    }
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
    /// The element at `index`.
    pub fn get(self, index: usize) -> Option<Value<'a>> {
        let _ = index;
        todo!()
    }
    /// The elements in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Value<'a>> + Clone {
        std::iter::empty()
    }
}

impl<'a> Object<'a> {
    /// Number of members.
    pub fn len(self) -> usize {
        let _ = self.0;
        todo!()
    }
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
    /// The member `key`.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let _ = key;
        todo!()
    }
    /// The members in canonical order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (&'a str, Value<'a>)> + Clone {
        std::iter::empty()
    }
}

/// Makes a [`Document`] piece by piece, with the same rules as [`Document::parse`].
#[derive(Debug, Default)]
pub struct Builder {}

impl Builder {
    /// An empty builder; the first value becomes the root.
    pub fn new() -> Self {
        Self {}
    }
    /// Adds `null`.
    pub fn null(&mut self) {
        todo!()
    }
    /// Adds a boolean.
    pub fn bool(&mut self, value: bool) {
        let _ = value;
        todo!()
    }
    /// Adds a number. Errors: not finite.
    pub fn number(&mut self, value: f64) -> Result<(), Fault> {
        let _ = value;
        todo!()
    }
    /// Adds a number by its JSON literal, with the limits of P1.
    pub fn literal(&mut self, literal: &str) -> Result<(), Fault> {
        let _ = literal;
        todo!()
    }
    /// Adds a string.
    pub fn string(&mut self, value: &str) {
        let _ = value;
        todo!()
    }
    /// Copies a value with all below it.
    pub fn value(&mut self, value: Value<'_>) {
        let _ = value;
        todo!()
    }
    /// Opens an array; what follows are its elements.
    pub fn begin_array(&mut self) {
        todo!()
    }
    /// Closes the innermost array.
    pub fn end_array(&mut self) {
        todo!()
    }
    /// Opens an object; what follows are keys and values in turn.
    pub fn begin_object(&mut self) {
        todo!()
    }
    /// Names the next member.
    pub fn key(&mut self, key: &str) {
        let _ = key;
        todo!()
    }
    /// Closes the innermost object. Errors: a key stands twice.
    pub fn end_object(&mut self) -> Result<(), Fault> {
        todo!()
    }
    /// The document. Errors: not exactly one complete value.
    pub fn finish(self) -> Result<Document, Fault> {
        todo!()
    }
}
