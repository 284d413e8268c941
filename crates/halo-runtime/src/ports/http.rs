//! HTTP/1.1: adapters, providers, paths and handlers behind a URL.

mod client;
mod endpoint;
mod outcome;
mod tls;

pub use client::MAX_ANSWER_BYTES;
pub use endpoint::{Endpoint, Header, Url};
pub use outcome::OutcomeRule;

use super::{Adapter, Answering, OutputPath, Provider, Remarks, RouteHandler, message};
use client::{Answer, Message, exchange};
use halo_core::{DispatchPermit, EmitPermit, Outcome};

/// The status that says: known not to have acted.
const REFUSED: u16 = 422;

impl Endpoint {
    /// One call of this endpoint, for programs that are clients themselves: a POST of a JSON text, or a GET. Status and body.
    ///
    /// Errors: there is no whole answer; why, in words without secrets.
    pub async fn call(&self, body: Option<String>) -> Result<(u16, Vec<u8>), String> {
        let message = body.map_or(Message::Ask, |body| Message::Tell(body, None));
        let answer = exchange(self, None, message).await?;
        Ok((answer.status, answer.body))
    }
}

/// An adapter behind a URL: one POST for each permit, the binding as `Idempotency-Key`. Only a whole answer counts: a status
/// whose body breaks off may be a proxy's.
#[derive(Debug, Clone)]
pub struct HttpAdapter {
    endpoint: Endpoint,
    /// Statuses that are refusals, beside 422.
    refused: Vec<u16>,
    outcome: Option<OutcomeRule>,
    remarks: Remarks,
}

impl HttpAdapter {
    /// Accepted is 2xx, refused 422; everything else is in doubt.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            refused: Vec::new(),
            outcome: None,
            remarks: Remarks::default(),
        }
    }
    /// These statuses, too, say that it is known not to have acted.
    pub fn refusing(mut self, statuses: impl Into<Vec<u16>>) -> Self {
        self.refused = statuses.into();
        self
    }
    /// A rule over the answer, instead of the one by status.
    pub fn judging(mut self, rule: OutcomeRule) -> Self {
        self.outcome = Some(rule);
        self
    }
    /// Says there why a call is in doubt.
    pub fn remarking(mut self, remarks: Remarks) -> Self {
        self.remarks = remarks;
        self
    }
    async fn post(&self, permit: &DispatchPermit) -> Result<Outcome, String> {
        let body = message::action(permit)?;
        let message = Message::Tell(body, Some(permit.binding().to_string()));
        let answer = exchange(&self.endpoint, None, message).await?;
        if let Some(rule) = &self.outcome {
            return rule.judge(answer.status, &answer.body);
        }
        match answer.status {
            200..=299 => Ok(Outcome::Accepted),
            status if status == REFUSED || self.refused.contains(&status) => Ok(Outcome::Refused),
            _ => Err(unexpected(&self.endpoint, &answer)),
        }
    }
}

impl Adapter for HttpAdapter {
    fn target(&self) -> String {
        format!("POST {}", self.endpoint.url.identity())
    }

    fn call(&self, permit: DispatchPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            let outcome = self.post(&permit).await;
            if let Err(fault) = &outcome {
                self.remarks.say(fault);
            }
            outcome.unwrap_or(Outcome::Lost)
        })
    }
}

/// A provider behind a URL: a GET for the record.
#[derive(Debug, Clone)]
pub struct HttpProvider {
    endpoint: Endpoint,
}

impl HttpProvider {
    /// Asks there; `{key}` in the URL is replaced by the key.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

impl Provider for HttpProvider {
    fn ask<'a>(&'a self, key: Option<&'a str>) -> Answering<'a, Result<Vec<u8>, String>> {
        Box::pin(async move {
            let answer = exchange(&self.endpoint, key, Message::Ask).await?;
            match answer.status {
                200 => Ok(answer.body),
                _ => Err(unexpected(&self.endpoint, &answer)),
            }
        })
    }
}

/// A path behind a URL: a POST for each emission. 2xx is accepted, 422 refused, everything else lost.
#[derive(Debug, Clone)]
pub struct WebhookPath {
    endpoint: Endpoint,
    remarks: Remarks,
}

impl WebhookPath {
    /// Posts there, the emission id as `Idempotency-Key`.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            remarks: Remarks::default(),
        }
    }
    /// Says there why an emission is lost.
    pub fn remarking(mut self, remarks: Remarks) -> Self {
        self.remarks = remarks;
        self
    }
    async fn post(&self, permit: &EmitPermit) -> Result<Outcome, String> {
        let body = message::emission(permit)?;
        let message = Message::Tell(body, Some(permit.emission().to_string()));
        let answer = exchange(&self.endpoint, None, message).await?;
        match answer.status {
            200..=299 => Ok(Outcome::Accepted),
            REFUSED => Ok(Outcome::Refused),
            _ => Err(unexpected(&self.endpoint, &answer)),
        }
    }
}

impl OutputPath for WebhookPath {
    fn emit(&self, permit: EmitPermit) -> Answering<'_, Outcome> {
        Box::pin(async move {
            let outcome = self.post(&permit).await;
            if let Err(fault) = &outcome {
                self.remarks.say(fault);
            }
            outcome.unwrap_or(Outcome::Lost)
        })
    }
}

/// A route handler behind a URL: a POST of the obligation; 2xx says that it was told.
#[derive(Debug, Clone)]
pub struct WebhookHandler {
    endpoint: Endpoint,
}

impl WebhookHandler {
    /// Posts there.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

impl RouteHandler for WebhookHandler {
    fn tell<'a>(&'a self, obligation: &'a str) -> Answering<'a, Result<(), String>> {
        Box::pin(async move {
            let message = Message::Tell(obligation.to_owned(), None);
            let answer = exchange(&self.endpoint, None, message).await?;
            match answer.status {
                200..=299 => Ok(()),
                _ => Err(unexpected(&self.endpoint, &answer)),
            }
        })
    }
}

/// The status in words; never the body, which is the other side's.
fn unexpected(endpoint: &Endpoint, answer: &Answer) -> String {
    format!("{}: status {}", endpoint.url, answer.status)
}
