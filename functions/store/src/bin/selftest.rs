//! Runs the checks that every state bucket must pass against a real one, under a prefix of its own that is removed
//! afterwards: `selftest <bucket> [region]`. Set `AWS_ENDPOINT_URL` to run it against an emulator.

use std::process::ExitCode;
use std::sync::Arc;

use ebb_core::Clock;
use ebb_store::{Accounts, AwsAccounts, S3Bucket, Sessions, SystemClock, conformance};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(bucket) = arguments.next() else {
        eprintln!("usage: selftest <bucket> [region]");
        return ExitCode::from(2);
    };
    match run(&bucket, arguments.next()).await {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("selftest of {bucket}: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Prints every check and answers how many failed.
async fn run(name: &str, region: Option<String>) -> Result<usize, String> {
    let clock = Arc::new(SystemClock);
    let sessions = Arc::new(Sessions::load(clock.clone()).await);
    let accounts = AwsAccounts::new(sessions.clone());
    let account = accounts.account(None, "selftest").await.map_err(|refusal| refusal.to_string())?;
    let region = match region {
        Some(region) => region,
        None => {
            let place = accounts.find_bucket(None, "selftest", &account, Some(name), None).await;
            place.map_err(|refusal| refusal.to_string())?.region
        }
    };
    let config = sessions.config(None, "selftest", &region).await.map_err(|refusal| refusal.to_string())?;
    let bucket = S3Bucket::new(&config, name, &account);
    let outcomes = conformance::checks(&bucket, &format!("ebb/selftest/{}", clock.now())).await?;
    let mut failed = 0;
    for (check, outcome) in &outcomes {
        match outcome {
            Ok(()) => println!("ok      {check}"),
            Err(why) => {
                failed += 1;
                println!("FAILED  {check}: {why}");
            }
        }
    }
    println!("{} passed, {failed} failed", outcomes.len() - failed);
    Ok(failed)
}
