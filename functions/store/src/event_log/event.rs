//! One event as cdkd writes it: metadata and errors only, never properties, outputs or resolved values. The fields
//! stand in cdkd's order; texts are made display-safe here.

use ebb_core::{Millis, StackKey, text};
use serde::Serialize;

use super::VERSION;

/// What happened. Rollbacks are never ours to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum EventType {
    RunStarted,
    RunFinished,
    ResourceStarted,
    ResourceSucceeded,
    ResourceFailed,
    ResourceRetained,
    ResourceSkipped,
    ResourceGuardIndeterminate,
}

/// How a run ended, for readers of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RunResult {
    /// Clean.
    Succeeded,
    /// Anything else.
    Failed,
}

/// What a run did to resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Always 0: a teardown creates nothing.
    pub created: u32,
    /// Always 0.
    pub updated: u32,
    /// Gone, already or by us.
    pub deleted: u32,
    /// Failed or blocked.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// Skipped.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Counts {
    /// Of a teardown.
    pub fn of(deleted: u32, failed: u32, skipped: u32) -> Self {
        Counts { deleted, failed, skipped, ..Counts::default() }
    }
}

/// An error of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventError {
    /// The error's or row's name.
    pub name: String,
    /// What happened; redacted by the caller, made display-safe and cut here.
    pub message: String,
    /// The AWS error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws_error_code: Option<String>,
    /// The AWS request id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl EventError {
    /// An error with display-safe texts.
    pub fn new(name: &str, message: &str, aws_error_code: Option<&str>, request_id: Option<&str>) -> Self {
        EventError {
            name: text::display(name),
            message: text::display(message),
            aws_error_code: aws_error_code.map(text::display),
            request_id: request_id.map(text::display),
        }
    }
}

/// One line of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    timestamp: String,
    event_type: EventType,
    stack_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cdkd_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<RunResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provisioned_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guard: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<EventError>,
}

impl Event {
    fn new(at: Millis, event_type: EventType, stack: &str) -> Self {
        Event {
            timestamp: text::iso(at),
            event_type,
            stack_name: text::display(stack),
            command: None,
            region: None,
            cdkd_version: None,
            result: None,
            counts: None,
            operation: None,
            logical_id: None,
            resource_type: None,
            physical_id: None,
            provisioned_by: None,
            duration_ms: None,
            reason: None,
            guard: None,
            error: None,
        }
    }

    /// The first event of a run.
    pub fn run_started(at: Millis, key: &StackKey) -> Self {
        Event {
            command: Some("destroy"),
            region: Some(text::display(&key.region)),
            cdkd_version: Some(VERSION),
            ..Event::new(at, EventType::RunStarted, &key.stack)
        }
    }

    /// The last event of a run. A failed one has an error.
    pub fn run_finished(at: Millis, stack: &str, result: RunResult, counts: Counts, ms: u64, error: Option<EventError>) -> Self {
        Event {
            result: Some(result),
            counts: Some(counts),
            duration_ms: Some(ms),
            error,
            ..Event::new(at, EventType::RunFinished, stack)
        }
    }

    /// What happened to a resource; one of the `Resource…` types.
    pub fn resource(at: Millis, event_type: EventType, stack: &str, logical_id: &str, resource_type: &str) -> Self {
        Event {
            operation: Some("DELETE"),
            logical_id: Some(text::display(logical_id)),
            resource_type: Some(text::display(resource_type)),
            ..Event::new(at, event_type, stack)
        }
    }

    /// With the physical id.
    pub fn physical_id(mut self, id: &str) -> Self {
        self.physical_id = Some(text::display(id));
        self
    }

    /// With the road that made the resource, `sdk` or `cc-api`.
    pub fn provisioned_by(mut self, road: &str) -> Self {
        self.provisioned_by = Some(text::display(road));
        self
    }

    /// With how long it took.
    pub fn took(mut self, ms: u64) -> Self {
        self.duration_ms = Some(ms);
        self
    }

    /// With the reason of a skip or of an indeterminate guard.
    pub fn reason(mut self, reason: &str) -> Self {
        self.reason = Some(text::display(reason));
        self
    }

    /// With the guard that could not tell.
    pub fn guard(mut self, guard: &str) -> Self {
        self.guard = Some(text::display(guard));
        self
    }

    /// With the error of a failure.
    pub fn failed_with(mut self, error: EventError) -> Self {
        self.error = Some(error);
        self
    }
}
