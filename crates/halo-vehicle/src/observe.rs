//! What the vehicle accepted, as its own log says.
//!
//! PX4 passes a setpoint on from MAVLink only while its navigation state is OFFBOARD; in all other states its own tasks
//! write the same topic. A sample counts once a status of its time or later says in which state it fell: what a log
//! shows up to some byte, a longer one shows too.

use crate::{
    Fingerprint,
    tally::{Sample, Tally},
    timeline::{Place, Timeline},
    ulog::{Basic, Event, Field, Reader, Stop, Topic},
};
use serde::Serialize;
use std::{collections::BTreeMap, io::Read};

pub use crate::tally::{Others, Seen};

/// PX4's `NAVIGATION_STATE_OFFBOARD`.
const OFFBOARD: u8 = 14;
/// Most setpoints between two statuses. PX4 logs at most a few hundred.
const MOST_PENDING: usize = 65_536;

/// What a log shows. Times are microseconds since the vehicle's boot, whose clock is not the host's.
#[derive(Debug, Serialize)]
pub struct Observation {
    /// The file's version.
    pub version: u8,
    /// When the logger began.
    pub start_us: u64,
    /// The setpoints that the vehicle had in OFFBOARD, in the order in which they were first seen.
    pub seen: Vec<Seen>,
    /// Samples in OFFBOARD that control velocity, acceleration or the rate of yaw too.
    pub others: Others,
    /// Setpoints of which the log does not tell in which state they fell: it ends in OFFBOARD, or begins before its
    /// first status.
    pub undecided: Vec<Seen>,
    /// As `others`, of these.
    pub undecided_others: Others,
    /// When it was in OFFBOARD.
    pub offboard: Vec<Interval>,
    /// Statuses read.
    pub statuses: u64,
    /// Setpoint samples read, of all states.
    pub setpoints: u64,
    /// Whether the log has setpoints at all.
    pub logs_setpoints: bool,
    /// Times when the logger could not write.
    pub dropouts: Dropouts,
    /// Parts that ended inside of a message, with data appended behind them.
    pub cut_parts: u64,
    /// How the file ended.
    pub end: End,
}

/// A time in OFFBOARD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// From, in microseconds since boot.
    pub from_us: u64,
    /// To; nothing: the log ended first.
    pub to_us: Option<u64>,
}

/// When the logger could not write: what it lost is not in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Dropouts {
    /// How often.
    pub count: u64,
    /// For how long in all, in milliseconds.
    pub millis: u64,
}

/// How a file ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum End {
    /// Behind a whole message.
    Whole,
    /// Inside of a message. What came before it was read.
    Cut {
        /// Where that message begins.
        at: u64,
        /// What is missing.
        what: String,
    },
    /// With something that is no ULog. What came before it was read, what comes behind it was not.
    Damaged {
        /// Where.
        at: u64,
        /// What is wrong.
        what: String,
    },
}

/// Reads a log to its end, or as far as it can be.
///
/// Errors: the file can't be read; what is wrong with its content is part of the observation.
pub fn observe(file: impl Read) -> Result<Observation, std::io::Error> {
    let mut observer = Observer::default();
    let (version, start_us, stop) = match Reader::new(file) {
        Ok(mut reader) => {
            let stop = observer.read(&mut reader).err();
            (reader.version(), reader.start(), stop)
        }
        Err(stop) => (0, 0, Some(stop)),
    };
    let end = match stop {
        None => End::Whole,
        Some(Stop::Cut { at, what }) => End::Cut { at, what },
        Some(Stop::Damaged { at, what }) => End::Damaged { at, what },
        Some(Stop::Unreadable { error, .. }) => return Err(error),
    };
    Ok(observer.end(version, start_us, end))
}

/// Where in a message lies what is needed of it, and the time of the newest one.
#[derive(Debug)]
enum Watched {
    Setpoint {
        places: Box<SetpointPlaces>,
        newest: u64,
    },
    Status {
        time: usize,
        state: usize,
        since: usize,
        newest: u64,
    },
}

