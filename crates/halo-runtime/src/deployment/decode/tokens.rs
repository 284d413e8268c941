//! Who may call.

use super::{Decoder, access::gather, is_mapping, start};
use crate::deployment::{Role, Token, TokenLimits};
use halo_canon::Digest;
use halo_catalog::{
    cursor::Fields,
    yaml::{Data, Mark, Yaml},
};
use std::collections::BTreeSet;

/// A token that is shorter can be guessed.
const MIN_TOKEN_BYTES: usize = 16;

impl Decoder<'_> {
    pub(super) fn tokens(&mut self, fields: &Fields<'_>) -> Option<Vec<Token>> {
        let Some(node) = fields.get("tokens") else {
            return Some(Vec::new());
        };
        let mut tokens = Some(Vec::new());
        let mut seen: Vec<(String, Mark)> = Vec::new();
        let place = fields.key("tokens").unwrap_or(self.place);
        for node in self.callers(node, place)? {
            if let Some(name) = node.get("name")
                && let Some(text) = name.as_str()
            {
                self.once(&mut seen, text, name.mark);
            }
            gather(&mut tokens, self.token(node));
        }
        self.check_secrets(tokens.as_deref().unwrap_or_default(), fields);
        tokens
    }

    /// The mappings of `tokens`. Anything else is not shown: it may be a secret.
    fn callers<'y>(&mut self, node: &'y Yaml, place: Mark) -> Option<&'y [Yaml]> {
        const HINT: &str = "a list of `{name: …, roles: […], env: NAME}`";
        let Data::Sequence(callers) = &node.data else {
            let message = format!("expected a list for `tokens`, found {}", node.kind());
            self.findings.error_hint(place, message, HINT);
            return None;
        };
        if let Some(other) = callers.iter().find(|caller| !is_mapping(caller)) {
            let message = format!("expected a token as a mapping, found {}", other.kind());
            self.findings.error_hint(place, message, HINT);
            return None;
        }
        Some(callers)
    }

    fn once(&mut self, seen: &mut Vec<(String, Mark)>, name: &str, mark: Mark) {
        match seen.iter().find(|(known, _)| known == name) {
            Some((_, first)) => {
                let message = format!(
                    "two tokens are called `{name}`: the first in line {}, column {}",
                    first.line, first.column
                );
                let hint = "a name says who a caller is; give each token its own";
                self.findings.error_hint(mark, message, hint);
            }
            None => seen.push((name.to_owned(), mark)),
        }
    }

    /// Two names for one secret: nobody could say who called.
    fn check_secrets(&mut self, tokens: &[Token], fields: &Fields<'_>) {
        let place = fields.key("tokens").unwrap_or(self.place);
        for (at, token) in tokens.iter().enumerate() {
            let others = tokens.get(..at).unwrap_or_default();
            if let Some(other) = others.iter().find(|other| other.digest == token.digest) {
                let message = format!(
                    "the tokens `{}` and `{}` are the same secret",
                    other.name, token.name
                );
                let hint = "give each caller a secret of its own";
                self.findings.error_hint(place, message, hint);
            }
        }
    }

    fn token(&mut self, node: &Yaml) -> Option<Token> {
        let known = ["name", "roles", "sources", "env", "sha256", "limits"];
        let place = start(self.findings.source(), node);
        let fields = Fields::open(&mut self.findings, node, place, "a token", &known)?;
        let name = fields
            .need(&mut self.findings, "name")
            .and_then(|node| self.findings.label(node, "the token's `name`"));
        let roles = self.roles(&fields);
        let sources = self.token_sources(&fields, roles.as_ref());
        let digest = self.secret(&fields, fields.key("name").unwrap_or(place));
        let limits = self.limits(&fields);
        Some(Token {
            name: name?,
            roles: roles?,
            sources: sources?,
            digest: digest?,
            limits: limits?,
        })
    }

    fn roles(&mut self, fields: &Fields<'_>) -> Option<BTreeSet<Role>> {
        let node = fields.need(&mut self.findings, "roles")?;
        let words = Role::ALL.map(|role| (role.name(), role));
        let mut roles = Some(Vec::new());
        let nodes = self.findings.list(node, "`roles`")?;
        for node in nodes {
            gather(&mut roles, self.findings.choice(node, "a role", &words));
        }
        if nodes.is_empty() {
            let message = "a token without roles may do nothing";
            let hint = "name what it may do: `[agent]`";
            self.findings.error_hint(node.mark, message, hint);
        }
        roles.map(|roles| roles.into_iter().collect())
    }

    fn token_sources(
        &mut self,
        fields: &Fields<'_>,
        roles: Option<&BTreeSet<Role>>,
    ) -> Option<Option<BTreeSet<String>>> {
        let Some(node) = fields.get("sources") else {
            return Some(None);
        };
        if roles.is_some_and(|roles| !roles.contains(&Role::Provider)) {
            let message = "only a provider writes sources";
            let hint = "add the role `provider`, or leave `sources` out";
            let place = fields.key("sources").unwrap_or(node.mark);
            self.findings.error_hint(place, message, hint);
        }
        let catalog = self.catalog;
        let names: Vec<&str> = catalog.sources.iter().map(|source| &*source.name).collect();
        let mut sources = Some(Vec::new());
        for node in self.findings.list(node, "`sources`")? {
            let name = self.findings.text(node, "the name of a source");
            if let Some(name) = name
                && !names.contains(&name)
            {
                self.unknown("source", name, node.mark, &names);
            }
            gather(&mut sources, name.map(str::to_owned));
        }
        sources.map(|sources| Some(sources.into_iter().collect()))
    }

    /// The digest of the token itself: of a variable's value, or as it is given.
    fn secret(&mut self, fields: &Fields<'_>, place: Mark) -> Option<Digest> {
        match (fields.get("env"), fields.get("sha256")) {
            (Some(node), None) => {
                let value = self.variable(node, "`env`")?;
                if value.len() < MIN_TOKEN_BYTES {
                    let message = "the token in this variable is short enough to be guessed";
                    let hint = "use at least 16 random characters";
                    self.findings.warning(node.mark, message, hint);
                }
                Some(Digest::of(value.as_bytes()))
            }
            (None, Some(node)) => {
                let digest = node.as_str().and_then(|hex| {
                    let text = format!("sha256:{}", hex.to_ascii_lowercase());
                    text.parse().ok()
                });
                if digest.is_none() {
                    // Not shown: it may be the token itself.
                    let message = "this is no SHA-256";
                    let hint = "64 hexadecimal digits, quoted: what `printf %s \"$TOKEN\" | sha256sum` prints first";
                    let place = fields.key("sha256").unwrap_or(place);
                    self.findings.error_hint(place, message, hint);
                }
                digest
            }
            (Some(_), Some(_)) => {
                let message = "a token is given by `env` or by `sha256`, not by both";
                let place = fields.key("sha256").unwrap_or(place);
                let hint = "leave one of them out";
                self.findings.error_hint(place, message, hint);
                None
            }
            (None, None) => {
                let message = "a token needs its secret";
                let hint = "add `env: NAME` of the variable that holds it, or `sha256: …`";
                self.findings.error_hint(place, message, hint);
                None
            }
        }
    }

    fn limits(&mut self, fields: &Fields<'_>) -> Option<TokenLimits> {
        let (Some(node), Some(place)) = (fields.get("limits"), fields.key("limits")) else {
            return Some(TokenLimits::default());
        };
        let known = ["live_responses", "obligations", "per_second"];
        let fields = Fields::open(&mut self.findings, node, place, "`limits`", &known)?;
        let mut whole = true;
        let mut limit = |name: &str| {
            let node = fields.get(name)?;
            let what = format!("`{name}`");
            let count = self.findings.count(node, &what, 1, u64::from(u32::MAX));
            whole &= count.is_some();
            count
        };
        let [live_responses, obligations, per_second] = known.map(&mut limit);
        whole.then_some(TokenLimits {
            live_responses,
            obligations,
            per_second,
        })
    }
}
