//! AWS configuration, made once per container: the app's own, and that of a target account's role. Every client of the
//! functions is built from what this module answers, so retries, time-outs and TLS are decided here alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, error::CredentialsError, future};
use aws_sdk_sts::error::ProvideErrorMetadata;
use aws_sdk_sts::operation::assume_role::{AssumeRoleError, AssumeRoleOutput};
use aws_sdk_sts::types::Tag;
use aws_smithy_http_client::tls;
use aws_smithy_types::retry::RetryConfig;
use aws_types::SdkConfig;
use ebb_core::{Clock, Ending, Millis, Refusal, Target};
use tokio::sync::Mutex;

use crate::s3::text_of;

/// What the SDK does by default, pinned: an upgrade of the SDK changes nothing unasked.
pub fn behavior() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// Attempts of one SDK operation.
pub const ATTEMPTS: u32 = 3;
/// Within this time an SDK operation ends, retries included; the fence counts on it.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a connection may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a session of a target's role lasts: the most that a role assumed by a role may have.
const SESSION: Duration = Duration::from_secs(3600);
/// A session this close to its end is not handed out any more.
const SPARE: Duration = Duration::from_secs(300);
/// The tag of a session, for the target account's own records and policies.
const RUN_TAG: &str = "ebb:run";

/// Sessions of this container. One per role, external id and run, so that the session's name and tag, which the target
/// account sees in its trail, always tell the run that acts.
pub struct Sessions {
    own: SdkConfig,
    clock: Arc<dyn Clock>,
    assumed: Mutex<HashMap<SessionKey, Session>>,
}

type SessionKey = (String, Option<String>, String);

#[derive(Clone)]
struct Session {
    credentials: SharedCredentialsProvider,
    ends: Millis,
}

impl Sessions {
    /// The function's own role and region, from the environment. `AWS_ENDPOINT_URL` is honoured.
    pub async fn load(clock: Arc<dyn Clock>) -> Self {
        Sessions::of(loader().load().await, clock)
    }

    /// Sessions on top of a configuration of one's own.
    pub fn of(own: SdkConfig, clock: Arc<dyn Clock>) -> Self {
        Sessions { own, clock, assumed: Mutex::default() }
    }

    /// The app's own configuration, in its own region.
    pub fn own(&self) -> &SdkConfig {
        &self.own
    }

    /// The region that the function runs in.
    pub fn home_region(&self) -> &str {
        self.own.region().map_or("us-east-1", Region::as_ref)
    }

    /// The configuration for calls of a run in `region`: through the target's role, or without one the function's own.
    pub async fn config(&self, target: Option<&Target>, run_id: &str, region: &str) -> Result<SdkConfig, Refusal> {
        let builder = self.own.to_builder().region(Region::new(region.to_owned()));
        let Some(target) = target else {
            return Ok(builder.build());
        };
        let credentials = self.session(target, run_id).await?;
        Ok(builder.credentials_provider(credentials).build())
    }

    /// Credentials that assume the target's role anew each time they are asked for: what they sign lasts for a session
    /// of its own. `None` without a target: the function's own credentials cannot be renewed on demand.
    pub fn fresh(self: &Arc<Self>, target: Option<&Target>, run_id: &str) -> Option<SharedCredentialsProvider> {
        let target = target?.clone();
        Some(SharedCredentialsProvider::new(Fresh { sessions: self.clone(), target, run_id: run_id.to_owned() }))
    }

    async fn session(&self, target: &Target, run_id: &str) -> Result<SharedCredentialsProvider, Refusal> {
        let key = (target.role_arn.clone(), target.external_id.clone(), run_id.to_owned());
        // Held while assuming, so that calls side by side share one session.
        let mut assumed = self.assumed.lock().await;
        let needed_until = self.clock.now() + u64::try_from(SPARE.as_millis()).unwrap_or(0);
        assumed.retain(|_, session| session.ends > needed_until);
        if let Some(session) = assumed.get(&key) {
            return Ok(session.credentials.clone());
        }
        let (credentials, ends) = self.assume(target, run_id).await?;
        let credentials = SharedCredentialsProvider::new(credentials);
        assumed.insert(key, Session { credentials: credentials.clone(), ends });
        Ok(credentials)
    }

    async fn assume(&self, target: &Target, run_id: &str) -> Result<(Credentials, Millis), Refusal> {
        let client = aws_sdk_sts::Client::new(&self.own);
        let answer = match self.ask(&client, target, run_id, true).await {
            // A trust policy may allow sts:AssumeRole without sts:TagSession.
            Err(error) if is_denied(&error) => self.ask(&client, target, run_id, false).await,
            other => other,
        };
        let answer = answer.map_err(|error| refusal(target, &error))?;
        let broken = |what: &str| Refusal::new(Ending::Error, format!("AssumeRole of {}: {what}", target.role_arn));
        let given = answer.credentials().ok_or_else(|| broken("the answer has no credentials"))?;
        let ends = given.expiration().to_millis().ok().and_then(|ends| Millis::try_from(ends).ok());
        let ends = ends.ok_or_else(|| broken("the session's end cannot be read"))?;
        let expiry = std::time::UNIX_EPOCH.checked_add(Duration::from_millis(ends));
        let token = Some(given.session_token().to_owned());
        let credentials = Credentials::new(given.access_key_id(), given.secret_access_key(), token, expiry, "ebb-target");
        Ok((credentials, ends))
    }

    async fn ask(
        &self,
        client: &aws_sdk_sts::Client,
        target: &Target,
        run_id: &str,
        tagged: bool,
    ) -> Result<AssumeRoleOutput, aws_sdk_sts::error::SdkError<AssumeRoleError>> {
        let tag = Tag::builder().key(RUN_TAG).value(run_id).build().ok().filter(|_| tagged);
        client
            .assume_role()
            .role_arn(&target.role_arn)
            .set_external_id(target.external_id.clone())
            .role_session_name(run_id)
            .duration_seconds(i32::try_from(SESSION.as_secs()).unwrap_or(3600))
            .set_tags(tag.map(|tag| vec![tag]))
            .send()
            .await
    }
}

fn loader() -> ConfigLoader {
    let http = aws_smithy_http_client::Builder::new()
        .tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).operation_timeout(OPERATION_TIMEOUT).build();
    aws_config::defaults(behavior())
        .http_client(http)
        .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
        .timeout_config(timeouts)
}

fn is_denied(error: &aws_sdk_sts::error::SdkError<AssumeRoleError>) -> bool {
    error.code() == Some("AccessDenied")
}

fn refusal(target: &Target, error: &aws_sdk_sts::error::SdkError<AssumeRoleError>) -> Refusal {
    let role = &target.role_arn;
    if is_denied(error) {
        let why = "its trust policy must name this app's functions and the external id";
        return Refusal::new(Ending::AccessDenied, format!("sts:AssumeRole of {role} is denied: {why}"));
    }
    let what = error.code().map_or_else(|| text_of(error), str::to_owned);
    Refusal::new(Ending::Error, format!("sts:AssumeRole of {role} failed: {what}"))
}

/// See [`Sessions::fresh`].
struct Fresh {
    sessions: Arc<Sessions>,
    target: Target,
    run_id: String,
}

impl std::fmt::Debug for Fresh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fresh({})", self.target.role_arn)
    }
}

impl ProvideCredentials for Fresh {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async move {
            let assumed = self.sessions.assume(&self.target, &self.run_id).await;
            assumed.map(|(credentials, _)| credentials).map_err(CredentialsError::provider_error)
        })
    }
}

#[cfg(test)]
mod tests;
