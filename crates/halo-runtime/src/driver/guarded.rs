//! Calls of ports: within a time, and whatever they do.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    time::Duration,
};

/// What a call gives. Nothing where it takes longer than `limit`, or panics: it is dropped then, which ends it.
pub(super) async fn within<T>(limit: Duration, call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    // A call that panicked is not polled again, so nobody sees what state it is in.
    let caught =
        poll_fn(
            |context| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context))) {
                Ok(polled) => polled.map(Some),
                Err(_) => std::task::Poll::Ready(None),
            },
        );
    tokio::time::timeout(limit, caught).await.ok().flatten()
}
