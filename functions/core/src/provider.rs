//! What the worker asks of a resource type: one step toward gone. Implemented by `ebb-providers` against AWS and by the
//! simulation against a modelled AWS.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::clock::{Clock, Millis};
use crate::run::Run;

/// Codes of a row, for outcomes that Ebb itself decides. AWS error codes stand beside them as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Code {
    MalformedPhysicalId,
    MissingAddress,
    MaskedAddress,
    NoProvider,
    ResourceTimeout,
    DataGuard,
    Protected,
    Denied,
    FinalSnapshotFailed,
    FinalSnapshotTimeout,
    FinalSnapshotUnsupported,
    UnknownDeletionPolicy,
    WorkerCrashed,
    FenceShut,
    WrongRegion,
    MemoTooLarge,
    RecordGone,
    HandlerFailed,
    HandlerDidNotComplete,
    HandlerGone,
    NoServiceToken,
    NoProperties,
    BadServiceToken,
    OwnResource,
    Guarded,
    HoldsRetained,
}

impl Code {
    /// The stable name.
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}

/// How the state says a resource was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProvisionedBy {
    /// Through the service's own API.
    #[default]
    #[serde(rename = "sdk")]
    Sdk,
    /// Through Cloud Control.
    #[serde(rename = "cc-api")]
    CloudControl,
}

/// One row of a state, as a provider needs it. `Debug` never shows properties.
#[derive(Clone, PartialEq)]
pub struct Resource {
    /// The stack that records it.
    pub stack: String,
    /// Its region: every call goes there, and a not-found counts only there.
    pub region: String,
    /// Its key in `resources`.
    pub logical_id: String,
    /// Its type.
    pub resource_type: String,
    /// Its physical id, as recorded.
    pub physical_id: String,
    /// Resolved create-time properties: secrets may be in here.
    pub properties: Map<String, Value>,
    /// The GetAtt cache, last-resort address source.
    pub attributes: Map<String, Value>,
    /// Which road created it.
    pub provisioned_by: ProvisionedBy,
    /// Whether the effective DeletionPolicy asks for a snapshot first.
    pub snapshot: bool,
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} ({})", self.stack, self.logical_id, self.resource_type)
    }
}

impl Resource {
    /// A property that must be a plain string to address a call: `Ok(None)` when absent, an error when it is masked
    /// (`***`) or dynamic (`{{resolve:…}}`): such a value is never sent to AWS.
    pub fn address(&self, property: &str) -> Result<Option<&str>, Masked> {
        match self.properties.get(property) {
            Some(Value::String(s)) if is_masked(s) => Err(Masked { property: property.to_owned() }),
            Some(Value::String(s)) if !s.is_empty() => Ok(Some(s)),
            _ => Ok(None),
        }
    }

    /// A boolean property; cdkd records `true` and `"true"` alike.
    pub fn flag(&self, property: &str) -> bool {
        is_true(self.properties.get(property))
    }

    /// Whether this is a database instance of a cluster: its data is the cluster's.
    pub fn is_cluster_member(&self) -> bool {
        names_cluster(&self.properties)
    }

    /// The value of a recorded tag. `Tags` may be a list of `{Key, Value}` or a map.
    pub fn tag(&self, key: &str) -> Option<&Value> {
        match self.properties.get("Tags") {
            Some(Value::Array(tags)) => tags
                .iter()
                .filter_map(Value::as_object)
                .find(|tag| tag.get("Key").and_then(Value::as_str) == Some(key))
                .and_then(|tag| tag.get("Value")),
            Some(Value::Object(tags)) => tags.get(key),
            _ => None,
        }
    }
}

/// Whether the recorded properties of a database instance name a cluster.
pub fn names_cluster(properties: &Map<String, Value>) -> bool {
    !matches!(properties.get("DBClusterIdentifier"), None | Some(Value::Null))
        && properties.get("DBClusterIdentifier").and_then(Value::as_str) != Some("")
}

/// `true` or `"true"`.
pub fn is_true(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::Bool(true))) || value.and_then(Value::as_str) == Some("true")
}

/// A NoEcho mask or a dynamic reference: must never be sent to AWS as an address.
pub fn is_masked(text: &str) -> bool {
    text.contains("***") || text.contains("{{resolve")
}

/// Whether a mask or a dynamic reference stands anywhere in the properties.
pub fn holds_mask(properties: &Map<String, Value>) -> bool {
    fn masked(value: &Value) -> bool {
        match value {
            Value::String(text) => is_masked(text),
            Value::Array(values) => values.iter().any(masked),
            Value::Object(values) => values.values().any(masked),
            _ => false,
        }
    }
    properties.values().any(masked)
}

/// An addressing property whose recorded value is a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked {
    /// The property's name.
    pub property: String,
}

