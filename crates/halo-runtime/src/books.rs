//! What the runtime remembers beside the engine, of each response that the engine keeps.

mod saved;

pub use saved::SavedBooks;

use halo_canon::{Digest, Duration, Instant};
use halo_core::ComponentRef;
use std::collections::{HashMap, HashSet, VecDeque};

/// A response that changed is queued at most once in this time.
pub const STEP: Duration = Duration::from_millis(1_000);

/// A submission under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyed {
    /// The response that it made.
    pub response: u32,
    /// The SHA-256 of its text.
    pub text: Digest,
}

/// Of one response.
#[derive(Debug)]
struct Book {
    /// Which records are about it.
    records: Vec<u64>,
    /// Under what its actions left.
    bindings: Vec<Digest>,
    /// The keys that it came under.
    keys: Vec<(String, String)>,
    /// When it was queued last.
    queued: Instant,
}

/// Of all of them.
#[derive(Debug, Default)]
pub struct Books {
    responses: HashMap<u32, Book>,
    /// Instances whose token was spent, by binding: observations name them so.
    bindings: HashMap<Digest, (ComponentRef, u32)>,
    /// What came under an `Idempotency-Key`, by owner and key.
    keys: HashMap<(String, String), Keyed>,
    /// Responses by the time of a change. The newest entry of each lies less than a step before its last one.
    quiet: VecDeque<(Instant, u32)>,
    /// Records about responses that were dropped, by the time of that: their texts may be erased one day.
    gone: VecDeque<(Instant, Vec<u64>)>,
}

impl Books {
    fn book(&mut self, response: u32) -> &mut Book {
        self.responses.entry(response).or_insert_with(|| Book {
            records: Vec::new(),
            bindings: Vec::new(),
            keys: Vec::new(),
            queued: Instant::MIN,
        })
    }

    /// A record is about a response.
    pub fn note_record(&mut self, response: u32, number: u64, at: Instant) {
        let book = self.book(response);
        book.records.push(number);
        if book.queued.plus(STEP) <= at {
            book.queued = at;
            self.quiet.push_back((at, response));
        }
    }

    /// The token of an instance was spent.
    pub fn note_binding(&mut self, binding: Digest, at: ComponentRef, generation: u32) {
        self.book(at.response).bindings.push(binding);
        self.bindings.insert(binding, (at, generation));
    }

    /// A response came under a key.
    pub fn note_key(&mut self, owner: &str, key: &str, keyed: Keyed) {
        let name = (owner.to_owned(), key.to_owned());
        let book = self.book(keyed.response);
        if !book.keys.contains(&name) {
            book.keys.push(name.clone());
        }
        self.keys.insert(name, keyed);
    }

    /// The engine dropped a response.
    pub fn forget(&mut self, response: u32, at: Instant) {
        let Some(book) = self.responses.remove(&response) else {
            return;
        };
        for binding in book.bindings {
            self.bindings.remove(&binding);
        }
        for key in book.keys {
            if self
                .keys
                .get(&key)
                .is_some_and(|keyed| keyed.response == response)
            {
                self.keys.remove(&key);
            }
        }
        self.gone.push_back((at, book.records));
    }

    /// The records that are about responses only that were dropped before `until`.
    pub fn erasable(&self, until: Instant) -> Vec<u64> {
        let gone = self.gone.iter().take_while(|(at, _)| *at < until);
        let count = gone.clone().count();
        let mut records: Vec<u64> = gone.flat_map(|(_, records)| records).copied().collect();
        if !records.is_empty() {
            let others = self.gone.iter().skip(count).map(|(_, records)| records);
            let kept = self.responses.values().map(|book| &book.records);
            let shared: HashSet<u64> = kept.chain(others).flatten().copied().collect();
            records.retain(|number| !shared.contains(number));
        }
        records.sort_unstable();
        records.dedup();
        records
    }

    /// The texts of what was dropped before `until` are erased, or nobody wants them erased.
    pub fn erased(&mut self, until: Instant) {
        let count = self.gone.iter().take_while(|(at, _)| *at < until).count();
        self.gone.drain(..count);
    }

