//! `halo audit verify`: the chain, and every decision computed once more from what was recorded (I8).

use crate::{
    decision::Decision,
    driver::draw_seed,
    replay::{ReplayError, Reread, reread},
};
use halo_journal::Reader;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

/// Decisions that differ are shown up to this many.
const SHOWN: usize = 20;

/// What an audit found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Audit {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// Records read.
    pub records: u64,
    /// Decisions that were computed again and are the same.
    pub decisions: u64,
    /// Submissions that were refused and whose text was too long to keep: their refusal can't be computed again.
    pub not_kept: u64,
    /// Records whose text was erased: the chain holds their digest only.
    pub erased: u64,
    /// Records whose text is there, but which rest on an erased one: their decisions can't be computed again.
    pub unfounded: u64,
    /// What is wrong, by record; after a broken chain nothing further is read.
    pub faults: Vec<Fault>,
}

/// Something that is wrong with a record.
#[derive(Debug, Clone, Serialize)]
pub struct Fault {
    /// Which record.
    pub record: u64,
    /// What is wrong.
    pub what: String,
}

/// Checks a whole journal. `progress` is told the number of records checked so far.
///
/// Errors: it can't be read at all.
pub fn audit(
    reader: Box<dyn Reader>,
    mut progress: impl FnMut(u64),
) -> Result<Audit, crate::driver::OpenError> {
    let mut audit = Audit::default();
    let read = reread(reader, draw_seed()?, |reread, _| {
        audit.records += 1;
        let number = reread.number();
        audit.take(reread);
        if number.is_multiple_of(1_000) {
            progress(number);
        }
    });
    match read {
        Ok(()) => {}
        Err(ReplayError::Store(error)) => return Err(error.into()),
        Err(error) => audit.faults.push(Fault {
            record: audit.records + 1,
            what: error.to_string(),
        }),
    }
    audit.ok = audit.faults.is_empty();
    Ok(audit)
}

impl Audit {
    fn take(&mut self, reread: Reread) {
        match reread {
            Reread::NotKept(_) => self.not_kept += 1,
            Reread::Erased(_) => self.erased += 1,
            Reread::Unfounded(_) => self.unfounded += 1,
            Reread::Both(both) => {
                self.compare(both.number, &both.recorded, &both.stepped.decisions);
            }
        }
    }

    fn compare(&mut self, record: u64, recorded: &RawValue, decided: &[Decision]) {
        // Its parts are text, numbers and maps with text keys: they have a JSON form.
        let now = serde_json::to_string(decided).unwrap_or_default();
        if now == recorded.get() {
            self.decisions += decided.len() as u64;
        } else if self.faults.len() < SHOWN {
            self.faults.push(Fault {
                record,
                what: difference(recorded, &now),
            });
        }
    }
}

/// The first decision that differs, as both say it.
fn difference(recorded: &RawValue, now: &str) -> String {
    let list = |text: &str| -> Vec<Value> { serde_json::from_str(text).unwrap_or_default() };
    let (recorded, now) = (list(recorded.get()), list(now));
    let text = |one: Option<&Value>| one.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let at = (0..recorded.len().max(now.len()))
        .find(|at| recorded.get(*at) != now.get(*at))
        .unwrap_or(0);
    format!(
        "decision {}: recorded {}, computed {}",
        at + 1,
        text(recorded.get(at)),
        text(now.get(at))
    )
}
