//! `halo digest`: `d_e` of each component, for approvals and certificates.

use crate::{
    admit,
    source::{Fault, Inputs},
    terminal::{Paint, Screen, Verdict, plain},
};
use halo_canon::{Digest, Instant};
use halo_catalog::Catalog;
use halo_core::{Engine, Input, Options, RawText, Reason, ReasonCode, Refusal, Seed};
use serde::Serialize;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

/// What `halo digest` is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The catalog.
    #[arg(long, value_name = "FILE")]
    catalog: PathBuf,
    /// The agent's response, as it came; `-` reads standard input.
    #[arg(value_name = "RESPONSE")]
    response: PathBuf,
}

/// The document for `--json`.
#[derive(Serialize)]
struct Document {
    components: Vec<Entry>,
    refused: Vec<Refusal>,
}

/// One component.
#[derive(Serialize)]
struct Entry {
    id: String,
    #[serde(rename = "type")]
    type_name: String,
    /// Null where the component is too malformed to have one.
    digest: Option<Digest>,
    /// What makes it malformed (P2), if anything.
    reasons: Vec<Reason>,
}

/// Prints the digests. The answer is no when the response is refused whole.
pub(crate) fn run(args: &Args, screen: &mut Screen) -> io::Result<Verdict> {
    let mut inputs = Inputs::default();
    let read = lenient(&args.catalog, &mut inputs).and_then(|catalog| {
        let text = inputs.bytes(&args.response)?;
        Ok((catalog, text))
    });
    let (catalog, text) = match read {
        Ok(read) => read,
        Err(fault) => {
            fault.report(screen)?;
            return Ok(Verdict::Unusable);
        }
    };
    let document = digests(catalog, text);
    if screen.json() {
        screen.document(&document, false)?;
    } else {
        print(screen, &document)?;
    }
    Ok(match document.refused.is_empty() {
        true => Verdict::Fine,
        false => Verdict::No,
    })
}

/// The catalog, but judging part by part: a digest is wanted before the response is complete, to make the certificate
/// that it still lacks, so `malformed: response` must not keep it back.
fn lenient(path: &Path, inputs: &mut Inputs) -> Result<Arc<Catalog>, Fault> {
    let mut catalog = inputs.catalog(path)?;
    if let Some(catalog) = Arc::get_mut(&mut catalog) {
        catalog.malformed_refuses_response = false;
    }
    Ok(catalog)
}

fn digests(catalog: Arc<Catalog>, text: Vec<u8>) -> Document {
    // No state is read for a digest, no token leaves this function, and time plays no part.
    let options = Options {
        start: Instant::MIN,
        seed: Seed::new([0; 32]),
        must_state_observed_at: false,
    };
    let mut engine = Engine::new(catalog, options);
    let submit = Input::Submit {
        owner: String::new(),
        text: RawText(text),
        fallback_id: None,
    };
    let refused = engine.handle(Instant::MIN, submit).err();
    let entry = |view: halo_core::ComponentView<'_>| Entry {
        id: view.id.to_owned(),
        type_name: view.type_name.to_owned(),
        digest: view.digest,
        // Later codes are about state, and there is none.
        reasons: view
            .reasons
            .iter()
            .filter(|reason| reason.code <= ReasonCode::Truncated)
            .cloned()
            .collect(),
    };
    Document {
        components: engine
            .responses()
            .flat_map(|response| response.components)
            .map(entry)
            .collect(),
        refused: refused.into_iter().collect(),
    }
}

fn print(screen: &mut Screen, document: &Document) -> io::Result<()> {
    for refusal in &document.refused {
        screen.complain(&format!("the response is refused: {refusal}"));
    }
    for entry in &document.components {
        let digest = match &entry.digest {
            Some(digest) => digest.to_string(),
            None => screen.paint(Paint::Red, "no digest"),
        };
        let reasons: Vec<String> = entry.reasons.iter().map(admit::reason_text).collect();
        let (id, type_name) = (plain(&entry.id), plain(&entry.type_name));
        writeln!(screen, "{digest}  {id}  {type_name}")?;
        if !reasons.is_empty() {
            let why = screen.paint(Paint::Yellow, &format!("malformed: {}", reasons.join("; ")));
            writeln!(screen, "  {why}")?;
        }
    }
    Ok(())
}
