//! How long slow peers are waited for, and how many there may be.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep},
};

/// Bounds on what peers may hold. The defaults are what `halo serve` uses.
#[derive(Debug, Clone)]
pub struct Patience {
    /// From the start of a connection, or from the last answer, to the end of the next request's headers. It is how
    /// long an idle connection is kept, too.
    pub headers: Duration,
    /// Between two pieces of a body.
    pub body_pause: Duration,
    /// For a whole body.
    pub body: Duration,
    /// How long a peer may take nothing of an answer.
    pub stalled: Duration,
    /// Connections at the same time; further ones are accepted when one of these ends.
    pub connections: usize,
    /// Long polls and event streams at the same time.
    pub waiting: usize,
    /// Bodies above 64 KiB at the same time, of one caller.
    pub large_bodies: usize,
    /// Between two signs of life on an event stream.
    pub keep_alive: Duration,
    /// How long connections may take to end once the server stops.
    pub farewell: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            headers: Duration::from_secs(10),
            body_pause: Duration::from_secs(5),
            body: Duration::from_secs(30),
            stalled: Duration::from_secs(30),
            connections: 1_024,
            waiting: 256,
            large_bodies: 16,
            keep_alive: Duration::from_secs(15),
            farewell: Duration::from_secs(5),
        }
    }
}

/// A connection that is given up when its peer takes nothing for too long: nobody may hold an answer in our memory.
#[derive(Debug)]
pub(crate) struct Patient {
    stream: TcpStream,
    limit: Duration,
    /// Set while a write waits.
    waits: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    pub(crate) fn new(stream: TcpStream, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            waits: None,
        }
    }

    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let limit = self.limit;
        let waits = self
            .waits
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + limit)));
        match waits.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
