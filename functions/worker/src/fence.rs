//! The fence of one invocation: the lock of the resource's own stack, read in this invocation and never older than ten
//! seconds when a mutating call starts. What a reading allows is `ebb_core::lock`'s to say.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ebb_core::lock::{FenceView, Shut};
use ebb_core::{Clock, DeleteError, Fence, Millis, Run, StackKey};
use ebb_store::Bucket;
use ebb_store::lock::read_fence;

/// A reading this old is good for a call that starts now, but a check reads again.
const FRESH: Millis = 5_000;

/// The lock of one stack, as one run sees it.
pub struct LockFence {
    bucket: Arc<dyn Bucket>,
    clock: Arc<dyn Clock>,
    key: StackKey,
    run: Run,
    last: Mutex<Option<(Millis, FenceView)>>,
}

impl LockFence {
    /// A fence that was not read yet, and so is shut.
    pub fn new(bucket: Arc<dyn Bucket>, clock: Arc<dyn Clock>, key: StackKey, run: Run) -> Self {
        LockFence { bucket, clock, key, run, last: Mutex::default() }
    }

    fn last(&self) -> Option<(Millis, FenceView)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Fence for LockFence {
    async fn check(&self) -> Result<(), DeleteError> {
        let now = self.clock.now();
        if let Some((asked, view)) = self.last()
            && now.saturating_sub(asked) <= FRESH
            && view.is_open(now)
        {
            return Ok(());
        }
        let view = read_fence(&*self.bucket, &*self.clock, &self.key, &self.run).await;
        let view = view.map_err(|error| DeleteError::fence_shut(format!("the lock could not be read: {error}")))?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, view.clone()));
        match view {
            FenceView::Open { until } if self.clock.now() < until => Ok(()),
            FenceView::Open { .. } => Err(DeleteError::fence_shut(Shut::StaleReading.to_string())),
            FenceView::Shut(shut) => Err(DeleteError::fence_shut(shut.to_string())),
        }
    }

    fn is_open(&self) -> bool {
        self.last().is_some_and(|(_, view)| view.is_open(self.clock.now()))
    }
}

/// The fence of a look: no mutating call may start at all.
pub(crate) struct LooksOnly;

#[async_trait]
impl Fence for LooksOnly {
    async fn check(&self) -> Result<(), DeleteError> {
        Err(DeleteError::fence_shut("a look changes nothing"))
    }

    fn is_open(&self) -> bool {
        false
    }
}
