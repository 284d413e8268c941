//! What is outside of the runtime: adapters' receivers, sinks of emissions, a pulled provider. It does what its seed says
//! and remembers everything that reached it.

use super::{http, random};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io::Read,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// What each account holds at first.
pub(super) const OPENING_BALANCE: i64 = 100;
/// Longer than the runtime waits.
const HANG: Duration = Duration::from_millis(600);

/// What a receiver does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Accept,
    Refuse,
    ActThenConflict,
    ActThenHang,
    ActThenDrop,
}

impl Manner {
    fn of(seed: u64, key: &str) -> Self {
        match random::of_text(seed, key).below(100) {
            0..60 => Self::Accept,
            60..72 => Self::Refuse,
            72..82 => Self::ActThenConflict,
            82..88 => Self::ActThenHang,
            _ => Self::ActThenDrop,
        }
    }
}

/// An adapter call that arrived whole.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) adapter: String,
    pub(super) key: String,
    pub(super) message: Value,
    pub(super) manner: Manner,
    pub(super) at: Instant,
}

impl Call {
    pub(super) fn text(&self, member: &str) -> &str {
        self.message[member].as_str().unwrap_or("")
    }

    pub(super) fn acted(&self) -> bool {
        self.manner != Manner::Refuse
    }
}

/// An emission that arrived whole.
#[derive(Debug, Clone)]
pub(super) struct Emission {
    pub(super) path: String,
    pub(super) key: String,
    pub(super) message: Value,
}

/// What is remembered.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) calls: Vec<Call>,
    pub(super) emissions: Vec<Emission>,
    pub(super) balances: HashMap<String, i64>,
    pub(super) told: u64,
    pub(super) asked: u64,
}

/// See the module.
pub(super) struct World {
    seed: u64,
    address: SocketAddr,
    seen: Mutex<Seen>,
    ended: AtomicBool,
}

impl World {
    /// Listens, on threads of its own, until [`World::end`].
    pub(super) fn start(seed: u64) -> Result<Arc<Self>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let world = Arc::new(Self {
            seed,
            address,
            seen: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let serving = world.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.ended.load(Ordering::Relaxed) {
                    return;
                }
                let serving = serving.clone();
                std::thread::spawn(move || serving.serve(&stream));
            }
        });
        Ok(world)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that listens.
        let _ = TcpStream::connect(self.address);
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an account holds, and when that was read.
    pub(super) fn balance(&self, account: &str) -> (i64, String) {
        let seen = self.seen();
        let left = seen.balances.get(account).copied();
        (left.unwrap_or(OPENING_BALANCE), now())
    }

    fn serve(&self, stream: &TcpStream) {
        let Ok(request) = http::read(stream) else {
            return;
        };
        // Whoever asked may be dead: then nobody reads the answer.
        let _ = match request.path.as_str() {
            "/meter" => self.measure(stream),
            "/told" => {
                self.seen().told += 1;
                http::answer(stream, 204, "")
            }
            "/once" | "/twice" => self.take_emission(stream, request),
            _ => self.take_call(stream, request),
        };
    }

    fn measure(&self, stream: &TcpStream) -> std::io::Result<()> {
        let count = {
            let mut seen = self.seen();
            seen.asked += 1;
            seen.asked
        };
        let record = |ok: bool| json!({"observed_at": now(), "value": {"ok": ok}}).to_string();
        match random::of_text(self.seed, &format!("meter {count}")).below(10) {
            0 => http::answer(stream, 200, &record(false)),
            1 => http::answer(stream, 503, ""),
            2 => hang(stream),
            _ => http::answer(stream, 200, &record(true)),
        }
    }

    fn take_emission(&self, stream: &TcpStream, request: http::Request) -> std::io::Result<()> {
        let again = {
            let mut seen = self.seen();
            let again = seen.emissions.iter().any(|one| one.key == request.key);
            seen.emissions.push(Emission {
                path: request.path,
                key: request.key.clone(),
                message: request.body,
            });
            again
        };
        match random::of_text(self.seed, &request.key).below(10) {
            0 if !again => Ok(()),
            1 if !again => http::answer(stream, 503, ""),
            _ => http::answer(stream, 204, ""),
        }
    }

    fn take_call(&self, stream: &TcpStream, request: http::Request) -> std::io::Result<()> {
        let manner = Manner::of(self.seed, &request.key);
        {
            let mut seen = self.seen();
            let payload = &request.body["payload"];
            if let (Some(account), Some(amount), true) = (
                payload["account"].as_str(),
                payload["amount"].as_i64(),
                manner != Manner::Refuse,
            ) {
                let left = seen.balances.entry(account.to_owned());
                *left.or_insert(OPENING_BALANCE) -= amount;
            }
            seen.calls.push(Call {
                adapter: request.path.trim_start_matches('/').to_owned(),
                key: request.key,
                message: request.body,
                manner,
                at: Instant::now(),
            });
        }
        match manner {
            Manner::Accept => http::answer(stream, 200, "{}"),
            Manner::Refuse => http::answer(stream, 422, "{}"),
            Manner::ActThenConflict => http::answer(stream, 409, "{}"),
            Manner::ActThenHang => hang(stream),
            Manner::ActThenDrop => Ok(()),
        }
    }
}

/// Says nothing until the other side gives up.
fn hang(mut stream: &TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(HANG))?;
    let _ = stream.read(&mut [0]);
    Ok(())
}

/// The wall clock, as records state it.
pub(super) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:09}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60,
        since.subsec_nanos()
    )
}

/// The date that is so many days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    // Years that begin in March, in eras of 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, carried) = match month {
        0..10 => (month + 3, 0),
        _ => (month - 9, 1),
    };
    (era * 400 + year + carried, month, date)
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates() {
        assert_eq!(super::date(0), (1970, 1, 1));
        assert_eq!(super::date(19_782), (2024, 2, 29));
        assert_eq!(super::date(20_788), (2026, 12, 1));
    }
}
