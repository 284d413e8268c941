//! State records: written and read.

use super::{Caller, Failure, responses::by};
use crate::runtime::Runtime;
use halo_canon::Instant;
use halo_core::{Handled, Input, RawText};
use serde::Serialize;
use serde_json::value::RawValue;

/// A state record in force.
#[derive(Debug, Clone, Serialize)]
pub struct StateRecord {
    /// Its epoch.
    pub epoch: u64,
    /// When it was observed.
    pub observed_at: Instant,
    /// Where it comes from.
    pub provenance: String,
    /// Its value.
    pub value: Box<RawValue>,
}

impl Runtime {
    /// P8: one update, durable when this returns.
    ///
    /// Errors: as refused; the state stays.
    pub async fn write_state(
        &self,
        caller: Caller,
        address: String,
        record: Vec<u8>,
    ) -> Result<(), Failure> {
        self.ask(move |driver, reply| {
            let records = vec![(address, RawText(record))];
            let said = driver.turn(by(&caller), Input::Update { records });
            let said = match said {
                Ok(Handled::Updated { mut refused }) => match refused.pop() {
                    Some((_, refusal)) => Err(Failure::Refused(refusal)),
                    None => Ok(()),
                },
                Ok(_) => Ok(()),
                Err(refusal) => Err(Failure::Refused(refusal)),
            };
            reply.when_durable(driver, said);
        })
        .await?
    }

    /// All records in force, one snapshot, by address; only those that `wanted` names.
    ///
    /// Errors: the store fails.
    pub async fn state(
        &self,
        wanted: impl Fn(&str) -> bool + Send + 'static,
    ) -> Result<Vec<(String, StateRecord)>, Failure> {
        Ok(self
            .read(move |driver| {
                let records = driver.engine().records();
                let mut records: Vec<_> = records
                    .filter(|record| wanted(&record.address))
                    .filter_map(|record| {
                        let value = RawValue::from_string(record.value.to_canonical()).ok()?;
                        let kept = StateRecord {
                            epoch: record.epoch,
                            observed_at: record.observed_at,
                            provenance: record.provenance.to_owned(),
                            value,
                        };
                        Some((record.address, kept))
                    })
                    .collect();
                records.sort_by(|(first, _), (second, _)| first.cmp(second));
                records
            })
            .await?)
    }
}
