//! The finalizer's Lambda: wires [`ebb_finalizer::handle`] to the runtime and to AWS.

use ebb_finalizer::{Deps, handle};
use ebb_store::aws::world;
use ebb_store::lambda::read;
use ebb_store::serve;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let (world, _) = world().await;
    let app = std::env::var("EBB_APP").unwrap_or_else(|_| "ebb".to_owned());
    let deps = Deps { world, app };
    serve(|payload| {
        let deps = &deps;
        async move { handle(read(payload)?, deps).await }
    })
    .await
}
