//! The lock-keeper Lambda.

use std::sync::Arc;

use ebb_core::rails::Rails;
use ebb_lock_keeper::{Deps, handle};
use ebb_store::runs::Runs;
use ebb_store::{aws, lambda, serve};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let rails = Rails::from_vars(|name| std::env::var(name).ok())?;
    let (world, _) = aws::world().await;
    let resolve = Arc::new(Runs::new(world.clone(), Arc::new(rails.clone())));
    let home_region = std::env::var("AWS_REGION").ok();
    let deps = Deps { world, resolve, rails, home_region };
    serve(|payload| {
        let deps = deps.clone();
        async move { handle(lambda::read(payload)?, &deps).await }
    })
    .await
}
