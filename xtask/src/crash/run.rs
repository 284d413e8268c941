//! One run: a directory, a few lives of a process on it, and what must hold at its end.

use super::{
    check::{self, Findings},
    client::{self, Clients},
    process::{Process, Started},
    random::Random,
    setting,
    world::World,
};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

/// How long everything may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing may change until everything is at rest.
const REST: Duration = Duration::from_millis(40);

/// How a life ends.
enum Death {
    Point(String),
    Outside(Duration),
    /// It is told to end.
    Order(Duration),
}

/// Runs one seed in `folder`.
///
/// Errors: the run itself can't be done.
pub(super) fn run(binary: &Path, folder: &Path, seed: u64) -> Result<Findings, String> {
    let world = World::start(seed)?;
    let findings = live(binary, folder, seed, &Clients::new(world.clone()));
    world.end();
    findings
}

fn live(binary: &Path, folder: &Path, seed: u64, clients: &Clients) -> Result<Findings, String> {
    let mut random = Random::new(seed);
    let mut findings = Findings::default();
    let mut version = 1;
    setting::write_catalog(folder, version)?;
    setting::write_deployment(folder, clients.world.address(), random.percent(50))?;
    let lives = 1 + random.below(3);
    let mut killed = None;
    for life in 0..lives {
        let death = death(&mut random);
        let point = match &death {
            Death::Point(point) => Some(point.as_str()),
            _ => None,
        };
        let mut process = match Process::start(binary, folder, point)? {
            Started::Ready(process) => process,
            Started::Killed => {
                findings.killed(point.unwrap_or_default());
                continue;
            }
        };
        let begin = Instant::now();
        let to = process.address;
        std::thread::scope(|scope| {
            for second in [false, true] {
                let mut random = Random::new(random.next());
                scope.spawn(move || use_it(clients, to, second, life, &mut random));
            }
            match death {
                Death::Point(_) => {}
                Death::Outside(after) => {
                    std::thread::sleep(after.saturating_sub(begin.elapsed()));
                    process.strike();
                }
                Death::Order(after) => {
                    std::thread::sleep(after.saturating_sub(begin.elapsed()));
                    clients.expect_end(true);
                    process.tell_to_end();
                }
            }
            if life + 1 < lives && random.percent(15) {
                version += 1;
                // A fault of the disk would show at the next start.
                let _ = setting::write_catalog(folder, version);
                clients.ask(to, "POST", "/v1/catalog/reload", Some(&json!({})));
            }
        });
        match death {
            Death::Order(_) => {
                process.end()?;
                clients.expect_end(false);
                findings.ended += 1;
            }
            Death::Point(point) => {
                // It may never have come there.
                let alive = process.kill();
                findings.killed(if alive { "outside" } else { &point });
            }
            Death::Outside(_) => {
                process.kill();
                findings.killed("outside");
            }
        }
        killed = Some(Instant::now());
        if random.percent(25) {
            version += 1;
            setting::write_catalog(folder, version)?;
        }
    }
    let Started::Ready(process) = Process::start(binary, folder, None)? else {
        return Err("the last start died".into());
    };
    let to = process.address;
    clients.write_gate(to, random.percent(75));
    clients.submit_again(to);
    let list = rest(clients, to, killed, &mut findings)?;
    check::check(clients, to, &list, &mut findings);
    process.kill();
    audit(binary, folder, &mut findings);
    Ok(findings)
}

fn death(random: &mut Random) -> Death {
    match random.below(100) {
        0..60 => {
            let (name, most) = random.one(&setting::POINTS).copied().unwrap_or_default();
            Death::Point(format!("{name}:{}", 1 + random.below(most)))
        }
        60..66 => {
            let name = random.one(&setting::START_POINTS).copied();
            Death::Point(format!("{}:1", name.unwrap_or_default()))
        }
        66..85 => Death::Outside(Duration::from_micros(500 + random.below(60_000))),
        _ => Death::Order(Duration::from_micros(500 + random.below(60_000))),
    }
}

/// What one of two clients does in a life.
fn use_it(clients: &Clients, to: SocketAddr, second: bool, life: u64, random: &mut Random) {
    if second {
        for account in ["a", "b"] {
            clients.write_budget(to, account);
        }
    } else {
        clients.write_gate(to, random.percent(80));
        clients.submit_again(to);
    }
    for turn in 0..4 + random.below(9) {
        let id = format!("{}{life}-{turn}", if second { "p" } else { "l" });
        match second {
            true => clients.pay(to, &id, random),
            false => clients.lift(to, &id, random),
        };
    }
}

/// Waits until everything came to rest, with everything in doubt settled; the responses then.
fn rest(
    clients: &Clients,
    to: SocketAddr,
    killed: Option<Instant>,
    findings: &mut Findings,
) -> Result<Value, String> {
    let begin = Instant::now();
    let mut quiet: Option<(Instant, Value)> = None;
    let mut first = true;
    loop {
        let (_, list) = clients
            .ask(to, "GET", "/v1/responses?limit=200", None)
            .ok_or("it died without a reason")?;
        if std::mem::take(&mut first) {
            let doubted = |one: &&(String, &Value)| one.1["phase"] == "in_doubt";
            findings.in_doubt += client::components(&list).iter().filter(doubted).count() as u64;
        }
        if begin.elapsed() > PATIENCE {
            findings.violation("it does not come to rest".into());
            return Ok(list);
        }
        let dead = killed.map(|killed| killed.elapsed());
        if clients
            .settle_first(to, &list, dead.or(Some(PATIENCE)))
            .is_some()
        {
            quiet = None;
            continue;
        }
        let components = client::components(&list);
        let waits = components.iter().find(|(_, component)| {
            component["phase"] == "retained" && component["type"] == "print"
        });
        if let Some((response, component)) = waits {
            let id = component["id"].as_str().unwrap_or("").to_owned();
            clients.dispatch(to, response.clone(), id);
            quiet = None;
            continue;
        }
        let moves = components.iter().any(|(_, component)| {
            let held = component["phase"] == "in_doubt" && component["binding"].is_string();
            component["phase"] == "retained" || held
        });
        match &quiet {
            Some((since, before)) if !moves && *before == list => {
                if since.elapsed() >= REST {
                    return Ok(list);
                }
            }
            _ => {
                for account in ["a", "b"] {
                    clients.write_budget(to, account);
                }
                quiet = Some((Instant::now(), list));
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn audit(binary: &Path, folder: &Path, findings: &mut Findings) {
    let output = Command::new(binary)
        .args(["--json", "audit", "verify", "data"])
        .current_dir(folder)
        .output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            findings.audit_failures += 1;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            findings.violation(format!("audit: {text}"));
        }
        Err(error) => findings.violation(format!("audit: {error}")),
    }
}
