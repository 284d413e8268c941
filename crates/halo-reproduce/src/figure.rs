//! Figures and rows: what was counted, what the paper says, whether they agree.

use crate::expected::ExpectedRow;
use serde::Serialize;
use std::fmt;

/// A count, alone or of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// A number.
    Count(u64),
    /// So many of so many.
    Of(u64, u64),
    /// A time, in nanoseconds; shown in milliseconds, as the paper has them.
    Nanos(u64),
}

impl Figure {
    /// From `12`, `3/12` or `0.0123 ms`; thousands separated by commas or not.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(millis) = text.strip_suffix(" ms") {
            let millis: f64 = millis.trim().parse().ok()?;
            return Some(Self::Nanos((millis * 1e6).round() as u64));
        }
        let number = |text: &str| text.replace(',', "").trim().parse().ok();
        match text.split_once('/') {
            Some((part, whole)) => Some(Self::Of(number(part)?, number(whole)?)),
            None => number(text).map(Self::Count),
        }
    }

    /// Whether both are the same share of their whole; of nothing, nothing is the same.
    pub fn has_rate_of(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Self::Of(part, whole), Self::Of(other, of)) => {
                whole > 0
                    && of > 0
                    && u128::from(part) * u128::from(of) == u128::from(other) * u128::from(whole)
            }
            (this, other) => this == other,
        }
    }

    /// The share, where it is one.
    pub fn rate(&self) -> Option<f64> {
        match *self {
            Self::Of(part, whole) if whole > 0 => Some(part as f64 / whole as f64),
            _ => None,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Of(part, whole) => write!(f, "{part}/{whole}"),
            Self::Nanos(nanos) => write!(f, "{:.4} ms", *nanos as f64 / 1e6),
        }
    }
}

impl Serialize for Figure {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// What a row comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Same {
    /// As the paper has it: the same figure or, of a cohort of our own, the same rate.
    Same,
    /// The paper has no such figure; it is what was expected, or nothing was.
    Own,
    /// It is not what the paper says and can't be: that, and which figure comes instead, was written down before.
    Foretold,
    /// It is not what the paper says, or not what was expected.
    Differs,
}

/// One row of the report.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The panel.
    pub panel: String,
    /// What was counted.
    pub row: String,
    /// The paper's figure, where it has one.
    pub paper: Option<String>,
    /// Ours; nothing where the panel did not count it.
    pub ours: Option<Figure>,
    /// What was written down before the first run.
    pub expected: Option<String>,
    /// Whether they agree.
    pub same: Same,
    /// Repeats it alone.
    pub command: String,
    /// What a reader must know.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl ExpectedRow {
    /// Judges a figure. `quick`: sizes are smaller than the paper's, so rates are compared.
    pub(crate) fn judge(&self, ours: Option<Figure>, quick: bool) -> Same {
        let Some(ours) = ours else {
            return Same::Differs;
        };
        let wanted = self.expected(quick).and_then(Figure::parse);
        if wanted.is_some_and(|wanted| wanted != ours) {
            return Same::Differs;
        }
        let Some(paper) = self.paper.as_deref().and_then(Figure::parse) else {
            return Same::Own;
        };
        let by_rate = self.by_rate || (quick && self.quick.is_some());
        let agrees = if by_rate {
            ours.has_rate_of(&paper)
        } else {
            ours == paper
        };
        if agrees {
            Same::Same
        } else if self.own_size {
            Same::Own
        } else if self.unreachable && wanted.is_some() {
            Same::Foretold
        } else {
            Same::Differs
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ExpectedRow, Figure, Same};

    #[test]
    fn only_what_was_expected_instead_is_foretold() {
        let row = |unreachable| ExpectedRow {
            row: "r".into(),
            paper: Some("90/90".into()),
            expect: Some("80/90".into()),
            quick: Some("8/9".into()),
            by_rate: false,
            own_size: false,
            unreachable,
            note: String::new(),
        };
        let eighty = Some(Figure::Of(80, 90));
        assert_eq!(row(true).judge(eighty, false), Same::Foretold);
        assert_eq!(
            row(true).judge(Some(Figure::Of(8, 9)), true),
            Same::Foretold
        );
        assert_eq!(row(false).judge(eighty, false), Same::Differs);
        for other in [Some(Figure::Of(90, 90)), Some(Figure::Of(79, 90)), None] {
            assert_eq!(row(true).judge(other, false), Same::Differs);
        }
        // Without a figure that was written down nothing was foretold.
        let silent = ExpectedRow {
            expect: None,
            quick: None,
            ..row(true)
        };
        assert_eq!(silent.judge(eighty, false), Same::Differs);
    }
}
