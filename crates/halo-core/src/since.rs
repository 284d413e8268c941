//! Since when the members of a record's value are what they are (P16). Values are compared once, when an update comes,
//! and not again by every look of the gate at every instance that binds them.

use halo_canon::Value;
use serde::{Deserialize, Serialize};

/// No member of the value itself.
pub(crate) const NO_PLACE: u32 = u32::MAX;

/// The past of one record's value, in numbers of its updates.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Since {
    /// The latest update that brought another value.
    update: u64,
    /// Since when the names of its members are what they are.
    names: u64,
    /// Since when each member has its value, in canonical order of the names; empty where the value is no object.
    members: Box<[u64]>,
}

/// A member of a value as it was once.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Moment {
    update: u64,
    place: u32,
}

impl Since {
    /// For a record that had no value before.
    pub(crate) fn first(value: Value<'_>) -> Self {
        Self {
            update: 0,
            names: 0,
            members: vec![0; count(value)].into(),
        }
    }

    /// After an update from the value `before` to another one.
    pub(crate) fn after(&self, before: Value<'_>, now: Value<'_>) -> Self {
        let update = self.update + 1;
        let anew = || Self {
            update,
            names: update,
            members: vec![update; count(now)].into(),
        };
        let (Some(before), Some(now)) = (before.as_object(), now.as_object()) else {
            return anew();
        };
        if before.len() != now.len() || before.len() != self.members.len() {
            return anew();
        }
        let mut members = self.members.clone();
        for ((since, before), now) in members.iter_mut().zip(before.iter()).zip(now.iter()) {
            if before.0 != now.0 {
                return anew();
            }
            if before.1 != now.1 {
                *since = update;
            }
        }
        Self {
            update,
            names: self.names,
            members,
        }
    }

    /// The member at `place`, as it is now.
    pub(crate) fn moment(&self, place: u32) -> Moment {
        let update = self.update;
        Moment { update, place }
    }

    /// Whether that member surely is what it was. No: it must be compared.
    #[inline]
    pub(crate) fn is_as_then(&self, then: Moment) -> bool {
        let since = self.members.get(then.place as usize);
        self.names <= then.update && since.is_some_and(|since| *since <= then.update)
    }
}

fn count(value: Value<'_>) -> usize {
    value.as_object().map_or(0, halo_canon::Object::len)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{NO_PLACE, Since};
    use halo_canon::Document;

    fn document(text: &str) -> Document {
        Document::parse(text.as_bytes(), 8).unwrap()
    }

    /// Whether each of the first three members counts as unchanged after each of the updates.
    fn unchanged(texts: &[&str]) -> Vec<[bool; 3]> {
        let mut before = document(texts[0]);
        let mut since = Since::first(before.root());
        let then = [0, 1, 2].map(|place| since.moment(place));
        let mut all = Vec::new();
        for text in &texts[1..] {
            let now = document(text);
            since = since.after(before.root(), now.root());
            all.push(then.map(|then| since.is_as_then(then)));
            assert!(!since.is_as_then(since.moment(NO_PLACE)));
            before = now;
        }
        all
    }

    #[test]
    fn p16_a_member_is_as_then_until_it_changes() {
        let texts = [
            r#"{"a":1,"b":[1],"c":"x"}"#,
            r#"{"a":2,"b":[1],"c":"x"}"#,
            r#"{"a":1,"b":[2],"c":"x"}"#,
        ];
        // A value that returns must be compared: the numbers only say what surely did not change.
        assert_eq!(
            unchanged(&texts),
            [[false, true, true], [false, false, true]]
        );
    }

    #[test]
    fn p16_other_names_make_every_member_new() {
        let texts = [
            r#"{"a":1,"b":2,"c":3}"#,
            r#"{"a":1,"b":2,"d":3}"#,
            r#"{"a":1,"b":2,"c":3}"#,
            "7",
            r#"{"a":1,"b":2,"c":3}"#,
        ];
        assert_eq!(unchanged(&texts), [[false; 3]; 4]);
    }
}