#[derive(Debug)]
struct SetpointPlaces {
    time: usize,
    /// Where three floats lie.
    position: usize,
    yaw: usize,
    /// Where three floats lie, of each.
    vectors: [usize; 2],
    yaw_rate: usize,
}

#[derive(Debug, Default)]
struct Observer {
    watched: BTreeMap<u16, Watched>,
    timeline: Timeline,
    accepted: Tally,
    undecided: Tally,
    /// Samples later than the newest status, by time and number.
    pending: BTreeMap<(u64, u64), Sample>,
    statuses: u64,
    setpoints: u64,
    logs_setpoints: bool,
    dropouts: Dropouts,
    cut_parts: u64,
}

impl Observer {
    fn read<R: Read>(&mut self, reader: &mut Reader<R>) -> Result<(), Stop> {
        loop {
            let taken = match reader.next_event()? {
                None => return Ok(()),
                Some(Event::Logged(topic)) => self.watch(reader, topic),
                Some(Event::Data(topic, data)) => self.take(topic, data),
                Some(Event::Dropout(millis)) => {
                    self.dropouts.count += 1;
                    self.dropouts.millis += u64::from(millis);
                    Ok(())
                }
                Some(Event::PartCut) => {
                    self.cut_parts += 1;
                    Ok(())
                }
            };
            let at = reader.at();
            taken.map_err(|what| Stop::Damaged { at, what })?;
        }
    }

    /// Notes where the fields of a topic lie that matter here.
    fn watch<R: Read>(&mut self, reader: &Reader<R>, topic: Topic) -> Result<(), String> {
        // A number that was given back may be another topic's now.
        self.watched.remove(&topic.id);
        let name = reader.name(topic);
        let place = |field: &str, basic: Basic, count: Option<u32>| {
            let wanted = |found: &Field| found.basic == Some(basic) && found.count == count;
            let found = reader.field(topic, field).filter(wanted);
            let found = found.ok_or_else(|| {
                format!("topic {name} has no field {field} of the type that PX4 gives it")
            });
            found.map(|field| field.offset)
        };
        let watched = match (name, topic.instance) {
            ("trajectory_setpoint", _) => {
                self.logs_setpoints = true;
                Watched::Setpoint {
                    places: Box::new(SetpointPlaces {
                        time: place("timestamp", Basic::Uint64, None)?,
                        position: place("position", Basic::Float, Some(3))?,
                        yaw: place("yaw", Basic::Float, None)?,
                        vectors: [
                            place("velocity", Basic::Float, Some(3))?,
                            place("acceleration", Basic::Float, Some(3))?,
                        ],
                        yaw_rate: place("yawspeed", Basic::Float, None)?,
                    }),
                    newest: 0,
                }
            }
            ("vehicle_status", 0) => Watched::Status {
                time: place("timestamp", Basic::Uint64, None)?,
                state: place("nav_state", Basic::Uint8, None)?,
                // Without it nobody can tell when OFFBOARD ended: a status may come late.
                since: place("nav_state_timestamp", Basic::Uint64, None)?,
                newest: 0,
            },
            _ => return Ok(()),
        };
        self.watched.insert(topic.id, watched);
        Ok(())
    }

    fn take(&mut self, topic: Topic, data: &[u8]) -> Result<(), String> {
        match self.watched.get_mut(&topic.id) {
            None => Ok(()),
            Some(Watched::Setpoint { places, newest }) => {
                let at = later(newest, word(data, places.time)?)?;
                let sample = sample(data, places)?;
                self.setpoint(at, sample)
            }
            Some(Watched::Status {
                time,
                state,
                since,
                newest,
            }) => {
                let at = later(newest, word(data, *time)?)?;
                let [state] = bytes(data, *state)?;
                let since = word(data, *since)?;
                self.status(at, state, since)
            }
        }
    }

    fn setpoint(&mut self, at: u64, sample: Sample) -> Result<(), String> {
        self.setpoints += 1;
        match self.timeline.at(at) {
            Place::After(_) if self.pending.len() >= MOST_PENDING => {
                return Err("more setpoints without a vehicle_status than any vehicle has".into());
            }
            Place::After(_) => {
                self.pending.insert((at, self.setpoints), sample);
            }
            place => self.count(at, sample, place),
        }
        Ok(())
    }

