//! The items of a wave and the results that come back: what crosses the state machine between planner and worker.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Millis;
use crate::text;

/// Where a resource stands after a step, and for good at the end. The same words in results, record, report and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// Gone, deleted now or found gone.
    Deleted,
    /// On its way; to be looked at again.
    Pending,
    /// Kept by its DeletionPolicy.
    Retained,
    /// Could not be addressed or not be proven deleted; the record stays.
    Skipped,
    /// Could not be deleted; the record stays.
    Failed,
    /// Not attempted, because something that needs it is still there.
    Blocked,
}

/// Where a row lies in its stack's state, for a worker that need not read a large state whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The object's ETag, quotes included: the span says nothing of any other object.
    pub etag: String,
    /// First byte of the row with its name.
    pub first: u64,
    /// Last byte, counted in, as in a `Range` header.
    pub last: u64,
}

impl Span {
    /// The longest ETag that an item carries, in bytes: S3's have 34, or up to 40 of an upload in parts.
    pub const LONGEST_ETAG: usize = 40;
}

/// One resource to work on now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// `stack/LogicalId`.
    pub id: String,
    /// The resource type, as a reader of the execution history wants it.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// The plan's step that emitted this item; its result carries it back.
    pub step: u64,
    /// Starts at 1; moves only when a final answer may be retried. Part of every client token.
    pub attempt: u32,
    /// When the first step of this attempt was planned.
    pub started_at: Millis,
    /// Look only, change nothing.
    #[serde(default)]
    pub look: bool,
    /// What the step before asked to be told.
    #[serde(default)]
    pub memo: Option<Value>,
    /// How long the step may wait for its delete, in milliseconds, before it answers that it is pending.
    #[serde(default)]
    pub patience_ms: Millis,
    /// Where the row lies, when its state is large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

/// What one step came to. At most [`StepResult::MAX_BYTES`] as JSON, so that a wave of 100 fits a state's payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    /// `stack/LogicalId`.
    pub id: String,
    /// The step of the plan that asked.
    pub step: u64,
    /// Where the resource stands.
    pub outcome: Outcome,
    /// Found gone rather than deleted by this step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
    /// A row code (`FenceShut`, `DataGuard`, an AWS error code …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// For people; display-safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Milliseconds until the next look is worth it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_again_ms: Option<u64>,
    /// What the next step needs to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memo: Option<Value>,
    /// How long the step took, in milliseconds.
    #[serde(default)]
    pub ms: u64,
    /// Deliveries before this one (`$$.State.RetryCount`): above 0, an earlier one may still be running.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry: u32,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl StepResult {
    /// The largest result, in bytes of JSON.
    pub const MAX_BYTES: usize = 1024;
    /// The largest memo, in bytes of JSON; the reason gives way to it.
    pub const MAX_MEMO_BYTES: usize = 512;

    /// The one constructor: makes the texts display-safe and cuts the reason so that the whole fits.
    /// A memo over its limit makes the result `failed`: losing it would lose a request token.
    pub fn new(id: &str, step: u64, outcome: Outcome) -> Self {
        StepResult {
            id: id.to_owned(),
            step,
            outcome,
            already: false,
            code: None,
            reason: None,
            look_again_ms: None,
            memo: None,
            ms: 0,
            retry: 0,
        }
    }

    /// Adds code and reason, display-safe.
    pub fn because(mut self, code: &str, reason: &str) -> Self {
        self.code = Some(text::cut(&text::display(code), 64));
        self.reason = Some(text::display(reason)).filter(|r| !r.is_empty());
        self
    }

    /// Brings the result under [`Self::MAX_BYTES`].
    pub fn fit(mut self) -> Self {
        if self.memo.as_ref().is_some_and(|m| m.to_string().len() > Self::MAX_MEMO_BYTES) {
            self.memo = None;
            self.outcome = Outcome::Failed;
            self = self.because("MemoTooLarge", "the step's memo is over 512 bytes");
        }
        let size = |r: &Self| serde_json::to_vec(r).map_or(usize::MAX, |v| v.len());
        let mut limit = self.reason.as_ref().map_or(0, String::len);
        while size(&self) > Self::MAX_BYTES && limit > 0 {
            limit = limit.saturating_sub((size(&self) - Self::MAX_BYTES).max(16));
            self.reason = self.reason.map(|r| text::cut(&r, limit));
        }
        self
    }
}
