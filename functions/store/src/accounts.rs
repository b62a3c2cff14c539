//! Accounts and their state buckets on AWS: who owns the state, where it lies, and in which region. Absence is only
//! believed when S3 says so; a bucket that is not ours to read is a refusal that names it, never "no state".

mod choice;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::types::BucketLocationConstraint;
use ebb_core::{Ending, Refusal, Run, Target};
use tokio::sync::Mutex;

use crate::bucket::{Bucket, BucketErrorKind};
use crate::s3::{S3Bucket, client, error_of, text_of};
use crate::session::Sessions;
use crate::world::{Accounts, BucketPlace};
use choice::{Candidates, Choice, Probe};

/// Names the bucket's region, also in errors.
const REGION_HEADER: &str = "x-amz-bucket-region";

/// A target's role and external id; `None` is the app itself.
type Through = Option<(String, Option<String>)>;

/// Accounts reached through [`Sessions`].
pub struct AwsAccounts {
    sessions: Arc<Sessions>,
    accounts: Mutex<HashMap<Through, String>>,
    regions: Mutex<HashMap<(String, String), String>>,
    /// Clients of the app's own role, by region. A target's end with its session and are made anew.
    clients: Mutex<HashMap<String, Client>>,
}

impl AwsAccounts {
    /// Accounts that `sessions` reach.
    pub fn new(sessions: Arc<Sessions>) -> Self {
        AwsAccounts { sessions, accounts: Mutex::default(), regions: Mutex::default(), clients: Mutex::default() }
    }

    async fn client(&self, target: Option<&Target>, run_id: &str, region: &str) -> Result<Client, Refusal> {
        let config = self.sessions.config(target, run_id, region).await?;
        if target.is_some() {
            return Ok(client(&config));
        }
        Ok(self.clients.lock().await.entry(region.to_owned()).or_insert_with(|| client(&config)).clone())
    }

    /// A bucket's region. A failure is never kept, and leaves the caller's own region with a warning: a call to the
    /// wrong region is redirected, it cannot be taken for an absent state.
    async fn region(&self, at: &Caller<'_>, bucket: &str) -> Result<(String, Option<String>), Refusal> {
        let key = (at.account.to_owned(), bucket.to_owned());
        if let Some(region) = self.regions.lock().await.get(&key) {
            return Ok((region.clone(), None));
        }
        let home = self.sessions.home_region();
        let client = self.client(at.target, at.run_id, home).await?;
        match client.get_bucket_location().bucket(bucket).expected_bucket_owner(at.account).send().await {
            Ok(answer) => {
                let region = region_of(answer.location_constraint());
                self.regions.lock().await.insert(key, region.clone());
                Ok((region, None))
            }
            Err(error) => {
                let named = error.raw_response().and_then(|answer| answer.headers().get(REGION_HEADER)).map(str::to_owned);
                let error = error_of("GetBucketLocation", bucket, &error);
                match (error.kind, named) {
                    (BucketErrorKind::Denied, _) => Err(choice::denied(bucket, at.account)),
                    (BucketErrorKind::NoSuchBucket, _) => Err(choice::missing(bucket)),
                    // Asked in the wrong region, S3 refuses and says which is the right one.
                    (_, Some(region)) => {
                        self.regions.lock().await.insert(key, region.clone());
                        Ok((region, None))
                    }
                    _ => Ok((home.to_owned(), Some(format!("the region of {bucket} is taken to be {home}: {error}")))),
                }
            }
        }
    }

    /// HEAD, which tells a status and nothing else. A redirect proves that the bucket is there.
    async fn probe(&self, at: &Caller<'_>, bucket: &str) -> Result<Probe, Refusal> {
        let region = choice::probing_region(self.sessions.home_region());
        let client = self.client(at.target, at.run_id, region).await?;
        let answer = client.head_bucket().bucket(bucket).expected_bucket_owner(at.account).send().await;
        let status = match &answer {
            Ok(_) => Some(200),
            Err(SdkError::ServiceError(error)) => Some(error.raw().status().as_u16()),
            Err(SdkError::ResponseError(error)) => Some(error.raw().status().as_u16()),
            Err(_) => None,
        };
        match (status.and_then(Probe::of), answer) {
            (Some(probe), _) => Ok(probe),
            (None, Err(error)) => {
                let what = status.map_or_else(|| text_of(&error), |status| format!("HTTP {status}"));
                Err(Refusal::new(Ending::Error, format!("HeadBucket of {bucket}: {what}")))
            }
            (None, Ok(_)) => Ok(Probe::Exists),
        }
    }

