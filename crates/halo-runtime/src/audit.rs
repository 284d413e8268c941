//! `halo audit verify`: the chain, and every decision computed once more from what was recorded (I8).

use crate::{
    driver::draw_seed,
    replay::{Replay, ReplayError},
};
use halo_journal::Reader;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

/// Records read at once.
const PAGE: usize = 1_000;
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
    reader: &dyn Reader,
    mut progress: impl FnMut(u64),
) -> Result<Audit, crate::driver::OpenError> {
    let mut replay = Replay::new(draw_seed()?);
    let mut audit = Audit::default();
    let mut after = 0;
    'pages: loop {
        let page = reader.read(after, PAGE).map_err(ReplayError::Store)?;
        let Some(last) = page.last() else {
            break;
        };
        after = last.number;
        for record in &page {
            match replay.read(record) {
                Ok(reread) => audit.compare(record.number, &reread),
                Err(error) => {
                    audit.faults.push(Fault {
                        record: record.number,
                        what: error.to_string(),
                    });
                    break 'pages;
                }
            }
            audit.records += 1;
        }
        progress(after);
    }
    audit.ok = audit.faults.is_empty();
    Ok(audit)
}

impl Audit {
    fn compare(&mut self, record: u64, reread: &crate::replay::Reread) {
        if reread.kept_nothing {
            self.not_kept += 1;
            return;
        }
        // Its parts are text, numbers and maps with text keys: they have a JSON form.
        let now = serde_json::to_string(&reread.stepped.decisions).unwrap_or_default();
        if now == reread.decisions.get() {
            self.decisions += reread.stepped.decisions.len() as u64;
            return;
        }
        if self.faults.len() < SHOWN {
            self.faults.push(Fault {
                record,
                what: difference(&reread.decisions, &now),
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
