//! Messages one after the other.

use super::{
    Stop,
    format::{Field, Formats},
    message::{self, Kind},
    source::Source,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io::Read,
};

/// How a file begins; a version and the time of its beginning follow.
const MAGIC: [u8; 7] = [0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35];
const HEADER: usize = 16;
/// Size (u16) and kind of a message.
const MESSAGE_HEADER: usize = 3;

/// Something that is logged under a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topic {
    /// Its number.
    pub id: u16,
    /// Which instance of its format's.
    pub instance: u8,
    format: usize,
    /// Sizes of a message: as it is logged, and with padding at its end.
    sizes: (u32, u32),
}

/// Something that the file says.
#[derive(Debug)]
pub enum Event<'a> {
    /// From here on a topic is logged.
    Logged(Topic),
    /// A message of a topic. Its data has the size that the topic's format says, with or without padding at its end.
    Data(Topic, &'a [u8]),
    /// The logger could not write for so many milliseconds, and messages are missing.
    Dropout(u16),
    /// A part of the file ended inside of a message, and data was appended behind it.
    PartCut,
}

/// What a message came to.
enum Step {
    Nothing,
    Logged(Topic),
    Data(Topic),
    Dropout(u16),
    PartCut,
}

/// Reads a file.
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    version: u8,
    start: u64,
    formats: Formats,
    topics: BTreeMap<u16, Topic>,
    /// Format and instance of what is logged.
    logged: BTreeSet<(usize, u8)>,
    in_data: bool,
    /// Where appended parts begin that were not reached yet.
    parts: VecDeque<u64>,
    /// The newest message's body.
    body: Vec<u8>,
    /// Where the newest message begins.
    at: u64,
    over: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of a file.
    ///
    /// Errors: it is none of a ULog, or of a version that is not known; or the file can't be read.
    pub fn new(bytes: R) -> Result<Self, Stop> {
        let mut source = Source::new(bytes);
        let mut header = [0; HEADER];
        let filled = source.fill(&mut header)?;
        let [magic @ .., _, _, _, _, _, _, _, _, _] = header;
        if magic != MAGIC {
            return Err(Stop::damaged(0, "this is no ULog file"));
        }
        if filled < HEADER {
            return Err(Stop::Cut {
                at: 0,
                what: "the file ends in its first 16 bytes".into(),
            });
        }
        let [.., version, _, _, _, _, _, _, _, _] = header;
        if version > 1 {
            let what = format!("ULog version {version} is not known: 0 and 1 are");
            return Err(Stop::damaged(7, what));
        }
        let [_, _, _, _, _, _, _, _, start @ ..] = header;
        Ok(Self {
            source,
            version,
            start: u64::from_le_bytes(start),
            formats: Formats::default(),
            topics: BTreeMap::new(),
            logged: BTreeSet::new(),
            in_data: false,
            parts: VecDeque::new(),
            body: Vec::new(),
            at: HEADER as u64,
            over: false,
        })
    }

    /// The file's version: 0 or 1.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// When the logger began, in microseconds since the vehicle's boot.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// At which byte the newest message begins.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The name of a topic: that of its format.
    pub fn name(&self, topic: Topic) -> &str {
        self.formats.name(topic.format)
    }

    /// A field of a topic's messages.
    pub fn field(&self, topic: Topic, name: &str) -> Option<Field> {
        self.formats.field(topic.format, name)
    }

    /// What the file says next; nothing: it ended well.
    ///
    /// Errors: why it ends here. After that, nothing.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, Stop> {
        let step = loop {
            if self.over {
                return Ok(None);
            }
            match self.step() {
                Ok(Some(Step::Nothing)) => {}
                Ok(Some(step)) => break step,
                Ok(None) => self.over = true,
                Err(stop) => {
                    self.over = true;
                    return Err(stop);
                }
            }
        };
        Ok(Some(match step {
            Step::Logged(topic) => Event::Logged(topic),
            Step::Data(topic) => Event::Data(topic, self.body.get(2..).unwrap_or_default()),
            Step::Dropout(millis) => Event::Dropout(millis),
            Step::Nothing | Step::PartCut => Event::PartCut,
        }))
    }

    /// One message; nothing: the file's end.
    fn step(&mut self) -> Result<Option<Step>, Stop> {
        let at = self.source.position();
        self.at = at;
        if self.parts.front() == Some(&at) {
            self.parts.pop_front();
            return Ok(Some(Step::Nothing));
        }
        if self.leaves_part(at, MESSAGE_HEADER) {
            return self.leave_part(at).map(Some);
        }
        let mut header = [0; MESSAGE_HEADER];
        match (self.source.fill(&mut header)?, self.parts.front()) {
            (0, None) => return Ok(None),
            (MESSAGE_HEADER, _) => {}
            (0, Some(part)) => {
                let what = format!("the file ends before the part that begins at byte {part}");
                return Err(Stop::Cut { at, what });
            }
            (some, _) => {
                let what = format!("{some} of the 3 bytes that begin a message are there");
                return Err(Stop::Cut { at, what });
            }
        }
        let [low, high, byte] = header;
        let size = usize::from(u16::from_le_bytes([low, high]));
        let kind = Kind::of(byte)
            .ok_or_else(|| Stop::damaged(at, format!("no message is of kind 0x{byte:02x}")))?;
        if !kind.may_have(size) {
            let what = format!("no message of kind {} has {size} bytes", char::from(byte));
            return Err(Stop::damaged(at, what));
        }
        let cut = self.leaves_part(at, MESSAGE_HEADER + size);
        self.read_body(at, kind, size, cut)?;
        if cut {
            return self.leave_part(at).map(Some);
        }
        self.take(at, kind).map(Some)
    }

    /// Whether `size` bytes from `at` reach into the next part.
    fn leaves_part(&self, at: u64, size: usize) -> bool {
        let end = at.saturating_add(size as u64);
        self.parts.front().is_some_and(|part| end > *part)
    }

    fn leave_part(&mut self, at: u64) -> Result<Step, Stop> {
        let Some(part) = self.parts.pop_front() else {
            return Ok(Step::Nothing);
        };
        match self.source.skip_to(part)? {
            true => Ok(Step::PartCut),
            false => Err(Stop::Cut {
                at,
                what: format!("the file ends before the part that begins at byte {part}"),
            }),
        }
    }

    /// Reads a message's body as far as its part of the file goes. What can be told to be wrong from what is there is
    /// damage, not a cut.
    fn read_body(&mut self, at: u64, kind: Kind, size: usize, cut: bool) -> Result<(), Stop> {
        let there = match self.parts.front() {
            Some(part) if cut => {
                let left = part.saturating_sub(self.source.position());
                usize::try_from(left).map_or(size, |left| left.min(size))
            }
            _ => size,
        };
        self.body.clear();
        self.body.resize(there, 0);
        let filled = self.source.fill(&mut self.body)?;
        self.body.truncate(filled);
        if kind == Kind::Data {
            self.check_data(size)
                .map_err(|what| Stop::damaged(at, what))?;
        }
        if filled < there {
            let what = format!("{filled} of the {size} bytes of its last message are there");
            return Err(Stop::Cut { at, what });
        }
        Ok(())
    }

    /// Whether a topic's messages may have the size that this one has.
    fn check_data(&self, size: usize) -> Result<(), String> {
        let Some(id) = self.id() else {
            return Ok(());
        };
        let topic = self.topics.get(&id);
        let topic =
            topic.ok_or_else(|| format!("data of number {id}, which nothing is logged under"))?;
        let (logged, full) = topic.sizes;
        let size = size.saturating_sub(2);
        if size == logged as usize || size == full as usize {
            return Ok(());
        }
        let name = self.name(*topic);
        Err(format!(
            "a message of {name} has {size} bytes instead of {logged}"
        ))
    }

    /// The number with which the newest message begins.
    fn id(&self) -> Option<u16> {
        let id = self.body.first_chunk::<2>()?;
        Some(u16::from_le_bytes(*id))
    }

    /// Takes a whole message.
    fn take(&mut self, at: u64, kind: Kind) -> Result<Step, Stop> {
        let first = at == HEADER as u64;
        self.take_whole(kind, first)
            .map_err(|what| Stop::damaged(at, what))
    }

    fn take_whole(&mut self, kind: Kind, first: bool) -> Result<Step, String> {
        if self.in_data && matches!(kind, Kind::Flags | Kind::Format) {
            return Err("a definition behind the definitions".into());
        }
        self.in_data |= kind.is_of_data();
        let number = self.id().unwrap_or_default();
        match kind {
            Kind::Flags if first => {
                self.parts = message::flags(&self.body, self.source.position())?.into();
            }
            Kind::Flags => return Err("flags that are not the first message".into()),
            Kind::Format => self.formats.define(&self.body)?,
            Kind::Subscription => return self.subscribe().map(Step::Logged),
            Kind::Removal => {
                let topic = self.topics.remove(&number);
                let topic = topic.ok_or_else(|| {
                    format!("the end of number {number}, which nothing is logged under")
                })?;
                self.logged.remove(&(topic.format, topic.instance));
            }
            Kind::Data => {
                let topic = self.topics.get(&number).copied();
                return Ok(topic.map_or(Step::Nothing, Step::Data));
            }
            Kind::Dropout => return Ok(Step::Dropout(number)),
            other => message::check(other, &self.body)?,
        }
        Ok(Step::Nothing)
    }

    fn subscribe(&mut self) -> Result<Topic, String> {
        let [instance, low, high, name @ ..] = self.body.as_slice() else {
            return Err("a subscription without a number".into());
        };
        let (instance, id) = (*instance, u16::from_le_bytes([*low, *high]));
        let name = std::str::from_utf8(name).map_err(|_| "a topic whose name is no text")?;
        let shown = name.escape_default();
        let format = self.formats.find(name);
        let format = format.ok_or_else(|| format!("topic {shown} has no format"))?;
        if self.topics.contains_key(&id) {
            return Err(format!("topic {shown} has the number {id} of another one"));
        }
        if !self.logged.insert((format, instance)) {
            return Err(format!("topic {shown} is logged twice"));
        }
        let (full, logged) = self.formats.sizes(format)?;
        let topic = Topic {
            id,
            instance,
            format,
            sizes: (logged, full),
        };
        self.topics.insert(id, topic);
        Ok(topic)
    }
}
