//! What kinds of value there are, and which an operator takes: one table for static checks and for evaluation.

use std::fmt;

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Timestamp,
    Duration,
    List,
    Map,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Null,
        Self::Bool,
        Self::Number,
        Self::String,
        Self::Timestamp,
        Self::Duration,
        Self::List,
        Self::Map,
    ];

    /// With its article, for messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Timestamp => "a timestamp",
            Self::Duration => "a duration",
            Self::List => "a list",
            Self::Map => "an object",
        }
    }
}

/// The kinds that an expression may have; one of them is certain when the expression gives a value at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const ANY: Self = Self(0xff);
    pub(crate) const NONE: Self = Self(0);
    /// What JSON can hold: never a timestamp or a duration.
    pub(crate) const JSON: Self = Self::of(Kind::Null)
        .or(Kind::Bool)
        .or(Kind::Number)
        .or(Kind::String)
        .or(Kind::List)
        .or(Kind::Map);

    pub(crate) const fn of(kind: Kind) -> Self {
        Self(1 << kind as u8)
    }
    pub(crate) const fn or(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }
    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    pub(crate) fn has(self, kind: Kind) -> bool {
        self.meets(Self::of(kind))
    }
    pub(crate) fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }
}

/// `a number`, `a string or null`; for everything JSON holds, `a JSON value`.
impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::JSON {
            return f.write_str("a JSON value");
        }
        for (position, kind) in self.iter().enumerate() {
            if position > 0 {
                f.write_str(" or ")?;
            }
            f.write_str(kind.noun())?;
        }
        Ok(())
    }
}

/// An operator of two operands that gives a value made of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arith {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arith {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        }
    }

    /// The kind of the result, or nothing where the operator does not take these kinds.
    pub(crate) fn result(self, left: Kind, right: Kind) -> Option<Kind> {
        use Kind::{Duration, List, Number, String, Timestamp};
        match (self, left, right) {
            (_, Number, Number) => Some(Number),
            (Self::Add, String, String) => Some(String),
            (Self::Add, List, List) => Some(List),
            (Self::Add, Timestamp, Duration) | (Self::Add, Duration, Timestamp) => Some(Timestamp),
            (Self::Add | Self::Subtract, Duration, Duration) => Some(Duration),
            (Self::Subtract, Timestamp, Duration) => Some(Timestamp),
            (Self::Subtract, Timestamp, Timestamp) => Some(Duration),
            _ => None,
        }
    }

    /// The kinds that the result may have; none where the operator must fail.
    pub(crate) fn results(self, left: Kinds, right: Kinds) -> Kinds {
        let mut results = Kinds::NONE;
        for l in left.iter() {
            for r in right.iter() {
                if let Some(kind) = self.result(l, r) {
                    results = results.or(kind);
                }
            }
        }
        results
    }
}

/// An ordering operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Order {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Whether two values in this ordering satisfy the operator.
    pub(crate) fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }

    /// The kinds that have an order; both operands must be of the same one.
    pub(crate) const ORDERED: Kinds = Kinds::of(Kind::Bool)
        .or(Kind::Number)
        .or(Kind::String)
        .or(Kind::Timestamp)
        .or(Kind::Duration);

    /// Whether some value of `left` can be ordered with some value of `right`.
    pub(crate) fn possible(left: Kinds, right: Kinds) -> bool {
        left.iter()
            .any(|kind| Self::ORDERED.has(kind) && right.has(kind))
    }
}
