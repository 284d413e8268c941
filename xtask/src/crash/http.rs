//! Just enough HTTP/1.1, over a connection for each message.

use serde_json::Value;
use std::{
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// Longer than anything that is asked may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request as the server side sees it.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) key: String,
    pub(super) body: Value,
}

/// Asks, and reads the whole answer: its status and its body, null where it is no JSON.
///
/// Errors: there is no whole answer.
pub(super) fn ask(
    to: SocketAddr,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let body = body.map_or_else(String::new, Value::to_string);
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|text| text.parse().ok());
    let status = status.ok_or(io::ErrorKind::InvalidData)?;
    let (body, _) = rest(&mut reader)?;
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Reads a request whole.
pub(super) fn read(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).ok_or(io::ErrorKind::InvalidData)?;
    let path = path.to_owned();
    let (body, key) = rest(&mut reader)?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Request { path, key, body })
}

/// Answers a request.
pub(super) fn answer(mut stream: &TcpStream, status: u16, body: &str) -> io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes())
}

/// The headers and the body of a message: the body, and the `Idempotency-Key`.
fn rest(reader: &mut impl BufRead) -> io::Result<(Vec<u8>, String)> {
    let (mut length, mut key) = (None, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok(),
            "idempotency-key" => value.trim().clone_into(&mut key),
            _ => {}
        }
    }
    let mut body = Vec::new();
    match length {
        Some(length) => {
            body.resize(length, 0);
            reader.read_exact(&mut body)?;
        }
        None => {
            reader.read_to_end(&mut body)?;
        }
    }
    Ok((body, key))
}
