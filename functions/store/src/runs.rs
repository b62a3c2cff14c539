//! From an execution's ARN to its run: request, identity, account, bucket, region. Derived afresh each time from what
//! DescribeExecution tells; a request never carries any of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use ebb_core::rails::Rails;
use ebb_core::run::{ExecutionArn, run_id};
use ebb_core::{Ending, Refusal, Request, Run, text};

use crate::bucket::Bucket;
use crate::lambda::Failure;
use crate::resolve::{Resolution, ResolveRun};
use crate::stacks::keys_under;
use crate::world::{Execution, World};

/// DescribeExecution did not know the execution yet; the state machine tries again.
pub const NOT_LEARNT: &str = "NotLearnt";

/// What Check learns of its execution.
#[derive(Clone, Debug)]
pub struct Learnt {
    /// The run.
    pub run: Run,
    /// The request it was started with.
    pub request: Request,
    /// Whether the execution still goes on.
    pub running: bool,
    /// Whether it was redriven.
    pub redriven: bool,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRun {
    /// Not learnt yet.
    NotLearnt,
    /// Not known: DescribeExecution or a call on the bucket failed.
    Failed(String),
    /// The request is none, or leads nowhere.
    Refused(Refusal),
}

/// Derives the run of an execution. `admit` judges the request before any call is made on its behalf: none through a role
/// that the app's owner did not allow. It is given the app's own account.
pub async fn learn(
    world: &World,
    rails: &Rails,
    execution_arn: &str,
    admit: impl Fn(&Request, &str) -> Result<(), Refusal>,
) -> Result<Learnt, NoRun> {
    let Some(arn) = ExecutionArn::parse(execution_arn) else {
        let message = "`execution` is not the ARN of an execution";
        return Err(NoRun::Refused(Refusal::new(Ending::InvalidRequest, message)));
    };
    let execution = world.executions.describe(execution_arn).await.map_err(|error| NoRun::Failed(error.to_string()))?;
    let Some(Execution { input, started_at, running, redriven, .. }) = execution else { return Err(NoRun::NotLearnt) };

    let request = Request::parse(&input).map_err(NoRun::Refused)?;
    admit(&request, arn.account).map_err(NoRun::Refused)?;
    let run_id = run_id(execution_arn, started_at);
    let target = request.target.as_ref();
    let account = world.accounts.account(target, &run_id).await.map_err(NoRun::Refused)?;
    let name = rails.bucket(request.bucket.as_deref(), target);
    let place = world.accounts.find_bucket(target, &run_id, &account, name, request.region.as_deref());
    let place = place.await.map_err(NoRun::Refused)?;
    let mut run = Run {
        owner: arn.owner(),
        run_id,
        execution: execution_arn.to_owned(),
        timestamp: started_at,
        account,
        bucket: place.name,
        bucket_region: place.region,
        prefix: request.prefix.clone().unwrap_or_else(|| rails.default_prefix.clone()),
        stack: request.stack.clone(),
        region: request.region.clone().unwrap_or_default(),
        target: request.target.clone(),
        dry_run: request.dry_run,
        expected_last_modified: request.expected_last_modified,
        options: request.options.clone(),
    };
    if run.region.is_empty() {
        let bucket = world.accounts.bucket(&run).await.map_err(NoRun::Refused)?;
        run.region = only_region(&*bucket, &run).await?;
    }
    Ok(Learnt { run, request, running, redriven, warnings: place.warnings })
}

/// The one region in which the stack has anything; a lock counts, so that a keeper finds it after the state is gone.
async fn only_region(bucket: &dyn Bucket, run: &Run) -> Result<String, NoRun> {
    let folder = format!("{}/{}/", run.prefix, run.stack);
    let keys = keys_under(bucket, &folder).await.map_err(|error| NoRun::Failed(error.to_string()))?;
    let regions: BTreeSet<&str> = keys
        .iter()
        .filter_map(|key| key.strip_prefix(&folder)?.split_once('/'))
        .filter(|(_, name)| ["state.json", "lock.json"].contains(name))
        .map(|(region, _)| region)
        .collect();
    let stack = text::display(&run.stack);
    let refuse = |ending, message: String| Err(NoRun::Refused(Refusal::new(ending, message)));
    match regions.iter().collect::<Vec<_>>()[..] {
        [region] if ebb_core::request::is_region(region) => Ok((*region).to_owned()),
        [region] => {
            refuse(Ending::InvalidRequest, format!("the state of {stack} lies under {}, which is no region", text::ascii(region)))
        }
        [] if keys.iter().any(|key| *key == run.key().legacy_state()) => {
            refuse(Ending::InvalidRequest, format!("the state of {stack} names no region in its key: say which with `region`"))
        }
        [] => {
            refuse(Ending::StackNotFound, format!("no state of {stack} under {}/ in {}", text::display(&run.prefix), run.bucket))
        }
        _ => {
            let names: Vec<String> = regions.iter().map(|r| text::ascii(r)).collect();
            refuse(Ending::InvalidRequest, format!("{stack} has state in {}: say which with `region`", names.join(", ")))
        }
    }
}

/// Derives runs for the keeper.
pub struct Runs {
    world: World,
    rails: Arc<Rails>,
}

impl Runs {
    /// Runs of `world`, with the app's defaults.
    pub fn new(world: World, rails: Arc<Rails>) -> Self {
        Runs { world, rails }
    }
}

impl Runs {
    /// Whether the execution is over and began longer ago than a lock lasts: nothing that it left can be settled from
    /// here, and whatever lock it took and nobody renews goes by itself.
    async fn has_lapsed(&self, execution_arn: &str) -> bool {
        match self.world.executions.describe(execution_arn).await {
            Ok(Some(execution)) => {
                !execution.running && self.world.clock.now().saturating_sub(execution.started_at) > ebb_core::lock::TTL
            }
            _ => false,
        }
    }
}

#[async_trait]
impl ResolveRun for Runs {
    async fn resolve(&self, execution_arn: &str) -> Result<Resolution, Failure> {
        // A pause, a deny list or a distrust that came later stops no renewal; a role that is not allowed was never worked
        // through.
        let admit = |request: &Request, _: &str| self.rails.admits_target(request.target.as_ref());
        match learn(&self.world, &self.rails, execution_arn, admit).await {
            Ok(learnt) => Ok(Resolution::Run { run: Box::new(learnt.run), running: learnt.running }),
            Err(NoRun::NotLearnt) => Ok(Resolution::NotLearnt),
            Err(NoRun::Failed(why)) => Err(Failure::new(Ending::Error.name(), &why)),
            // A request that leads nowhere never took a lock. An account or bucket that cannot be reached now may have
            // been reachable when it did, until such a lock has lapsed.
            Err(NoRun::Refused(refusal)) => match refusal.ending {
                Ending::InvalidRequest | Ending::Refused | Ending::StackNotFound | Ending::BucketNotFound => {
                    Ok(Resolution::NotARun)
                }
                _ if self.has_lapsed(execution_arn).await => Ok(Resolution::NotARun),
                _ => Err(refusal.into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryBucket, OneWorld, VirtualClock};
    use ebb_core::{Clock, Millis};

    const ARN: &str = "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:x";
    const START: Millis = 1_765_000_000_000;

    fn runs(input: &'static str, running: bool) -> (Runs, VirtualClock) {
        let clock = VirtualClock::starting_at(START);
        let one = OneWorld::new(Arc::new(MemoryBucket::plain("state", Arc::new(clock))));
        one.executes(Ok(Some(Execution { input: input.into(), started_at: START, running, redriven: false, end: None })));
        one.refuses(Some(Refusal::new(Ending::AccessDenied, "no")));
        let rails = Rails::from_vars(|name| (name == "EBB_APP").then(|| "ebb".to_owned())).unwrap();
        (Runs::new(one.world(Arc::new(clock)), Arc::new(rails)), clock)
    }

    const REQUEST: &str = r#"{"stack": "S", "region": "us-east-1", "confirm": "S"}"#;

    /// A keeper of a run that nobody can reach ends once the run's lock has lapsed, instead of asking for two days.
    #[tokio::test(start_paused = true)]
    async fn an_unreachable_run_is_given_up_when_its_lock_has_lapsed() {
        let (over, clock) = runs(REQUEST, false);
        assert_eq!(over.resolve(ARN).await.unwrap_err().name, "AccessDenied");
        clock.sleep(std::time::Duration::from_millis(ebb_core::lock::TTL + 1)).await;
        assert_eq!(over.resolve(ARN).await, Ok(Resolution::NotARun));

        let (running, clock) = runs(REQUEST, true);
        clock.sleep(std::time::Duration::from_millis(ebb_core::lock::TTL + 1)).await;
        assert_eq!(running.resolve(ARN).await.unwrap_err().name, "AccessDenied");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_none_or_a_role_that_is_not_allowed_was_never_a_run() {
        let role = r#"{"stack": "S", "confirm": "S", "target": {"roleArn": "arn:aws:iam::210987654321:role/x"}}"#;
        for input in ["{}", role] {
            assert_eq!(runs(input, false).0.resolve(ARN).await, Ok(Resolution::NotARun), "{input}");
        }
    }
}
