//! Providers on AWS. Clients are kept for the container's life, one set per role, run and region; a target's session is
//! renewed under them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use aws_types::SdkConfig;
use aws_types::region::Region;
use ebb_core::{Provider, Refusal, Run, Target};
use ebb_providers::{Clients, Providers};
use ebb_store::{Bucket, Sessions};

use crate::ProviderFactory;

/// A container that has seen more runs than this forgets their clients.
const MOST_KEPT: usize = 32;

/// Role and external id, run, region.
type Key = (Option<(String, Option<String>)>, String, String);

/// The registry's providers, calling through [`Sessions`].
pub struct AwsProviders {
    sessions: Arc<Sessions>,
    clients: Mutex<HashMap<Key, Arc<Clients>>>,
    extra_delete_policy: bool,
}

impl AwsProviders {
    /// Providers that call with the credentials of `sessions`.
    pub fn new(sessions: Arc<Sessions>) -> Self {
        AwsProviders { sessions, clients: Mutex::default(), extra_delete_policy: false }
    }

    /// Whether the worker's role, or the target's, has a delete policy besides the app's.
    pub fn with_extra_delete_policy(self, given: bool) -> Self {
        AwsProviders { extra_delete_policy: given, ..self }
    }

    fn config(&self, run: &Run, region: &str) -> SdkConfig {
        let builder = self.sessions.own().to_builder().region(Region::new(region.to_owned()));
        match &run.target {
            None => builder.build(),
            Some(target) => {
                let renewed = Renewed { sessions: self.sessions.clone(), target: target.clone(), run_id: run.run_id.clone() };
                builder.credentials_provider(SharedCredentialsProvider::new(renewed)).build()
            }
        }
    }

    fn clients(&self, run: &Run, region: &str) -> Arc<Clients> {
        let role = run.target.as_ref().map(|target| (target.role_arn.clone(), target.external_id.clone()));
        let key = (role, run.run_id.clone(), region.to_owned());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MOST_KEPT && !clients.contains_key(&key) {
            clients.clear();
        }
        clients.entry(key).or_insert_with(|| Arc::new(Clients::new(self.config(run, region)))).clone()
    }
}

#[async_trait]
impl ProviderFactory for AwsProviders {
    async fn provider(&self, run: &Run, region: &str, bucket: Arc<dyn Bucket>) -> Result<Arc<dyn Provider>, Refusal> {
        // Asked here too, so that a role that cannot be assumed is named as such and not as a failed call.
        self.sessions.config(run.target.as_ref(), &run.run_id, region).await?;
        let providers = Providers::new(self.clients(run, region), bucket);
        Ok(Arc::new(providers.with_extra_delete_policy(self.extra_delete_policy)))
    }
}

/// The target's session as it is now: asked for again by the SDK when the one it has ends.
struct Renewed {
    sessions: Arc<Sessions>,
    target: Target,
    run_id: String,
}

impl std::fmt::Debug for Renewed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Renewed({})", self.target.role_arn)
    }
}

impl ProvideCredentials for Renewed {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async move {
            let home = self.sessions.home_region();
            let config = self.sessions.config(Some(&self.target), &self.run_id, home).await;
            let config = config.map_err(CredentialsError::provider_error)?;
            let provider = config.credentials_provider();
            let provider = provider.ok_or_else(|| CredentialsError::not_loaded("the session has no credentials"))?;
            provider.provide_credentials().await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_store::VirtualClock;

    /// One set of clients per role, run and region, and not more than a container can hold.
    #[tokio::test]
    async fn clients_are_kept_and_never_shared_between_roles() {
        let clock = Arc::new(VirtualClock::starting_at(0));
        let providers = AwsProviders::new(Arc::new(Sessions::of(SdkConfig::builder().build(), clock)));
        let run = crate::tests::bench::bench().request.run;
        let target = |external_id: Option<&str>| Target {
            role_arn: "arn:aws:iam::210987654321:role/ebb-target".into(),
            external_id: external_id.map(str::to_owned),
        };
        let own = providers.clients(&run, "us-west-2");
        assert!(Arc::ptr_eq(&own, &providers.clients(&run, "us-west-2")));
        assert_eq!(own.region(), "us-west-2");
        let others = [
            providers.clients(&run, "us-east-1"),
            providers.clients(&Run { target: Some(target(None)), ..run.clone() }, "us-west-2"),
            providers.clients(&Run { target: Some(target(Some("x"))), ..run.clone() }, "us-west-2"),
            providers.clients(&Run { run_id: "another".into(), ..run.clone() }, "us-west-2"),
        ];
        assert!(others.iter().all(|other| !Arc::ptr_eq(other, &own)));
        assert!(others.windows(2).all(|pair| !Arc::ptr_eq(&pair[0], &pair[1])));
        for n in 0..100 {
            providers.clients(&Run { run_id: format!("run-{n}"), ..run.clone() }, "us-west-2");
        }
        assert!(providers.clients.lock().unwrap().len() <= MOST_KEPT);
    }
}
