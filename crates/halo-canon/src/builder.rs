//! Making a document without JSON text.

use crate::arena::{Cell, NO_SPAN};
use crate::assemble::Assembler;
use crate::write::needs_no_escape;
use crate::{Document, Fault, Value, number};

/// Makes a [`Document`] piece by piece, with the same rules as [`Document::parse`] but no limit on depth.
///
/// Calls that do not fit together (a value where a key must stand, an end without a beginning) are reported by
/// [`Builder::finish`].
#[derive(Debug, Default)]
pub struct Builder {
    assembler: Assembler,
    /// The first mistake; what comes after it is ignored.
    fault: Option<Fault>,
}

impl Builder {
    /// An empty builder; the first value becomes the root.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `null`.
    pub fn null(&mut self) {
        self.scalar(Cell::Null);
    }

    /// Adds a boolean.
    pub fn bool(&mut self, value: bool) {
        self.scalar(Cell::Bool(value));
    }

    /// Adds a number. Errors: not finite.
    pub fn number(&mut self, value: f64) -> Result<(), Fault> {
        if !value.is_finite() {
            return Err(self.stop(Fault::Number(value.to_string())));
        }
        self.scalar(Cell::Number(number::without_negative_zero(value)));
        Ok(())
    }

    /// Adds a number by its JSON literal, with the limits of P1.
    pub fn literal(&mut self, literal: &str) -> Result<(), Fault> {
        let value = match number::read(literal, 0, false) {
            Ok(read) if read.end == literal.len() => {
                read.value.ok_or_else(|| number::refusal(literal))
            }
            _ => Err(Fault::Syntax(format!("`{literal}` is not a JSON number"))),
        };
        match value {
            Ok(value) => {
                self.scalar(Cell::Number(value));
                Ok(())
            }
            Err(fault) => Err(self.stop(fault)),
        }
    }

    /// Adds a string.
    pub fn string(&mut self, value: &str) {
        if self.may_add_value() {
            let cell = self.store(value);
            self.assembler.push(cell);
        }
    }

    /// Copies a value with all below it.
    pub fn value(&mut self, value: Value<'_>) {
        let document = value.document;
        let mut open = Vec::new();
        let mut next = Some(value.cell());
        while let Some(cell) = next {
            self.cell(document, cell);
            if let Some(children) = cell.children() {
                open.push((children, matches!(cell, Cell::Object { .. })));
            }
            next = loop {
                let Some((children, object)) = open.last_mut() else {
                    break None;
                };
                if let Some(index) = children.next() {
                    break Some(document.cell(index));
                }
                self.end(*object);
                open.pop();
            };
        }
    }

    /// Opens an array; what follows are its elements.
    pub fn begin_array(&mut self) {
        self.begin(false);
    }

    /// Closes the innermost array.
    pub fn end_array(&mut self) {
        self.end(false);
    }

    /// Opens an object; what follows are keys and values in turn.
    pub fn begin_object(&mut self) {
        self.begin(true);
    }

    /// Names the next member.
    pub fn key(&mut self, key: &str) {
        if self.fault.is_some() {
            return;
        }
        if self.at_key() {
            let cell = self.store(key);
            self.assembler.push(cell);
        } else {
            self.stop(misuse("a key outside an object or after a key"));
        }
    }

    /// Closes the innermost object. Errors: a key stands twice.
    pub fn end_object(&mut self) -> Result<(), Fault> {
        self.end(true);
        match &self.fault {
            Some(fault @ Fault::DuplicateKey(_)) => Err(fault.clone()),
            _ => Ok(()),
        }
    }

    /// The document. Errors: not exactly one complete value.
    pub fn finish(self) -> Result<Document, Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if !self.assembler.is_one_value() {
            return Err(misuse("not exactly one complete value"));
        }
        if !self.assembler.fits() {
            return Err(Fault::TooLong);
        }
        Ok(self.assembler.finish())
    }

    fn scalar(&mut self, cell: Cell) {
        if self.may_add_value() {
            self.assembler.push(cell);
        }
    }

    fn begin(&mut self, object: bool) {
        if self.may_add_value() {
            self.assembler.open(object, NO_SPAN);
        }
    }

    fn end(&mut self, object: bool) {
        if self.fault.is_some() {
            return;
        }
        let innermost = self.assembler.innermost().map(|open| open.object);
        let complete = !object || self.at_key();
        if innermost != Some(object) || !complete {
            self.stop(misuse(
                "an end that closes nothing, or a key without a value",
            ));
        } else if !object {
            self.assembler.close_array(0);
        } else if let Err(repeated) = self.assembler.close_object(0) {
            self.stop(Fault::DuplicateKey(repeated.key));
        }
    }

    /// Adds one cell of another document, without what is below it.
    fn cell(&mut self, document: &Document, cell: Cell) {
        match cell {
            Cell::Null | Cell::Bool(_) | Cell::Number(_) => self.scalar(cell),
            Cell::String { offset, len, .. } if self.at_key() => {
                self.key(document.slice(offset, len));
            }
            Cell::String { offset, len, .. } => self.string(document.slice(offset, len)),
            Cell::Array { .. } => self.begin_array(),
            Cell::Object { .. } => self.begin_object(),
        }
    }

    /// Whether the next thing must be a key or the end of an object.
    fn at_key(&self) -> bool {
        let object = self.assembler.innermost().is_some_and(|open| open.object);
        object && self.assembler.pending().is_multiple_of(2)
    }

    fn may_add_value(&mut self) -> bool {
        if self.fault.is_some() {
            return false;
        }
        if self.at_key() {
            self.stop(misuse("a value where a key must stand"));
            return false;
        }
        if !self.assembler.fits() {
            self.stop(Fault::TooLong);
            return false;
        }
        true
    }

    /// Appends `value` in quotes, as the text of a parsed document has it.
    fn store(&mut self, value: &str) -> Cell {
        let text = &mut self.assembler.text;
        let offset = text.len() + 1;
        text.reserve(value.len() + 2);
        text.push('"');
        text.push_str(value);
        text.push('"');
        if u32::try_from(text.len()).is_err() {
            self.stop(Fault::TooLong);
            return Cell::Null;
        }
        let text = &self.assembler.text;
        Cell::string(text.as_bytes(), offset, value.len(), needs_no_escape(value))
    }

    fn stop(&mut self, fault: Fault) -> Fault {
        self.fault.get_or_insert(fault).clone()
    }
}

fn misuse(what: &str) -> Fault {
    Fault::Syntax(what.to_owned())
}
