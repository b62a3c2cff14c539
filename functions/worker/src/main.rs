//! The worker Lambda.

use std::sync::Arc;

use ebb_core::payload::WorkerRequest;
use ebb_core::rails::Rails;
use ebb_store::{aws, lambda, serve};
use ebb_worker::{AwsProviders, Deps, handle};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let rails = Rails::from_vars(|name| std::env::var(name).ok())?;
    let (world, sessions) = aws::world().await;
    let extra = std::env::var("EBB_EXTRA_DELETE_POLICY").is_ok_and(|given| given == "1");
    let providers = AwsProviders::new(sessions).with_extra_delete_policy(extra);
    let deps = Arc::new(Deps { world, providers: Arc::new(providers), rails });
    serve(|payload| {
        let deps = deps.clone();
        async move {
            let WorkerRequest::Step(request) = lambda::read(payload)?;
            lambda::write(&handle(request, &deps).await?)
        }
    })
    .await
}
