//! Answers: whole ones, and streams of events.

use hyper::{
    Response, StatusCode,
    body::{Body, Bytes, Frame, SizeHint},
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS},
};
use serde::Serialize;
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::sync::mpsc;

/// An answer's body.
#[derive(Debug)]
pub(crate) enum Out {
    /// All of it.
    Whole(Bytes),
    /// What comes over a channel, until its sender is gone.
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Out {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(std::mem::take(bytes))),
            Self::Stream(receiver) => receiver.poll_recv(context),
        };
        data.map(|data| data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// An answer with a header more.
pub(crate) trait With {
    /// Sets a header; a value that can't stand in one is left out.
    fn with(self, name: HeaderName, value: &str) -> Self;
}

impl With for Response<Out> {
    fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers_mut().insert(name, value);
        }
        self
    }
}

/// An answer that is there already.
pub(crate) fn whole(
    status: StatusCode,
    media_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Out> {
    let mut answer = Response::new(Out::Whole(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    // What stands here is of this moment, and of this caller.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// An answer without a body.
pub(crate) fn nothing(status: StatusCode) -> Response<Out> {
    let mut answer = whole(status, "application/json", Bytes::new());
    answer.headers_mut().remove(CONTENT_TYPE);
    answer
}

/// A JSON document.
pub(crate) fn json(status: StatusCode, document: &impl Serialize) -> Response<Out> {
    // Maps with text keys, numbers and text: they have a JSON form.
    let text = serde_json::to_string(document).unwrap_or_default();
    whole(status, "application/json", text)
}

/// A version of something, as a validator.
pub(crate) fn tagged(answer: Response<Out>, version: u64) -> Response<Out> {
    answer.with(ETAG, &format!("\"{version}\""))
}
