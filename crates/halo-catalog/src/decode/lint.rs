//! What is declared and never used.

use super::Decoder;

impl Decoder<'_> {
    /// Warns of every name that nothing refers to.
    pub(super) fn lint_unused(&mut self) {
        let findings = &mut self.findings;
        self.sources.lint_unused(
            findings,
            "no check reads it, no route refreshes it; remove it",
        );
        self.paths
            .lint_unused(findings, "no type is emitted through it; remove it");
        self.adapters
            .lint_unused(findings, "no action leaves through it; remove it");
        self.issuers
            .lint_unused(findings, "no type takes its certificates; remove it");
        self.routes.lint_unused(
            findings,
            "no check leads to it; name it in a `route`, or remove it",
        );
    }
}
