//! Why a text is not a value.

/// What is wrong with a text (P1), without its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Anything RFC 8259 does not allow; says what was expected or found.
    #[error("{0}")]
    Syntax(String),
    /// An object key stands twice.
    #[error("the key `{0}` stands twice in one object")]
    DuplicateKey(String),
    /// Deeper than the limit.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: u32,
    },
    /// Not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// A surrogate escape without its partner.
    #[error("a lone surrogate escape")]
    LoneSurrogate,
    /// A number that a double cannot carry, see P1.
    #[error("the number `{0}` has no exact or finite double")]
    Number(String),
    /// More than 4 GiB of text.
    #[error("longer than 4 GiB")]
    TooLong,
}

/// A [`Fault`] with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {fault}")]
pub struct JsonError {
    /// What is wrong.
    pub fault: Fault,
    /// Byte offset from 0.
    pub offset: usize,
    /// Line from 1.
    pub line: u32,
    /// Column from 1, in characters.
    pub column: u32,
}
