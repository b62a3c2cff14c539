//! A world of one account with one bucket and one execution: what tests and benches of the functions run in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ebb_core::{Clock, Refusal, Run, Target};

use crate::bucket::Bucket;
use crate::world::{Accounts, BucketPlace, Execution, Executions, ExecutionsError, World};

/// The account of the world.
pub const ACCOUNT: &str = "123456789012";

/// One account, one bucket, one execution.
pub struct OneWorld {
    bucket: Arc<dyn Bucket>,
    execution: Mutex<Result<Option<Execution>, ExecutionsError>>,
    refusal: Mutex<Option<Refusal>>,
}

impl OneWorld {
    /// A world with this bucket; its execution is not learnt yet.
    pub fn new(bucket: Arc<dyn Bucket>) -> Arc<Self> {
        Arc::new(OneWorld { bucket, execution: Mutex::new(Ok(None)), refusal: Mutex::new(None) })
    }

    /// The world with a clock, as functions take it.
    pub fn world(self: &Arc<Self>, clock: Arc<dyn Clock>) -> World {
        World { clock, executions: self.clone(), accounts: self.clone() }
    }

    /// What DescribeExecution answers from now on.
    pub fn executes(&self, execution: Result<Option<Execution>, ExecutionsError>) {
        *held(&self.execution) = execution;
    }

    /// What reaching the account and its bucket comes to from now on; `None`: they are reached.
    pub fn refuses(&self, refusal: Option<Refusal>) {
        *held(&self.refusal) = refusal;
    }

    fn reach(&self) -> Result<(), Refusal> {
        held(&self.refusal).clone().map_or(Ok(()), Err)
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Executions for OneWorld {
    async fn describe(&self, _: &str) -> Result<Option<Execution>, ExecutionsError> {
        held(&self.execution).clone()
    }
}

#[async_trait]
impl Accounts for OneWorld {
    async fn account(&self, _: Option<&Target>, _: &str) -> Result<String, Refusal> {
        self.reach().map(|()| ACCOUNT.to_owned())
    }

    async fn find_bucket(
        &self,
        _: Option<&Target>,
        _: &str,
        _: &str,
        name: Option<&str>,
        _: Option<&str>,
    ) -> Result<BucketPlace, Refusal> {
        self.reach()?;
        let name = name.unwrap_or(self.bucket.name()).to_owned();
        Ok(BucketPlace { name, region: "us-east-1".to_owned(), warnings: Vec::new() })
    }

    async fn bucket(&self, _: &Run) -> Result<Arc<dyn Bucket>, Refusal> {
        self.reach().map(|()| self.bucket.clone())
    }
}
