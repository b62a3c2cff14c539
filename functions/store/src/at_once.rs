//! Requests side by side: many enough to be quick, few enough that a bucket and a function's memory bear them.

use std::future::Future;

use futures::StreamExt;
use futures::stream;

/// So many at the same time.
const AT_ONCE: usize = 16;

/// The answers of all, in order.
pub async fn at_once<F: Future>(work: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    // Collected first: a stream over a borrowing iterator is not `Send` in general.
    let work: Vec<F> = work.into_iter().collect();
    stream::iter(work).buffered(AT_ONCE).collect().await
}
