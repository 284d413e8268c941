//! Server-sent events: every record as it becomes durable, from any record on, without gaps or repeats.

use crate::{
    answer::{Out, With as _, whole},
    app::{App, Call, stopped},
    calls::journal::Shown,
    problem::Problem,
};
use halo_journal::Record;
use halo_runtime::ports::events::Emitted;
use hyper::{Response, StatusCode, body::Bytes, header::HeaderName};
use std::{fmt::Write as _, sync::Arc};
use tokio::{
    sync::{
        broadcast::{self, error::RecvError},
        mpsc, oneshot, watch,
    },
    time::{Interval, MissedTickBehavior, interval, timeout},
};

/// Events that may wait for a listener; beyond, the listener is waited for, and misses nothing: it reads the journal.
const AHEAD: usize = 32;
/// After how many milliseconds a listener that lost the stream should come back.
const RETRY: &str = "retry: 2000\n\n";

pub(crate) async fn stream(call: Call) -> Result<Response<Out>, Problem> {
    let place = call.wait_place()?;
    let from = start(&call)?;
    let app = call.app.clone();
    let records = listen(&app).await?;
    let emissions = app.emissions.as_ref().map(|feed| feed.listen());
    let newest = app.newest_record().await?;
    let seen = from.unwrap_or(newest);
    if seen > newest {
        let detail =
            format!("the journal has no record {seen}, its newest is {newest}; start anew");
        return Err(Problem::new("outdated", detail));
    }
    let (out, body) = mpsc::channel(AHEAD);
    let mut teller = Teller {
        out,
        seen,
        behind: true,
        records,
        emissions,
        stopping: app.stopping.clone(),
        app,
    };
    tokio::spawn(async move {
        // Ends when the listener is gone, or the runtime.
        let _ = teller.tell().await;
        drop(place);
    });
    let mut answer = whole(StatusCode::OK, "text/event-stream", Bytes::new());
    *answer.body_mut() = Out::Stream(body);
    // Proxies would wait for the end.
    Ok(answer.with(HeaderName::from_static("x-accel-buffering"), "no"))
}

/// Listens to records. When this returns, the journal can be read for everything that is not heard: what comes in between
/// is heard and read, and told once.
async fn listen(app: &App) -> Result<broadcast::Receiver<Arc<Record>>, Problem> {
    let listening = app.runtime.look(|driver| {
        let (told, durable) = oneshot::channel();
        // Durable or lost: either way, it is not on its way any more.
        driver.after(move |_, _| {
            // Whoever asked may have gone.
            let _ = told.send(());
        });
        (driver.listen(), durable)
    });
    let stopping = || Problem::new("stopping", "the runtime is stopping");
    let (records, durable) = listening.await.ok_or_else(stopping)?;
    durable.await.map_err(|_| stopping())?;
    Ok(records)
}

/// The record after which the stream goes on; nothing: from now.
fn start(call: &Call) -> Result<Option<u64>, Problem> {
    let header = call.headers.get("last-event-id");
    let Some(header) = header.filter(|header| !header.is_empty()) else {
        return call.query.number("after");
    };
    let text = header.to_str().unwrap_or("");
    let number = text.parse().ok();
    let wrong = || Problem::new("bad_request", "`Last-Event-ID` must be a record's number");
    number.map(Some).ok_or_else(wrong)
}

/// The listener is gone, or there is nothing to tell any more.
struct Over;

struct Teller {
    app: Arc<App>,
    out: mpsc::Sender<Bytes>,
    /// The last record that was told.
    seen: u64,
    /// Whether the journal may hold records that were not told and will not be heard.
    behind: bool,
    records: broadcast::Receiver<Arc<Record>>,
    emissions: Option<broadcast::Receiver<Emitted>>,
    stopping: watch::Receiver<bool>,
}

/// What a teller hears.
enum Heard {
    Record(Result<Arc<Record>, RecvError>),
    Emission(Result<Emitted, RecvError>),
    Silence,
    Stop,
}

impl Teller {
    async fn tell(&mut self) -> Result<(), Over> {
        self.send(RETRY.into()).await?;
        let mut alive = interval(self.app.patience.keep_alive);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        alive.reset();
        loop {
            if self.behind {
                self.catch_up().await?;
            }
            match self.hear(&mut alive).await {
                Heard::Record(Ok(record)) => self.hear_record(&record).await?,
                Heard::Record(Err(RecvError::Lagged(_))) => self.behind = true,
                Heard::Emission(Ok(emitted)) => {
                    self.send(event("emission", None, &emitted.text)).await?;
                }
                Heard::Emission(Err(RecvError::Lagged(missed))) => {
                    self.send(format!(": {missed} emissions were missed\n\n"))
                        .await?;
                }
                Heard::Emission(Err(RecvError::Closed)) => self.emissions = None,
                Heard::Silence => self.send(":\n\n".into()).await?,
                Heard::Record(Err(RecvError::Closed)) | Heard::Stop => return Err(Over),
            }
        }
    }

    async fn hear(&mut self, alive: &mut Interval) -> Heard {
        let emission = async {
            match &mut self.emissions {
                Some(emissions) => emissions.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            record = self.records.recv() => Heard::Record(record),
            emitted = emission => Heard::Emission(emitted),
            _ = alive.tick() => Heard::Silence,
            () = self.out.closed() => Heard::Stop,
            () = stopped(&mut self.stopping) => Heard::Stop,
        }
    }

    async fn hear_record(&mut self, record: &Record) -> Result<(), Over> {
        if record.number <= self.seen {
            return Ok(());
        }
        if record.number > self.seen + 1 {
            // What lies in between stands in the journal, and so does this one.
            self.behind = true;
            return Ok(());
        }
        self.tell_record(record).await
    }

    /// Tells what the journal holds and was not told.
    async fn catch_up(&mut self) -> Result<(), Over> {
        loop {
            let Ok(page) = self.app.records_above(self.seen).await else {
                // The listener comes back, and goes on from what it has.
                return Err(Over);
            };
            if page.is_empty() {
                self.behind = false;
                return Ok(());
            }
            for record in page {
                self.tell_record(&record).await?;
            }
        }
    }

    async fn tell_record(&mut self, record: &Record) -> Result<(), Over> {
        let data = serde_json::to_string(&Shown::from(record)).unwrap_or_default();
        self.send(event(&record.kind, Some(record.number), &data))
            .await?;
        self.seen = record.number;
        Ok(())
    }

    /// Hands text over. A listener that takes nothing for too long is given up.
    async fn send(&self, text: String) -> Result<(), Over> {
        match timeout(self.app.patience.stalled, self.out.send(text.into())).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Over),
        }
    }
}

/// One event.
fn event(name: &str, id: Option<u64>, data: &str) -> String {
    let mut text = String::with_capacity(data.len() + 64);
    // Writing to text does not fail.
    if let Some(id) = id {
        let _ = writeln!(text, "id: {id}");
    }
    let _ = writeln!(text, "event: {name}");
    // A line break in JSON is space between its parts.
    for line in data.lines() {
        let _ = writeln!(text, "data: {line}");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_framed() {
        let text = event("submit", Some(7), "{\n\"a\":1}");
        assert_eq!(text, "id: 7\nevent: submit\ndata: {\ndata: \"a\":1}\n\n");
        assert_eq!(
            event("emission", None, "{}"),
            "event: emission\ndata: {}\n\n"
        );
    }
}
