//! A run: one teardown of one stack, as Check derives it from its execution and the machines pass it on.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::keys::StackKey;
use crate::{Ending, Millis, Refusal, text};

/// The role to work through in another account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// ARN of the role that the target account deployed.
    pub role_arn: String,
    /// The external id that its trust policy asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
}

/// What a request may allow beyond a plain teardown. All off by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// Switch deletion protection off right before a delete.
    pub remove_protection: bool,
    /// Empty buckets and repositories that hold data.
    pub delete_data: bool,
    /// Leave guarded and protected resources and what they need, delete the rest.
    pub skip_guarded: bool,
    /// Treat the Snapshot policy as Delete.
    pub skip_final_snapshot: bool,
    /// Tear a nested stack down by itself.
    pub allow_nested_child: bool,
    /// Remove the stack's deployment events after a clean end.
    pub purge_events: bool,
    /// How long to wait for a lock that someone holds, in seconds.
    pub lock_wait: u64,
}

/// One teardown of one stack. Identity (`owner`, `timestamp`) is derived from the execution, never stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// cdkd's form of a run id: start instant, `-`, eight hex digits of the execution's hash.
    pub run_id: String,
    /// ARN of the teardown's execution.
    pub execution: String,
    /// The owner this run writes into locks.
    pub owner: String,
    /// The execution's start in milliseconds, the lock's `timestamp`.
    pub timestamp: Millis,
    /// The account that owns state and stack; `ExpectedBucketOwner` of every call on the state bucket.
    pub account: String,
    /// The state bucket.
    pub bucket: String,
    /// The state bucket's region, which may differ from the stack's.
    pub bucket_region: String,
    /// The state prefix.
    pub prefix: String,
    /// The stack.
    pub stack: String,
    /// The stack's region.
    pub region: String,
    /// The role to work through, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Look, answer the plan, change nothing.
    pub dry_run: bool,
    /// The `lastModified` of the state that the stack was chosen by, in milliseconds, 0 for one that has none; `None` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_last_modified: Option<Millis>,
    /// What the request allows.
    #[serde(default)]
    pub options: Options,
}

impl Run {
    /// Where the stack's objects are.
    pub fn key(&self) -> StackKey {
        StackKey::new(&self.prefix, &self.stack, &self.region)
    }

    /// Refuses a stack whose state is not the one that it was chosen by. True only until this run has written the state.
    pub fn refuse_fresh(&self, last_modified: Option<Millis>) -> Result<(), Refusal> {
        match self.expected_last_modified {
            Some(then) if then != last_modified.unwrap_or(0) => Err(deployed_again(last_modified)),
            _ => Ok(()),
        }
    }
}

/// The refusal of a stack whose state was written, at `last_modified`, after the stack was chosen: what was judged of it (age,
/// due date, contents) is not true any more.
pub fn deployed_again(last_modified: Option<Millis>) -> Refusal {
    let at = last_modified.map_or_else(String::new, |at| format!(": its state was written at {}", text::iso(at)));
    Refusal::new(Ending::Refused, format!("the stack was deployed again, or torn down in part, after it was chosen{at}"))
}

/// What outputs and Causes say of a run: its id, stack, region and account. A request that led to no run has a null id.
pub fn told(run: Option<&Run>) -> Value {
    match run {
        Some(run) => json!({"runId": run.run_id, "stack": run.stack, "region": run.region, "account": run.account}),
        None => json!({"runId": null}),
    }
}

/// An execution's ARN, taken apart: `arn:{partition}:states:{region}:{account}:execution:{machine}:{name}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionArn<'a> {
    /// Partition (`aws`, `aws-cn`, …).
    pub partition: &'a str,
    /// Region of the app.
    pub region: &'a str,
    /// Account of the app.
    pub account: &'a str,
    /// State machine name.
    pub machine: &'a str,
    /// Execution name.
    pub name: &'a str,
}

impl<'a> ExecutionArn<'a> {
    /// `None` when the text is not an execution's ARN.
    pub fn parse(arn: &'a str) -> Option<Self> {
        match arn.split(':').collect::<Vec<_>>()[..] {
            ["arn", partition, "states", region, account, "execution", machine, name]
                if !machine.is_empty() && !name.is_empty() =>
            {
                Some(ExecutionArn { partition, region, account, machine, name })
            }
            _ => None,
        }
    }

    /// The owner of this execution's locks: `ebb@{account}:{region}/{machine}/{name}`, unchanged by the sanitiser.
    pub fn owner(&self) -> String {
        let owner = format!("ebb@{}:{}/{}/{}", self.account, self.region, self.machine, self.name);
        text::cut(&owner.chars().filter(|c| c.is_ascii_alphanumeric() || "@:/._-".contains(*c)).collect::<String>(), 256)
    }
}

/// The run's id: sorts by time, and two executions never share one.
pub fn run_id(execution_arn: &str, started_at: Millis) -> String {
    let hash = Sha256::digest(execution_arn.as_bytes());
    let hex: String = hash.iter().take(4).map(|b| format!("{b:02x}")).collect();
    let instant: String = crate::text::iso(started_at).chars().filter(|c| !"-:.".contains(*c)).collect();
    format!("{instant}-{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:nightly-7";

    #[test]
    fn the_owner_is_derived_from_the_execution() {
        let arn = ExecutionArn::parse(ARN).unwrap();
        assert_eq!(arn.owner(), "ebb@123456789012:us-east-1/ebb-teardown/nightly-7");
        assert_eq!(ExecutionArn::parse("arn:aws:states:us-east-1:1:stateMachine:x"), None);
    }

    /// An older state counts as well, and one that does not say when: whoever restored it wants it.
    #[test]
    fn only_the_state_that_it_was_chosen_by_is_torn_down() {
        let run = |expected: Option<Millis>| -> Run {
            serde_json::from_value(serde_json::json!({
                "runId": "r", "execution": ARN, "owner": "o", "timestamp": 1, "account": "123456789012", "bucket": "b",
                "bucketRegion": "us-east-1", "prefix": "cdkd", "stack": "S", "region": "us-east-1", "dryRun": false,
                "expectedLastModified": expected,
            }))
            .unwrap()
        };
        let (chosen, any) = (run(Some(1_786_786_212_123)), run(None));
        assert_eq!(chosen.refuse_fresh(Some(1_786_786_212_123)), Ok(()));
        for now in [None, Some(0), Some(1_786_786_212_122), Some(1_786_786_212_124)] {
            assert_eq!(chosen.refuse_fresh(now), Err(deployed_again(now)));
            assert_eq!(any.refuse_fresh(now), Ok(()));
        }
        let undated = run(Some(0));
        assert_eq!((undated.refuse_fresh(None), undated.refuse_fresh(Some(1))), (Ok(()), Err(deployed_again(Some(1)))));
        let refusal = deployed_again(Some(1_786_786_212_124));
        let said = "the stack was deployed again, or torn down in part, after it was chosen: its state was written at 2026-08-15T09:30:12.124Z";
        assert_eq!((refusal.ending, refusal.message.as_str()), (Ending::Refused, said));
    }

    #[test]
    fn the_run_id_has_cdkds_form() {
        assert_eq!(run_id(ARN, 1_786_786_212_123), "20260815T093012123Z-".to_owned() + &run_id(ARN, 0)[20..]);
        assert_ne!(run_id(ARN, 0), run_id("arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:other", 0));
    }
}
