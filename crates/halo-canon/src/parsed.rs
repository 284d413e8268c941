//! Deserializing what stands in a text.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// A serde visitor that reads a `T` from its text form, borrowed or not.
pub(crate) struct Parsed<T> {
    expected: &'static str,
    result: PhantomData<T>,
}

impl<T> Parsed<T> {
    /// `expected` completes the sentence "invalid type: …, expected".
    pub(crate) fn new(expected: &'static str) -> Self {
        Self {
            expected,
            result: PhantomData,
        }
    }
}

impl<T: FromStr<Err: fmt::Display>> serde::de::Visitor<'_> for Parsed<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}