/// Where a resource stands after a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It is gone; `already` when this step found it so.
    Gone { already: bool },
    /// It is gone, and the report is to say something of it: where its last state was saved.
    GoneWith { note: Cow<'static, str> },
    /// It is on its way: look again after `look_again`. `memo` replaces the one the step was given; `None` keeps it. With the
    /// code of an `error` it is left alone for all that time, without one it is looked at sooner when it may be over by then.
    Pending { look_again: Duration, note: Cow<'static, str>, memo: Option<Value>, error: Option<Cow<'static, str>> },
    /// No call could address it, or it could not be proven deleted; the record stays.
    Skipped { code: Code, reason: Cow<'static, str> },
}

impl Step {
    /// Deleted by this step.
    pub const DELETED: Step = Step::Gone { already: false };
    /// Found gone.
    pub const ALREADY_GONE: Step = Step::Gone { already: true };

    /// Gone, with something to tell.
    pub fn gone_with(note: impl Into<Cow<'static, str>>) -> Step {
        Step::GoneWith { note: note.into() }
    }

    /// Look again later, with the same memo.
    pub fn pending(look_again: Duration, note: impl Into<Cow<'static, str>>) -> Step {
        Step::Pending { look_again, note: note.into(), memo: None, error: None }
    }

    /// Look again later, and remember `memo`.
    pub fn pending_with(look_again: Duration, note: impl Into<Cow<'static, str>>, memo: Value) -> Step {
        Step::Pending { look_again, note: note.into(), memo: Some(memo), error: None }
    }

    /// The pending step as one that met an error: not before its time is up is it worth another try.
    pub fn after_error(self, code: impl Into<Cow<'static, str>>) -> Step {
        match self {
            Step::Pending { look_again, note, memo, .. } => Step::Pending { look_again, note, memo, error: Some(code.into()) },
            settled => settled,
        }
    }

    /// Not addressed or not proven deleted.
    pub fn skipped(code: Code, reason: impl Into<Cow<'static, str>>) -> Step {
        Step::Skipped { code, reason: reason.into() }
    }
}

/// What a look before the first delete says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing that this step can see would refuse the delete.
    Clear,
    /// A protection or a data guard would refuse it.
    Refuses { code: Code, reason: String },
}

/// How an error is to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The service says that this very resource is not there.
    AlreadyGone,
    /// It passes: look again after `after`; `give_up` counts from the first time, the row's deadline applies without it.
    Retry { after: Duration, give_up: Option<Duration> },
    /// A rate limit.
    Throttled,
    /// Something holds it; retried like `Retry`, and the outcome names the holders.
    Blocked { after: Duration, by: Vec<String> },
    /// Deletion protection is on.
    Protected,
    /// Our own rights do not suffice.
    Denied,
    /// The lock is not ours, closed, or its lease is too short.
    FenceShut,
    /// Final for this attempt.
    Terminal,
}

/// An error of a step, as a value with a class. The message is display-safe when it is stored, not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteError {
    /// How to take it.
    pub class: ErrorClass,
    /// The AWS error code, or a [`Code`]'s name.
    pub code: String,
    /// The service's message or ours. Never holds property values of ours.
    pub message: String,
    /// The AWS request id.
    pub request_id: Option<String>,
}

impl DeleteError {
    /// A final refusal of ours, never matched against text rules.
    pub fn refused(code: Code, message: impl Into<String>) -> Self {
        DeleteError { class: ErrorClass::Terminal, code: code.name(), message: message.into(), request_id: None }
    }

    /// The fence is shut.
    pub fn fence_shut(message: impl Into<String>) -> Self {
        DeleteError { class: ErrorClass::FenceShut, code: Code::FenceShut.name(), message: message.into(), request_id: None }
    }
}

impl fmt::Display for DeleteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for DeleteError {}

impl From<Masked> for DeleteError {
    /// A step that meets a mask where it needs an address skips; see [`Step::Skipped`]. As an error it is terminal.
    fn from(masked: Masked) -> Self {
        DeleteError::refused(Code::MaskedAddress, format!("the recorded {} is masked or dynamic", masked.property))
    }
}

/// The check before every mutating call that the lock is ours and open.
#[async_trait]
pub trait Fence: Send + Sync {
    /// Reads the lock again unless it was read a moment ago; an error means: start no mutating call.
    async fn check(&self) -> Result<(), DeleteError>;

    /// Whether a mutating call may start now, from what was last read. Never waits.
    fn is_open(&self) -> bool;
}

