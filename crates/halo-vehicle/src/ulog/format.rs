//! Message formats: which field lies where.

use std::collections::BTreeMap;

/// Most formats of a file, and most bytes that they take together. A PX4 log has some two hundred in 100 KB.
const MOST: usize = 4_096;
const MOST_BYTES: usize = 1 << 22;
/// Deepest nesting of formats. PX4 has 2.
const DEEPEST: u32 = 16;

/// A type that a field may have without another format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as ULog names them")]
pub enum Basic {
    Int8,
    Uint8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Uint64,
    Float,
    Double,
    Bool,
    Char,
}

impl Basic {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "int8_t" => Self::Int8,
            "uint8_t" => Self::Uint8,
            "int16_t" => Self::Int16,
            "uint16_t" => Self::Uint16,
            "int32_t" => Self::Int32,
            "uint32_t" => Self::Uint32,
            "int64_t" => Self::Int64,
            "uint64_t" => Self::Uint64,
            "float" => Self::Float,
            "double" => Self::Double,
            "bool" => Self::Bool,
            "char" => Self::Char,
            _ => return None,
        })
    }

    fn size(self) -> u32 {
        match self {
            Self::Int8 | Self::Uint8 | Self::Bool | Self::Char => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float => 4,
            Self::Int64 | Self::Uint64 | Self::Double => 8,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Basic(Basic),
    Nested(Box<str>),
}

/// A type as it is written: `float`, `float[3]`, `esc_report[8]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Declared {
    kind: Kind,
    /// How many; nothing: no array.
    count: Option<u32>,
    name: Box<str>,
}

#[derive(Debug)]
struct Format {
    name: Box<str>,
    fields: Vec<Declared>,
    /// Its size in bytes, once it was computed.
    size: Option<u32>,
}

/// A field of a format, and where its first byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// In bytes from the beginning of the message's data.
    pub offset: usize,
    /// Its type; nothing: another format.
    pub basic: Option<Basic>,
    /// How many; nothing: no array.
    pub count: Option<u32>,
}

/// All formats of a file.
#[derive(Debug, Default)]
pub(super) struct Formats {
    formats: Vec<Format>,
    index: BTreeMap<Box<str>, usize>,
    bytes: usize,
}

impl Formats {
    /// Takes a format's definition, `name:type name;type name;`.
    pub(super) fn define(&mut self, text: &[u8]) -> Result<(), String> {
        self.bytes += text.len();
        if self.formats.len() >= MOST || self.bytes > MOST_BYTES {
            return Err("more formats than any vehicle has".into());
        }
        let text = std::str::from_utf8(text).map_err(|_| "a format that is no text")?;
        let (name, fields) = text.split_once(':').ok_or("a format without a name")?;
        if !is_name(name, "_-/") {
            return Err(format!("`{}` is no format's name", name.escape_default()));
        }
        let fields = fields
            .strip_suffix(';')
            .ok_or_else(|| format!("format {name}: its last field does not end"))?;
        let mut declared: Vec<Declared> = Vec::new();
        let mut names = std::collections::BTreeSet::new();
        for field in fields.split(';') {
            let field = declare(field).map_err(|what| format!("format {name}: {what}"))?;
            if !names.insert(field.name.clone()) {
                return Err(format!("format {name}: two fields {}", field.name));
            }
            declared.push(field);
        }
        if self.index.insert(name.into(), self.formats.len()).is_some() {
            return Err(format!("a second format {name}"));
        }
        self.formats.push(Format {
            name: name.into(),
            fields: declared,
            size: None,
        });
        Ok(())
    }

    /// The number of the format of that name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    pub(super) fn name(&self, format: usize) -> &str {
        self.formats.get(format).map_or("", |format| &format.name)
    }

    /// How many bytes a message of a format has: with padding at its end, and as it is logged, without.
    pub(super) fn sizes(&mut self, format: usize) -> Result<(u32, u32), String> {
        let full = self.size(format, 0)?;
        let fields = self.formats.get(format).map(|format| &format.fields);
        let last = fields.and_then(|fields| fields.last());
        let padding = match last {
            Some(Declared {
                kind: Kind::Basic(basic),
                count,
                name,
            }) if name.starts_with("_padding") => basic.size().saturating_mul(count.unwrap_or(1)),
            _ => 0,
        };
        Ok((full, full.saturating_sub(padding)))
    }

    fn size(&mut self, format: usize, depth: u32) -> Result<u32, String> {
        let Some(found) = self.formats.get(format) else {
            return Err("no such format".into());
        };
        if let Some(size) = found.size {
            return Ok(size);
        }
        let name = found.name.clone();
        if depth > DEEPEST {
            return Err(format!("format {name} lies too deep, or in itself"));
        }
        // Each format is computed once, so these copies are bounded by what the definitions take.
        let fields = found.fields.clone();
        let mut total = 0_u32;
        for field in &fields {
            let one = match &field.kind {
                Kind::Basic(basic) => basic.size(),
                Kind::Nested(nested) => {
                    let nested = self
                        .find(nested)
                        .ok_or_else(|| format!("format {name}: there is no format {nested}"))?;
                    self.size(nested, depth + 1)?
                }
            };
            total = one
                .checked_mul(field.count.unwrap_or(1))
                .and_then(|size| total.checked_add(size))
                .filter(|total| *total <= u32::from(u16::MAX))
                .ok_or_else(|| format!("format {name} is larger than any message"))?;
        }
        if let Some(found) = self.formats.get_mut(format) {
            found.size = Some(total);
        }
        Ok(total)
    }

    /// A field of a format whose size was computed.
    pub(super) fn field(&self, format: usize, name: &str) -> Option<Field> {
        let mut offset = 0;
        for field in &self.formats.get(format)?.fields {
            let (basic, one) = match &field.kind {
                Kind::Basic(basic) => (Some(*basic), basic.size()),
                Kind::Nested(nested) => (None, self.formats.get(self.find(nested)?)?.size?),
            };
            if &*field.name == name {
                return Some(Field {
                    offset,
                    basic,
                    count: field.count,
                });
            }
            offset += one.saturating_mul(field.count.unwrap_or(1)) as usize;
        }
        None
    }
}

