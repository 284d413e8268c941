//! What is wrong with a file, and where.

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file is not accepted.
    Error,
    /// It is accepted, but look at this.
    Warning,
}

/// One finding, with its place, the offending text and a way out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file, as the caller named it.
    pub file: String,
    /// Line from 1.
    pub line: u32,
    /// Column from 1, in characters.
    pub column: u32,
    /// The offending text, as it stands in the file.
    pub text: String,
    /// What is wrong.
    pub message: String,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
