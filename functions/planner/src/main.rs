//! The planner Lambda.

use std::sync::Arc;

use ebb_core::rails::Rails;
use ebb_planner::{Deps, handle};
use ebb_store::{aws, lambda, serve};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let rails = Rails::from_vars(|name| std::env::var(name).ok())?;
    let (world, _) = aws::world().await;
    let deps = Arc::new(Deps::new(world, rails));
    serve(|payload| {
        let deps = deps.clone();
        async move { handle(lambda::read(payload)?, &deps).await }
    })
    .await
}