/// What a step may know and use beside the resource.
pub struct Context<'a> {
    /// The run, with its options.
    pub run: &'a Run,
    /// Attempt number, from 1; part of every client token.
    pub attempt: u32,
    /// When this attempt's first step was planned.
    pub started_at: Millis,
    /// What the step before asked to be told.
    pub memo: Option<&'a Value>,
    /// To be checked before every mutating call of a loop.
    pub fence: &'a dyn Fence,
    /// Time.
    pub clock: &'a dyn Clock,
    /// When the step should answer `Pending` rather than go on.
    pub soft_deadline: Millis,
}

impl Context<'_> {
    /// How long this attempt has been going on.
    pub fn elapsed(&self) -> Duration {
        Duration::from_millis(self.clock.now().saturating_sub(self.started_at))
    }

    /// Whether there is budget left for one more call in this step.
    pub fn has_time(&self) -> bool {
        self.clock.now() < self.soft_deadline
    }

    /// A token that is the same whenever this very attempt asks for this very thing.
    pub fn token(&self, resource: &Resource, purpose: &str) -> String {
        token(self.run, &resource.stack, &resource.logical_id, self.attempt, purpose)
    }
}

/// See [`Context::token`].
fn token(run: &Run, stack: &str, logical_id: &str, attempt: u32, purpose: &str) -> String {
    use sha2::{Digest, Sha256};
    let text = format!("{}\n{stack}\n{logical_id}\n{attempt}\n{purpose}", run.execution);
    Sha256::digest(text.as_bytes()).iter().take(16).map(|b| format!("{b:02x}")).collect()
}

/// How often a custom resource's handler is asked within one attempt: once, and twice more when it answers that it had
/// not the rights yet.
pub const DELIVERIES: u32 = 3;

/// The request id of the `delivery`th question (from 0) to a custom resource's handler. Derived, so that a repeated step
/// asks under the same id, and the finalizer finds the response objects of a run again.
pub fn request_id(run: &Run, stack: &str, logical_id: &str, attempt: u32, delivery: u32) -> String {
    format!("ebb-{}", token(run, stack, logical_id, attempt, &format!("custom resource {delivery}")))
}

/// Keys of all response objects that `attempts` attempts of a custom resource may have left, the first attempt's first.
pub fn response_keys(run: &Run, stack: &str, logical_id: &str, attempts: u32) -> Vec<String> {
    let ids = |attempt| (0..DELIVERIES).map(move |delivery| request_id(run, stack, logical_id, attempt, delivery));
    (1..=attempts).flat_map(ids).map(|id| crate::keys::custom_resource_response(&id)).collect()
}

/// Whether a type's delete is its own handler's.
pub fn is_custom_resource(resource_type: &str) -> bool {
    resource_type.starts_with("Custom::") || resource_type == "AWS::CloudFormation::CustomResource"
}

/// How resources go away.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Takes `resource` one step closer to gone and says where it stands. Called again until it answers `Gone`;
    /// may run twice and may be killed between any two calls.
    async fn step(&self, resource: &Resource, ctx: &Context<'_>) -> Result<Step, DeleteError>;

    /// Looks, read-only, whether a protection or a data guard would refuse the delete.
    async fn look(&self, resource: &Resource, ctx: &Context<'_>) -> Result<Look, DeleteError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> Run {
        let execution = format!("arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:{name}");
        serde_json::from_value(serde_json::json!({
            "runId": "r", "execution": execution, "owner": "o", "timestamp": 1, "account": "123456789012", "bucket": "b",
            "bucketRegion": "us-east-1", "prefix": "cdkd", "stack": "S", "region": "us-east-1", "dryRun": false
        }))
        .unwrap()
    }

    /// The request id is derived from run, resource and attempt: the same again for the same, another for any other.
    #[test]
    fn a_request_id_is_one_deliverys_alone() {
        let ids = [
            request_id(&run("a"), "S", "Logical", 1, 0),
            request_id(&run("b"), "S", "Logical", 1, 0),
            request_id(&run("a"), "S~Child", "Logical", 1, 0),
            request_id(&run("a"), "S", "Other", 1, 0),
            request_id(&run("a"), "S", "Logical", 2, 0),
            request_id(&run("a"), "S", "Logical", 1, 1),
        ];
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len());
        assert_eq!(ids[0], request_id(&run("a"), "S", "Logical", 1, 0));
        assert!(ids[0].strip_prefix("ebb-").is_some_and(|hex| hex.len() == 32), "{}", ids[0]);
    }

    #[test]
    fn every_response_object_of_a_custom_resource_is_found_again() {
        let keys = response_keys(&run("a"), "S", "Logical", 2);
        assert_eq!(keys.len(), 6);
        assert_eq!(keys[4], format!("custom-resource-responses/{}.json", request_id(&run("a"), "S", "Logical", 2, 1)));
        assert!(response_keys(&run("a"), "S", "Logical", 0).is_empty());
    }
}
