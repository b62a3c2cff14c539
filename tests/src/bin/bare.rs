//! A Lambda function that does nothing: what every start of a function costs at least. Measured by `tests/start`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    ebb_store::serve(|payload| async move { Ok(payload) }).await
}