    /// When the first response was dropped whose texts may be erased one day.
    pub fn first_gone(&self) -> Option<Instant> {
        self.gone.front().map(|(at, _)| *at)
    }

    /// The instance whose token was spent under this binding.
    pub fn bound(&self, binding: &Digest) -> Option<(ComponentRef, u32)> {
        self.bindings.get(binding).copied()
    }

    /// What came under a key.
    pub fn keyed(&self, owner: &str, key: &str) -> Option<Keyed> {
        self.keys.get(&(owner.to_owned(), key.to_owned())).copied()
    }

    /// Numbers of the records about a response, in order.
    pub fn trail(&self, response: u32) -> &[u64] {
        let book = self.responses.get(&response);
        book.map_or(&[], |book| &book.records)
    }

    /// The first time in the queue.
    pub fn first_quiet(&self) -> Option<Instant> {
        self.quiet.front().map(|(at, _)| *at)
    }

    /// Takes the next response out of the queue, where it was queued no later than `until`. Some have changed since, and
    /// stand in the queue once more: they are passed over.
    pub fn take_quiet(&mut self, until: Instant) -> Option<u32> {
        while let Some((at, response)) = self.quiet.front().copied().filter(|(at, _)| *at <= until)
        {
            self.quiet.pop_front();
            let book = self.responses.get(&response);
            if book.is_some_and(|book| book.queued == at) {
                return Some(response);
            }
        }
        None
    }

    /// How many entries there are of any kind, but for what may be erased.
    pub fn len(&self) -> usize {
        self.responses.len() + self.bindings.len() + self.keys.len() + self.quiet.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Books, Keyed};
    use halo_canon::{Digest, Duration, Instant};
    use halo_core::ComponentRef;

    fn at(ms: i64) -> Instant {
        Instant::from_nanos(0).plus(Duration::from_millis(ms))
    }

    #[test]
    fn a_response_is_quiet_once_its_last_change_is_past() {
        let mut books = Books::default();
        books.note_record(1, 1, at(0));
        books.note_record(2, 2, at(500));
        books.note_record(1, 3, at(999));
        books.note_record(2, 4, at(1_500));
        assert_eq!(books.first_quiet(), Some(at(0)));
        assert_eq!(books.take_quiet(at(-1)), None);
        assert_eq!(books.take_quiet(at(1_499)), Some(1));
        // It changed since, and is queued again.
        assert_eq!(books.take_quiet(at(1_499)), None);
        assert_eq!(books.take_quiet(at(1_500)), Some(2));
        assert_eq!(books.first_quiet(), None);
        // What was not over when it was taken comes again with its next change.
        books.note_record(1, 5, at(2_000));
        assert_eq!(books.take_quiet(at(2_000)), Some(1));
        assert_eq!(books.trail(1), [1, 3, 5]);
    }

    #[test]
    fn nothing_is_left_of_what_was_forgotten() {
        let mut books = Books::default();
        let component = ComponentRef {
            response: 1,
            position: 0,
        };
        let (binding, text) = (Digest::of(b"b"), Digest::of(b"t"));
        books.note_record(1, 1, at(0));
        books.note_binding(binding, component, 1);
        books.note_key("ann", "k", Keyed { response: 1, text });
        books.note_key("ann", "k", Keyed { response: 1, text });
        assert_eq!(books.bound(&binding), Some((component, 1)));
        assert_eq!(books.keyed("ann", "k").map(|keyed| keyed.response), Some(1));
        books.note_record(2, 2, at(5));
        books.note_record(1, 2, at(5));
        books.forget(1, at(6));
        books.forget(1, at(7));
        // Record 2 is about the other one too.
        assert_eq!(books.erasable(at(7)), [1]);
        assert!(books.erasable(at(6)).is_empty());
        books.forget(2, at(8));
        assert_eq!(books.erasable(at(8)), [1]);
        assert_eq!(books.erasable(at(9)), [1, 2]);
        books.erased(at(8));
        assert_eq!(books.first_gone(), Some(at(8)));
        books.erased(at(9));
        assert_eq!(books.first_gone(), None);
        assert_eq!(books.take_quiet(at(9_000)), None);
        assert!(books.is_empty());
    }
}
