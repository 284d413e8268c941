//! Reading what the command line names: files, standard input, catalogs.

use crate::{
    excerpt,
    terminal::{Screen, plain},
};
use halo_catalog::{Catalog, Decoded, Diagnostic, Severity};
use serde::Serialize;
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Longest input that is read; no catalog can allow a longer response.
const MAX_BYTES: u64 = 64 << 20;

/// Why an input cannot be used.
#[derive(Debug, Serialize)]
pub(crate) struct Fault {
    /// The input, as it was named.
    pub(crate) file: String,
    /// In words.
    pub(crate) error: String,
    /// What was found in it.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The text that the findings are about.
    #[serde(skip)]
    pub(crate) text: String,
}

impl Fault {
    /// An input that has no text at all.
    pub(crate) fn unreadable(file: &str, error: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            error: error.into(),
            diagnostics: Vec::new(),
            text: String::new(),
        }
    }

    /// Text with findings.
    pub(crate) fn findings(input: Text, error: &str, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            file: input.name,
            error: error.to_owned(),
            diagnostics,
            text: input.text,
        }
    }

    /// Says on standard error what is wrong.
    pub(crate) fn show(&self, screen: &mut Screen) {
        excerpt::show(screen, &self.diagnostics, &self.text);
        screen.complain(&format!("{}: {}", self.file, self.error));
    }

    /// Says it there, and as a document where standard output holds JSON.
    pub(crate) fn report(&self, screen: &mut Screen) -> io::Result<()> {
        self.show(screen);
        match screen.json() {
            true => screen.document(self, false),
            false => Ok(()),
        }
    }
}

/// Text with the name of where it came from.
#[derive(Debug)]
pub(crate) struct Text {
    /// As the user named it.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
}

/// Everything that one command reads. Standard input can be had once.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    stdin_taken: bool,
}

impl Inputs {
    /// The bytes of a file, or of standard input for `-`.
    pub(crate) fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, Fault> {
        let name = name(path);
        if path.as_os_str() != "-" {
            return read(&name, File::open(path));
        }
        if self.stdin_taken {
            return Err(Fault::unreadable(
                &name,
                "`-` stands twice, but standard input can be read once",
            ));
        }
        self.stdin_taken = true;
        read(&name, Ok(io::stdin()))
    }

    /// The text of a file, or of standard input for `-`.
    pub(crate) fn text(&mut self, path: &Path) -> Result<Text, Fault> {
        let bytes = self.bytes(path)?;
        as_text(name(path), bytes)
    }

    /// The decoded catalog of a file, or of standard input for `-`, with its text.
    pub(crate) fn decoded(&mut self, path: &Path) -> Result<(Decoded, Text), Fault> {
        let input = self.text(path)?;
        Ok((
            halo_catalog::decode::catalog(&input.name, &input.text),
            input,
        ))
    }

    /// A catalog that can be used.
    pub(crate) fn catalog(&mut self, path: &Path) -> Result<std::sync::Arc<Catalog>, Fault> {
        let (decoded, input) = self.decoded(path)?;
        usable(decoded, input)
    }
}

/// A file's text; `-` is a name like any other here.
pub(crate) fn file_text(path: &Path) -> Result<Text, Fault> {
    let name = plain(&path.display().to_string());
    let bytes = read(&name, File::open(path))?;
    as_text(name, bytes)
}

/// The catalog of a decoding that found no error.
pub(crate) fn usable(decoded: Decoded, input: Text) -> Result<std::sync::Arc<Catalog>, Fault> {
    decoded.catalog.ok_or_else(|| {
        let errors = decoded
            .diagnostics
            .into_iter()
            .filter(|finding| finding.severity == Severity::Error)
            .collect();
        Fault::findings(input, "the catalog is not valid", errors)
    })
}

fn name(path: &Path) -> String {
    match path.as_os_str() == "-" {
        true => "<stdin>".to_owned(),
        false => plain(&path.display().to_string()),
    }
}

fn read(name: &str, source: io::Result<impl Read>) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let read = source.and_then(|source| source.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(Fault::unreadable(name, format!("cannot be read: {error}"))),
        Ok(count) if count as u64 > MAX_BYTES => {
            Err(Fault::unreadable(name, "is longer than 64 MiB"))
        }
        Ok(_) => Ok(bytes),
    }
}

fn as_text(name: String, bytes: Vec<u8>) -> Result<Text, Fault> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Text { name, text }),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let line = 1 + error
                .as_bytes()
                .iter()
                .take(valid)
                .filter(|byte| **byte == b'\n')
                .count();
            let what = format!("is not UTF-8: line {line}, byte {valid} of the file");
            Err(Fault::unreadable(&name, what))
        }
    }
}
