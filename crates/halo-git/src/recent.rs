//! Objects of packs that were read just now: others are kept as differences to them, and reading those begins here.

use gix_object::Kind;
use gix_odb::pack::cache::DecodeEntry;
use std::collections::{HashMap, VecDeque};

/// Most bytes that are kept for one question.
const MOST: usize = 32 << 20;
/// Larger objects are not kept.
const LARGEST: usize = 1 << 20;

/// A pack's number and an object's place in it.
type Place = (u32, u64);

/// Keeps the newest.
#[derive(Default)]
pub(crate) struct Recent {
    entries: HashMap<Place, (Kind, usize, Vec<u8>)>,
    order: VecDeque<Place>,
    bytes: usize,
}

impl DecodeEntry for Recent {
    fn put(&mut self, pack: u32, offset: u64, data: &[u8], kind: Kind, compressed_size: usize) {
        let place = (pack, offset);
        if data.len() > LARGEST || self.entries.contains_key(&place) {
            return;
        }
        while self.bytes + data.len() > MOST {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            if let Some((_, _, gone)) = self.entries.remove(&oldest) {
                self.bytes -= gone.len();
            }
        }
        self.bytes += data.len();
        self.order.push_back(place);
        self.entries
            .insert(place, (kind, compressed_size, data.to_vec()));
    }

    fn get(&mut self, pack: u32, offset: u64, out: &mut Vec<u8>) -> Option<(Kind, usize)> {
        let (kind, compressed_size, data) = self.entries.get(&(pack, offset))?;
        out.clear();
        out.extend_from_slice(data);
        Some((*kind, *compressed_size))
    }
}