    fn status(&mut self, at: u64, state: u8, since: u64) -> Result<(), String> {
        self.statuses += 1;
        let noted = self.timeline.note(at, state, since);
        noted.map_err(|_| "more changes of nav_state than any vehicle makes")?;
        while let Some(first) = self.pending.first_entry() {
            let (time, _) = *first.key();
            if time > at {
                break;
            }
            let sample = first.remove();
            self.count(time, sample, self.timeline.at(time));
        }
        Ok(())
    }

    fn count(&mut self, at: u64, sample: Sample, place: Place) {
        match place {
            Place::In(OFFBOARD) => self.accepted.add(at, sample),
            Place::In(_) => self.accepted.pause(),
            Place::Before | Place::After(Some(OFFBOARD) | None) => self.undecided.add(at, sample),
            // It left OFFBOARD, or never was in it, as far as the log goes.
            Place::After(Some(_)) => {}
        }
    }

    fn end(mut self, version: u8, start_us: u64, end: End) -> Observation {
        for ((at, _), sample) in std::mem::take(&mut self.pending) {
            let place = self.timeline.at(at);
            self.count(at, sample, place);
        }
        let (seen, others) = self.accepted.into_parts();
        let (undecided, undecided_others) = self.undecided.into_parts();
        let intervals = self.timeline.intervals(OFFBOARD).into_iter();
        Observation {
            version,
            start_us,
            seen,
            others,
            undecided,
            undecided_others,
            offboard: intervals
                .map(|(from_us, to_us)| Interval { from_us, to_us })
                .collect(),
            statuses: self.statuses,
            setpoints: self.setpoints,
            logs_setpoints: self.logs_setpoints,
            dropouts: self.dropouts,
            cut_parts: self.cut_parts,
            end,
        }
    }
}

impl Observation {
    /// Why it does not show everything that the vehicle accepted; nothing: it does, as far as a log can.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if let End::Damaged { at, what } = &self.end {
            gaps.push(format!(
                "the file is damaged at byte {at} ({what}), and nothing behind it was read"
            ));
        }
        if self.statuses == 0 {
            gaps.push(
                "it has no vehicle_status, so nobody can tell when the vehicle was in OFFBOARD"
                    .into(),
            );
        } else if !self.logs_setpoints && !self.offboard.is_empty() {
            gaps.push("it has no trajectory_setpoint, although the vehicle was in OFFBOARD".into());
        }
        gaps
    }
}

/// Times of a topic do not go back.
fn later(newest: &mut u64, at: u64) -> Result<u64, String> {
    if at < *newest {
        return Err(format!(
            "its time {at} µs lies before the one before it, {newest} µs"
        ));
    }
    *newest = at;
    Ok(at)
}

fn sample(data: &[u8], places: &SetpointPlaces) -> Result<Sample, String> {
    let [x, y, z] = vector(data, places.position)?;
    let yaw = float(data, places.yaw)?;
    let mut plain = float(data, places.yaw_rate)?.is_nan();
    for place in places.vectors {
        plain &= vector(data, place)?.iter().all(|part| part.is_nan());
    }
    Ok(Sample {
        fingerprint: Fingerprint::new(x, y, z, yaw),
        plain,
    })
}

fn bytes<const N: usize>(data: &[u8], place: usize) -> Result<[u8; N], String> {
    let part = data.get(place..).and_then(|rest| rest.first_chunk());
    part.copied()
        .ok_or_else(|| "a message without a field of its format".into())
}

fn word(data: &[u8], place: usize) -> Result<u64, String> {
    bytes(data, place).map(u64::from_le_bytes)
}

fn float(data: &[u8], place: usize) -> Result<f32, String> {
    bytes(data, place).map(f32::from_le_bytes)
}

fn vector(data: &[u8], place: usize) -> Result<[f32; 3], String> {
    Ok([
        float(data, place)?,
        float(data, place + 4)?,
        float(data, place + 8)?,
    ])
}
