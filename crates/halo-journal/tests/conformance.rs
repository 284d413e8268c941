//! The conformance suite over the stores that there are.
#![allow(clippy::unwrap_used, reason = "tests")]

use halo_journal::{MemoryDisk, MemoryStore, SqliteStore, Store, conformance};
use tempfile::TempDir;

struct Memory(MemoryDisk);

impl conformance::Subject for Memory {
    fn fresh(&mut self) -> Box<dyn Store> {
        let store = MemoryStore::new();
        self.0 = store.disk();
        Box::new(store)
    }

    fn reopen(&mut self, store: Box<dyn Store>) -> Box<dyn Store> {
        drop(store);
        Box::new(self.0.open())
    }
}

struct Sqlite(TempDir);

impl conformance::Subject for Sqlite {
    fn fresh(&mut self) -> Box<dyn Store> {
        self.0 = TempDir::new().unwrap();
        Box::new(SqliteStore::open(self.0.path()).unwrap())
    }

    fn reopen(&mut self, store: Box<dyn Store>) -> Box<dyn Store> {
        drop(store);
        Box::new(SqliteStore::open(self.0.path()).unwrap())
    }
}

#[test]
fn memory_conforms() {
    conformance::run(&mut Memory(MemoryStore::new().disk())).unwrap();
}

#[test]
fn sqlite_conforms() {
    conformance::run(&mut Sqlite(TempDir::new().unwrap())).unwrap();
}
