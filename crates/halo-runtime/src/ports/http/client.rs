//! One call, one connection: no pool, no redirects, no retries. Dropping the future closes the connection.

use super::{endpoint::Endpoint, tls};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, body::Bytes, client::conn::http1, header, header::HeaderValue};
use hyper_util::rt::TokioIo;
use std::pin::pin;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::rustls::pki_types::ServerName;

/// Longest body of an answer, in bytes; enforced while reading.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Longest head of an answer, in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// What is sent.
pub(super) enum Message {
    /// GET.
    Ask,
    /// POST of a JSON text, perhaps with an `Idempotency-Key`.
    Tell(String, Option<String>),
}

/// What came back, whole.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Sends `message` and reads the answer to its end. Errors: there is no whole answer; what happened, in words without
/// secrets.
pub(super) async fn exchange(
    endpoint: &Endpoint,
    key: Option<&str>,
    message: Message,
) -> Result<Answer, String> {
    let url = &endpoint.url;
    let fault = |what: String| format!("{url}: {what}");
    let request = request(endpoint, key, message).map_err(fault)?;
    let stream = TcpStream::connect((url.host(), url.port()))
        .await
        .map_err(|error| fault(format!("no connection: {error}")))?;
    // Small messages at once; a socket that does not know this works too.
    let _ = stream.set_nodelay(true);
    let answer = if url.is_tls() {
        let connector = tls::connector().map_err(fault)?;
        let name = ServerName::try_from(url.host().to_owned())
            .map_err(|_| fault("a name that no certificate has".to_owned()))?;
        let stream = connector
            .connect(name, stream)
            .await
            .map_err(|error| fault(format!("no TLS connection: {error}")))?;
        converse(stream, request).await
    } else {
        converse(stream, request).await
    };
    answer.map_err(fault)
}

fn request(
    endpoint: &Endpoint,
    key: Option<&str>,
    message: Message,
) -> Result<Request<Full<Bytes>>, String> {
    let (method, body, idempotency_key) = match message {
        Message::Ask => (Method::GET, String::new(), None),
        Message::Tell(body, idempotency_key) => (Method::POST, body, idempotency_key),
    };
    let mut builder = Request::builder()
        .uri(endpoint.url.target(key)?)
        .header(header::HOST, endpoint.url.authority())
        .header(header::CONNECTION, HeaderValue::from_static("close"))
        .header(header::ACCEPT, HeaderValue::from_static("application/json"));
    if method == Method::POST {
        builder = builder.header(header::CONTENT_TYPE, "application/json");
    }
    if let Some(idempotency_key) = idempotency_key {
        builder = builder.header("idempotency-key", idempotency_key);
    }
    let mut request = builder
        .method(method)
        .body(Full::new(Bytes::from(body)))
        .map_err(|_| "no such request can be made".to_owned())?;
    for (name, value) in endpoint.headers.iter().filter_map(|header| header.pair()) {
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

/// Drives the connection and the exchange on it together: neither outlives this future.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Answer, String> {
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| format!("no HTTP connection: {error}"))?;
    let exchange = async move {
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| format!("no answer: {error}"))?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES)
            .collect()
            .await
            .map_err(|error| format!("status {status}, but no whole body: {error}"))?;
        let body = body.to_bytes().to_vec();
        Ok(Answer { status, body })
    };
    let (mut connection, mut exchange) = (pin!(connection), pin!(exchange));
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            answer = &mut exchange => return answer,
            // What ended it, the exchange says too.
            _ = &mut connection, if open => open = false,
        }
    }
}
