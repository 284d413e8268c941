//! Readers beside a writer.

use super::{Checked, Failure, Subject, ensure, writer::Writer};
use crate::{Reader, Tip, Verifier};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

pub(super) fn see_what_is_durable(subject: &mut dyn Subject) -> Checked {
    const BATCH: u64 = 5;
    let mut store = subject.fresh();
    let reader = store.reader()?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let done = &done;
        let reading = scope.spawn(move || {
            while !done.load(Ordering::Acquire) {
                sees_whole_batches(&*reader, BATCH)?;
            }
            sees_whole_batches(&*reader, BATCH)?;
            Ok(reader.tip()?)
        });
        let mut writer = Writer::new();
        let written = (0..40).try_for_each(|_| store.append(&writer.batch(BATCH)));
        done.store(true, Ordering::Release);
        let seen: Result<Tip, Failure> = reading.join().unwrap_or(Err(Failure::Expected {
            check: "concurrent reader",
            expected: "no panic",
        }));
        written?;
        let all = seen? == writer.chain.tip();
        ensure(all, "concurrent reader", "all of it in the end")
    })
}

fn sees_whole_batches(reader: &dyn Reader, batch: u64) -> Checked {
    let tip = reader.tip()?;
    let whole = tip.number.is_multiple_of(batch);
    ensure(whole, "concurrent reader", "whole batches only")?;
    let mut verifier = Verifier::default();
    let records = reader.read(0, usize::MAX)?;
    let sound = records.iter().all(|record| verifier.check(record).is_ok());
    let grown = verifier.tip().number >= tip.number;
    ensure(
        sound && grown,
        "concurrent reader",
        "a sound chain that never shrinks",
    )
}
