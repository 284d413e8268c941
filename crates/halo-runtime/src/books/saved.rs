//! The books as they are saved.

use super::{Book, Books, Keyed};
use halo_canon::{Digest, Instant};
use halo_core::ComponentRef;
use serde::{Deserialize, Serialize};

/// [`Books`], by response.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedBooks {
    responses: Vec<SavedBook>,
    quiet: Vec<(Instant, u32)>,
    gone: Vec<(Instant, Vec<u64>)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedBook {
    response: u32,
    records: Vec<u64>,
    /// With the component's position and the generation.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    bindings: Vec<(Digest, u32, u32)>,
    /// Owner, key and the text's digest.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    keys: Vec<(String, String, Digest)>,
    queued: Instant,
}

impl Books {
    /// As data.
    pub fn save(&self) -> SavedBooks {
        let mut responses: Vec<SavedBook> = self
            .responses
            .iter()
            .map(|(response, book)| self.save_book(*response, book))
            .collect();
        responses.sort_unstable_by_key(|book| book.response);
        SavedBooks {
            responses,
            quiet: self.quiet.iter().copied().collect(),
            gone: self.gone.iter().cloned().collect(),
        }
    }

    fn save_book(&self, response: u32, book: &Book) -> SavedBook {
        let bindings = book.bindings.iter().filter_map(|binding| {
            let (at, generation) = self.bindings.get(binding)?;
            Some((*binding, at.position, *generation))
        });
        let keys = book.keys.iter().filter_map(|name| {
            let keyed = self.keys.get(name)?;
            Some((name.0.clone(), name.1.clone(), keyed.text))
        });
        SavedBook {
            response,
            records: book.records.clone(),
            bindings: bindings.collect(),
            keys: keys.collect(),
            queued: book.queued,
        }
    }

    /// From data.
    pub fn restore(saved: SavedBooks) -> Self {
        let mut books = Self {
            quiet: saved.quiet.into(),
            gone: saved.gone.into(),
            ..Self::default()
        };
        for saved in saved.responses {
            let response = saved.response;
            let book = books.book(response);
            book.records = saved.records;
            book.queued = saved.queued;
            for (binding, position, generation) in saved.bindings {
                let at = ComponentRef { response, position };
                books.note_binding(binding, at, generation);
            }
            for (owner, key, text) in saved.keys {
                books.note_key(&owner, &key, Keyed { response, text });
            }
        }
        books
    }
}
