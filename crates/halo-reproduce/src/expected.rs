//! The expected rows, written down before the first run.

use crate::Fault;
use halo_canon::Digest;
use serde::Deserialize;

const ROWS: &str = include_str!("../expected/rows.json");
const RECORDED: &str = include_str!("../expected/rows.json.sha256");

/// All expected rows.
#[derive(Debug)]
pub struct Expected {
    /// SHA-256 of the file, as recorded.
    pub digest: String,
    panels: Vec<ExpectedPanel>,
}

/// The rows of one panel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPanel {
    /// Its name.
    pub panel: String,
    /// What it shows, and where the paper has it.
    pub title: String,
    /// Where its inputs come from: recorded, authored or generated. Never added up.
    pub inputs: String,
    /// Its rows, in the order of the report.
    pub rows: Vec<ExpectedRow>,
}

/// One expected row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedRow {
    /// What is counted.
    pub row: String,
    /// The paper's figure.
    #[serde(default)]
    pub paper: Option<String>,
    /// Ours, where it is known before.
    #[serde(default)]
    pub expect: Option<String>,
    /// Ours with `--quick`, where that is of another size.
    #[serde(default)]
    pub quick: Option<String>,
    /// The cohort is ours: the rate must be the paper's, the size need not.
    #[serde(default)]
    pub by_rate: bool,
    /// The size of a cohort of ours: reported beside the paper's, not compared.
    #[serde(default)]
    pub own_size: bool,
    /// The paper's figure can't be reached by construction; the note says why. It is printed as another one, foretold.
    #[serde(default)]
    pub unreachable: bool,
    /// What a reader must know.
    #[serde(default)]
    pub note: String,
}

impl ExpectedRow {
    /// What is expected of a run of this size.
    pub fn expected(&self, quick: bool) -> Option<&str> {
        self.quick
            .as_deref()
            .filter(|_| quick)
            .or(self.expect.as_deref())
    }
}

impl Expected {
    /// Reads them. Errors: they are not those whose digest is recorded.
    pub fn recorded() -> Result<Self, Fault> {
        let digest = Digest::of(ROWS.as_bytes()).to_string();
        let recorded = RECORDED.trim();
        if digest != recorded {
            return Err(Fault::new(format!(
                "the expected rows are {digest}, but {recorded} is recorded: they were changed after they were fixed"
            )));
        }
        let panels = serde_json::from_str(ROWS)
            .map_err(|error| Fault::new(format!("the expected rows cannot be read: {error}")))?;
        Ok(Self { digest, panels })
    }

    /// The rows of a panel.
    pub fn panel(&self, name: &str) -> Option<&ExpectedPanel> {
        self.panels.iter().find(|panel| panel.panel == name)
    }
}