    /// Whether a default bucket holds anything of cdkd's.
    async fn is_used(&self, at: &Caller<'_>, bucket: &str) -> Result<bool, Refusal> {
        let (region, _) = self.region(at, bucket).await?;
        let client = self.client(at.target, at.run_id, &region).await?;
        let listing = S3Bucket::of(client, bucket, at.account).list("cdkd/", None, 1).await;
        match listing {
            Ok(listing) => Ok(!listing.keys.is_empty()),
            Err(error) if error.kind == BucketErrorKind::Denied => Err(choice::denied(bucket, at.account)),
            Err(error) => Err(Refusal::new(Ending::Error, error.to_string())),
        }
    }

    async fn place(&self, at: &Caller<'_>, name: &str, mut warnings: Vec<String>) -> Result<BucketPlace, Refusal> {
        let (region, warning) = self.region(at, name).await?;
        warnings.extend(warning);
        Ok(BucketPlace { name: name.to_owned(), region, warnings })
    }
}

/// On whose behalf a call is made.
struct Caller<'a> {
    target: Option<&'a Target>,
    run_id: &'a str,
    account: &'a str,
}

/// Contract of GetBucketLocation: nothing means us-east-1, and one region has an old name.
fn region_of(location: Option<&BucketLocationConstraint>) -> String {
    match location.map(BucketLocationConstraint::as_str) {
        None | Some("" | "null") => "us-east-1".to_owned(),
        Some("EU") => "eu-west-1".to_owned(),
        Some(region) => region.to_owned(),
    }
}

#[async_trait]
impl Accounts for AwsAccounts {
    async fn account(&self, target: Option<&Target>, run_id: &str) -> Result<String, Refusal> {
        let key = target.map(|target| (target.role_arn.clone(), target.external_id.clone()));
        if let Some(account) = self.accounts.lock().await.get(&key) {
            return Ok(account.clone());
        }
        let config = self.sessions.config(target, run_id, self.sessions.home_region()).await?;
        let answer = aws_sdk_sts::Client::new(&config).get_caller_identity().send().await;
        // Without the account no call could say who must own the bucket, so there is no going on without it.
        let refused = |what: &str| Refusal::new(Ending::AccessDenied, format!("sts:GetCallerIdentity: {what}"));
        let account = match answer {
            Ok(answer) => answer.account.filter(|account| !account.is_empty()).ok_or_else(|| refused("it names no account"))?,
            Err(error) => return Err(refused(&error.code().map_or_else(|| text_of(&error), str::to_owned))),
        };
        self.accounts.lock().await.insert(key, account.clone());
        Ok(account)
    }

    async fn find_bucket(
        &self,
        target: Option<&Target>,
        run_id: &str,
        account: &str,
        name: Option<&str>,
        stack_region: Option<&str>,
    ) -> Result<BucketPlace, Refusal> {
        let at = Caller { target, run_id, account };
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            return self.place(&at, name, Vec::new()).await;
        }
        let candidates = Candidates::of(account, stack_region.unwrap_or(self.sessions.home_region()));
        let current = self.probe(&at, &candidates.current).await?;
        let legacy = self.probe(&at, &candidates.legacy).await?;
        let choice = match choice::by_existence(current, legacy) {
            Choice::ByContent => {
                let current = self.is_used(&at, &candidates.current).await?;
                choice::by_content(current, !current && self.is_used(&at, &candidates.legacy).await?)
            }
            choice => choice,
        };
        let (name, warnings) = candidates.settle(choice, account)?;
        self.place(&at, &name, warnings).await
    }

    async fn bucket(&self, run: &Run) -> Result<Arc<dyn Bucket>, Refusal> {
        let client = self.client(run.target.as_ref(), &run.run_id, &run.bucket_region).await?;
        let bucket = S3Bucket::of(client, &run.bucket, &run.account);
        Ok(match self.sessions.fresh(run.target.as_ref(), &run.run_id) {
            Some(credentials) => Arc::new(bucket.presigning_with(credentials)),
            None => Arc::new(bucket),
        })
    }
}
