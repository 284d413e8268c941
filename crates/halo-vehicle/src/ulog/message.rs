//! Kinds of messages, and what can be told of one from its bytes alone.

use super::format::size_of_key;

/// The mark that a synchronisation message must carry.
const SYNC: [u8; 8] = [0x2f, 0x73, 0x13, 0x20, 0x25, 0x0c, 0xbb, 0x12];
/// The bit that says that data was appended.
const APPENDED: u8 = 1;

/// A kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Flags,
    Format,
    Information,
    MultiInformation,
    Parameter,
    DefaultParameter,
    Subscription,
    Removal,
    Data,
    Text,
    TaggedText,
    Sync,
    Dropout,
}

impl Kind {
    pub(super) fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            b'B' => Self::Flags,
            b'F' => Self::Format,
            b'I' => Self::Information,
            b'M' => Self::MultiInformation,
            b'P' => Self::Parameter,
            b'Q' => Self::DefaultParameter,
            b'A' => Self::Subscription,
            b'R' => Self::Removal,
            b'D' => Self::Data,
            b'L' => Self::Text,
            b'C' => Self::TaggedText,
            b'S' => Self::Sync,
            b'O' => Self::Dropout,
            _ => return None,
        })
    }

    /// Whether it ends the definitions, or comes behind them.
    pub(super) fn is_of_data(self) -> bool {
        !matches!(
            self,
            Self::Flags
                | Self::Format
                | Self::Information
                | Self::MultiInformation
                | Self::Parameter
                | Self::DefaultParameter
        )
    }

    /// Whether a message of this kind may have `size` bytes.
    pub(super) fn may_have(self, size: usize) -> bool {
        match self {
            Self::Flags => size >= 40,
            Self::Format => size >= 3,
            Self::Information | Self::Parameter | Self::Data => size >= 2,
            Self::MultiInformation | Self::DefaultParameter => size >= 3,
            Self::Subscription => size >= 4,
            Self::Removal | Self::Dropout => size == 2,
            Self::Text => size >= 9,
            Self::TaggedText => size >= 11,
            Self::Sync => size == 8,
        }
    }
}

/// Checks a message that changes nothing here.
pub(super) fn check(kind: Kind, body: &[u8]) -> Result<(), String> {
    match kind {
        Kind::Information => keyed(body, 0).map(drop),
        Kind::MultiInformation => keyed(body, 1).map(drop),
        Kind::Parameter => parameter(keyed(body, 0)?),
        Kind::DefaultParameter => parameter(keyed(body, 1)?),
        Kind::Text | Kind::TaggedText => match body.first() {
            Some(b'0'..=b'7') => Ok(()),
            _ => Err("a text of no level".into()),
        },
        Kind::Sync => match body == SYNC {
            true => Ok(()),
            false => Err("a synchronisation message without its mark".into()),
        },
        _ => Ok(()),
    }
}

/// The key of a message that has one, after `before` bytes; its value must have the size that the key's type says.
fn keyed(body: &[u8], before: usize) -> Result<&[u8], String> {
    let rest = body.get(before..).unwrap_or_default();
    let (length, rest) = rest.split_first().ok_or("a key without a length")?;
    let split = rest.split_at_checked(usize::from(*length));
    let (key, value) = split.ok_or("a key that is longer than its message")?;
    match size_of_key(key)? as usize == value.len() {
        true => Ok(key),
        false => Err("a value that has not the size of its type".into()),
    }
}

fn parameter(key: &[u8]) -> Result<(), String> {
    match key.starts_with(b"int32_t ") || key.starts_with(b"float ") {
        true => Ok(()),
        false => Err("a parameter that is neither int32_t nor float".into()),
    }
}

/// What the flags say: where appended data begins, in order.
pub(super) fn flags(body: &[u8], position: u64) -> Result<Vec<u64>, String> {
    let incompatible = body.get(8..16).unwrap_or_default();
    let appended = match incompatible {
        [first, rest @ ..] if rest.iter().all(|byte| *byte == 0) && *first & !APPENDED == 0 => {
            first & APPENDED != 0
        }
        _ => return Err("the file says that it can only be read by a newer reader".into()),
    };
    let (words, _) = body.get(16..40).unwrap_or_default().as_chunks::<8>();
    let offsets: Vec<u64> = words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .filter(|offset| *offset != 0)
        .collect();
    if appended == offsets.is_empty() {
        return Err(
            "the flags say of appended data both that it is there and that it is not".into(),
        );
    }
    let mut before = position;
    for offset in &offsets {
        if *offset < before {
            return Err("appended data that begins before what it is appended to".into());
        }
        before = *offset;
    }
    Ok(offsets)
}