/// Reads `type name`.
fn declare(text: &str) -> Result<Declared, String> {
    let wrong = || format!("`{}` is no field", text.escape_default());
    let (kind, name) = text.split_once(' ').ok_or_else(wrong)?;
    let (kind, count) = match kind.strip_suffix(']') {
        None => (kind, None),
        Some(array) => {
            let (kind, count) = array.split_once('[').ok_or_else(wrong)?;
            let digits = count.bytes().all(|digit| digit.is_ascii_digit());
            let count = count
                .parse()
                .ok()
                .filter(|count: &u32| digits && *count > 0);
            (kind, Some(count.ok_or_else(wrong)?))
        }
    };
    if !is_name(kind, "_-/") || !is_name(name, "_") {
        return Err(wrong());
    }
    let kind = Basic::named(kind).map_or_else(|| Kind::Nested(kind.into()), Kind::Basic);
    Ok(Declared {
        kind,
        count,
        name: name.into(),
    })
}

fn is_name(text: &str, also: &str) -> bool {
    let fits = |char: char| char.is_ascii_alphanumeric() || also.contains(char);
    !text.is_empty() && text.chars().all(fits)
}

/// The size in bytes of the value of an information or a parameter, from its key `type name`; which must be of a basic type.
pub(super) fn size_of_key(key: &[u8]) -> Result<u32, String> {
    let text = std::str::from_utf8(key).map_err(|_| "a key that is no text")?;
    let (kind, name) = text.split_once(' ').ok_or("a key without a type")?;
    // Keys may have names that no field has.
    let declared = declare(&format!("{kind} key"))?;
    match declared.kind {
        Kind::Basic(basic) if !name.is_empty() => {
            Ok(basic.size().saturating_mul(declared.count.unwrap_or(1)))
        }
        _ => Err(format!("`{}` is no key", text.escape_default())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn formats(texts: &[&str]) -> Formats {
        let mut formats = Formats::default();
        for text in texts {
            formats.define(text.as_bytes()).unwrap();
        }
        formats
    }

    #[test]
    fn nested_formats_have_places() {
        let mut formats = formats(&[
            "outer:uint64_t timestamp;inner[2] parts;float last;uint8_t[4] _padding0;",
            "inner:uint8_t a;uint8_t[3] _padding0;float b;",
        ]);
        let outer = formats.find("outer").unwrap();
        assert_eq!(formats.sizes(outer), Ok((8 + 2 * 8 + 4 + 4, 28)));
        let last = formats.field(outer, "last").unwrap();
        assert_eq!((last.offset, last.basic), (24, Some(Basic::Float)));
        assert_eq!(formats.field(outer, "parts").unwrap().basic, None);
        assert_eq!(formats.field(outer, "a"), None);
    }

    #[test]
    fn formats_in_themselves_and_huge_ones_are_refused() {
        let mut formats = formats(&["a:b x;", "b:a x;", "c:d x;", "e:uint64_t[9000] x;"]);
        for (name, what) in [("a", "too deep"), ("c", "no format d"), ("e", "larger")] {
            let format = formats.find(name).unwrap();
            let refused = formats.sizes(format).unwrap_err();
            assert!(refused.contains(what), "{refused}");
        }
    }

    #[test]
    fn what_is_no_format_is_refused() {
        for text in [
            "",
            "a",
            "a:",
            "a:;",
            "a:float x",
            "a:float  x;",
            "a:float[] x;",
            "a:float[0] x;",
            "a:float[+1] x;",
            "a:float x;float x;",
            ":float x;",
            "a b:float x;",
            "a:float[3 x;",
            "a:float3] x;",
        ] {
            assert!(
                Formats::default().define(text.as_bytes()).is_err(),
                "{text}"
            );
        }
        let mut twice = formats(&["a:float x;"]);
        assert!(twice.define(b"a:float x;").is_err());
    }
}
