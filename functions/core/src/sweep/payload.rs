//! What the sweep machine and the planner say to each other; `docs/architecture.md` is the page for people.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Found, Sweep};
use crate::crash::Crash;
use crate::record::Counts;
use crate::{Ending, Refusal, text};

/// The longest message without an input to paste, in bytes: results of a wave travel together.
const MOST_MESSAGE: usize = 300;
/// The largest result in bytes of JSON.
const MOST_RESULT: usize = 2048;

/// Answer of `sweep`: may this execution sweep, and where?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepAnswer {
    /// `select` or `refuse`.
    pub next: SweepNext,
    /// The sweep, unless refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// Numbers of its places.
    pub places: Vec<usize>,
    /// Error name of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its Cause, JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// What a sweep does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SweepNext {
    /// Choose the stacks of each place.
    Select,
    /// Tear the groups down.
    Sweep,
    /// Fail with the error.
    Refuse,
}

/// Asks for the stacks of a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelectRequest {
    /// The sweep.
    pub sweep: Sweep,
    /// Which of its places.
    pub place: usize,
}

/// What a place came to: how many were chosen, or why it could not be read. The whole lies in the bucket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selected {
    /// Which place.
    pub place: usize,
    /// Where its bucket is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    /// How many stacks were chosen.
    pub chosen: usize,
    /// How many were not.
    pub left: usize,
    /// Into how many groups the chosen ones fall.
    pub groups: usize,
    /// Error name, when the place could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Selected {
    /// A place that could not be read: the others are swept all the same.
    pub fn failed(place: usize, refusal: &Refusal) -> Self {
        Selected { place, ..Selected::default() }.not_read(refusal.ending.name(), &refusal.message)
    }

    /// What was chosen, and that it cannot be read any more.
    pub fn not_read(self, error: &str, message: &str) -> Self {
        Selected { error: Some(error.to_owned()), message: Some(text::shorten(message, MOST_MESSAGE)), ..self }
    }

    /// A place over which the planner failed. What it answered is told by itself; of a crash nothing is known but the name
    /// that Lambda or Step Functions gives it.
    pub fn crashed(request: &UnreadRequest, app: &str) -> Self {
        let UnreadRequest { place, crash } = request;
        let name = crash.name();
        let logs = format!("look into the log group /aws/lambda/{app}-planner");
        let message = match (Ending::from_name(&name), crash.said()) {
            (Some(_), Some(said)) => format!("{said}; it was tried several times: {logs}"),
            _ => format!("the planner failed while it read the place, with {crash}; {logs}"),
        };
        Selected { place: *place, error: Some(name), message: Some(message), ..Selected::default() }
    }
}

/// Asks for the words for a place over which the planner failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnreadRequest {
    /// Which place.
    pub place: usize,
    /// What Step Functions says of the failure.
    pub crash: Crash,
}

/// Asks whether what was chosen may be swept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdmitRequest {
    /// The sweep.
    pub sweep: Sweep,
    /// What each place came to.
    pub selected: Vec<Selected>,
}

/// Answer of `admit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdmitAnswer {
    /// `sweep` or `refuse`.
    pub next: SweepNext,
    /// The sweep, which knows now where its buckets are.
    pub sweep: Sweep,
    /// Every group of every place.
    pub groups: Vec<GroupRef>,
    /// Error name of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its Cause, JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// A group of connected stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRef {
    /// Its place.
    pub place: usize,
    /// Its number there.
    pub group: usize,
}

/// Asks what of a group can be torn down now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaveRequest {
    /// The sweep.
    pub sweep: Sweep,
    /// Which group.
    #[serde(flatten)]
    pub group: GroupRef,
    /// The step that the machine knows; 0 at first.
    pub step: u64,
    /// What the teardowns of the last wave came to.
    #[serde(default)]
    pub results: Vec<StackResult>,
}

/// Answer of `wave`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaveAnswer {
    /// `wave` or `done`.
    pub next: WaveNext,
    /// The group's step; the next request carries it back.
    pub step: u64,
    /// Teardowns to start.
    pub items: Vec<Item>,
}

/// What a group does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WaveNext {
    /// Tear the items down.
    Wave,
    /// Nothing of the group is left to start.
    Done,
}

/// One teardown to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Number of the stack in its place's selection.
    pub n: usize,
    /// The group's step.
    pub step: u64,
    /// Name of the execution.
    pub name: String,
    /// Its input.
    pub request: Value,
}

/// How the execution of an item ended, as the machine hears of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedRequest {
    /// Number of the stack.
    pub n: usize,
    /// The item's step.
    pub step: u64,
    /// The output of a teardown that succeeded.
    #[serde(default)]
    pub output: Option<Value>,
    /// The error that Step Functions gives a failed one, or a start that failed.
    #[serde(default)]
    pub error: Option<String>,
    /// Its Cause.
    #[serde(default)]
    pub cause: Option<String>,
}

/// What came of a stack. At most 2 KiB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StackResult {
    /// Number of the stack.
    pub n: usize,
    /// The item's step.
    pub step: u64,
    /// Result or error name.
    pub result: Ending,
    /// The run, when it became one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What came of its resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// Its report, `s3://bucket/key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// What happened, when it did not end well; display-safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What a dry run's look found that would refuse to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarded: Option<usize>,
}

impl StackResult {
    /// A result with nothing but its name and a message.
    pub fn of(n: usize, step: u64, result: Ending, message: &str) -> Self {
        let message = Some(text::display(message)).filter(|m| !m.is_empty());
        StackResult { n, step, result, run_id: None, counts: None, report: None, message, guarded: None }.fitted()
    }

    /// With a message that leaves the result in its bounds. An input to paste that ends it, as the one that removes a dead
    /// lock, is longer than prose may be.
    fn fitted(mut self) -> Self {
        let Some(full) = self.message.take() else { return self };
        let mut most = if full.ends_with('}') { full.len() } else { MOST_MESSAGE };
        loop {
            self.message = Some(text::shorten(&full, most));
            let bytes = serde_json::to_string(&self).map_or(usize::MAX, |json| json.len());
            if bytes <= MOST_RESULT || most == 0 {
                return self;
            }
            most = most.saturating_sub(bytes - MOST_RESULT);
        }
    }

    /// Reads how an execution ended. Step Functions puts the description of a failed child into the Cause; an engine that
    /// passes the child's own error and Cause on is understood too.
    pub fn read(ended: &EndedRequest) -> Self {
        let (n, step) = (ended.n, ended.step);
        if let Some(output) = &ended.output {
            return Self::of_output(n, step, output, None);
        }
        let cause: Value = ended.cause.as_deref().and_then(|cause| serde_json::from_str(cause).ok()).unwrap_or_default();
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        if cause.get("result").is_some() {
            return Self::of_output(n, step, &cause, None);
        }
        match text(&cause, "Status").as_deref() {
            Some("ABORTED" | "TIMED_OUT") => Self::of(n, step, Ending::Interrupted, "its execution was stopped or timed out"),
            Some(_) => {
                let inner = text(&cause, "Cause").and_then(|inner| serde_json::from_str(&inner).ok()).unwrap_or_default();
                Self::of_output(n, step, &inner, text(&cause, "Error").as_deref())
            }
            None => {
                let error = ended.error.as_deref().unwrap_or("no answer");
                Self::of(n, step, Ending::Error, &format!("its teardown could not be started: {error}"))
            }
        }
    }

    /// From a run's output or the Cause of a failed one.
    fn of_output(n: usize, step: u64, output: &Value, error: Option<&str>) -> Self {
        let text = |value: &Value| value.as_str().map(text::display);
        let name = error.or(output["result"].as_str());
        let known = name.and_then(Ending::from_name);
        let guarded = output["plan"]["guarded"].as_array().map(|list| {
            list.len() + output["plan"]["more"]["guarded"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
        });
        let counts: Option<Counts> = serde_json::from_value(output["counts"].clone()).ok();
        let message = match known {
            // What ended well needs no words, but a look that found what would not.
            Some(ending) if ending.succeeds() && guarded.unwrap_or(0) == 0 && counts.is_none_or(|c| c.is_clean()) => None,
            Some(ending) => text(&output["message"]).map(|message| match Crash::deserialize(&output["crash"]) {
                Ok(crash) if ending == Ending::Error => format!("{message}: {crash}"),
                _ => message,
            }),
            None => Some(format!("its teardown ended with {}", text::cut(&text::display(name.unwrap_or("no result")), 64))),
        };
        StackResult {
            n,
            step,
            result: known.unwrap_or(Ending::Error),
            run_id: text(&output["runId"]).map(|id| text::cut(&id, 64)),
            counts,
            report: output["report"]["html"].as_str().filter(|key| key.len() <= 400).map(str::to_owned),
            message,
            guarded,
        }
        .fitted()
    }

    /// Whether the stack is gone, so that nothing of it holds anybody.
    pub fn is_gone(&self) -> bool {
        self.result != Ending::DryRun && (self.result.succeeds() || self.result == Ending::StackNotFound)
    }
}

/// Asks for the summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SumUpRequest {
    /// The sweep.
    pub sweep: Sweep,
    /// What each place came to.
    pub selected: Vec<Selected>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ended(output: Option<Value>, error: Option<&str>, cause: Option<Value>) -> StackResult {
        let cause = cause.map(|cause| cause.as_str().map_or_else(|| cause.to_string(), str::to_owned));
        StackResult::read(&EndedRequest { n: 3, step: 7, output, error: error.map(str::to_owned), cause })
    }

    #[test]
    fn a_teardown_that_succeeded_is_read_from_its_output() {
        let output = json!({"result": "Deleted", "exitClass": 0, "runId": "r-1", "report": {"json": "s3://b/j", "html": "s3://b/h"},
            "counts": {"deleted": 4, "retained": 1, "skipped": 0, "failed": 0, "blocked": 0}});
        let result = ended(Some(output), None, None);
        assert_eq!((result.n, result.step, result.result, result.is_gone()), (3, 7, Ending::Deleted, true));
        assert_eq!((result.run_id.as_deref(), result.report.as_deref()), (Some("r-1"), Some("s3://b/h")));
        assert_eq!(result.counts.unwrap().deleted, 4);
    }

    /// AWS describes the failed child in the Cause, an emulator hands the child's own error on.
    #[test]
    fn a_teardown_that_failed_is_read_from_either_form_of_its_cause() {
        let inner = json!({"result": "Partial", "exitClass": 2, "runId": "r-1", "message": "1 failed", "todo": "mend"});
        let described = json!({"ExecutionArn": "a", "Status": "FAILED", "Error": "Partial", "Cause": inner.to_string()});
        for result in [ended(None, Some("States.TaskFailed"), Some(described)), ended(None, Some("Partial"), Some(inner))] {
            assert_eq!((result.result, result.is_gone(), result.message.as_deref()), (Ending::Partial, false, Some("1 failed")));
        }
    }

    #[test]
    fn a_stopped_a_strange_and_an_unstarted_teardown_are_told_apart() {
        let stopped = ended(None, Some("States.TaskFailed"), Some(json!({"Status": "ABORTED"})));
        assert_eq!(stopped.result, Ending::Interrupted);
        let strange =
            ended(None, Some("States.TaskFailed"), Some(json!({"Status": "FAILED", "Error": "States.Runtime", "Cause": "x"})));
        assert_eq!((strange.result, strange.message.as_deref()), (Ending::Error, Some("its teardown ended with States.Runtime")));
        let unstarted = ended(None, Some("StepFunctions.ExecutionLimitExceededException"), Some(json!("too many")));
        assert_eq!(unstarted.result, Ending::Error);
        assert!(unstarted.message.unwrap().ends_with("could not be started: StepFunctions.ExecutionLimitExceededException"));
    }

    #[test]
    fn a_stack_that_was_gone_before_its_turn_holds_nobody_and_a_look_frees_nobody() {
        let gone = json!({"Status": "FAILED", "Error": "StackNotFound", "Cause": "{}"});
        assert!(ended(None, Some("States.TaskFailed"), Some(gone)).is_gone());
        assert!(!ended(Some(json!({"result": "DryRun"})), None, None).is_gone());
    }

    #[test]
    fn a_result_holds_at_most_two_kibibytes() {
        let input = format!(r#"{} {{"action":"{}"}}"#, "\"".repeat(600), "\"".repeat(400));
        for message in ["\"é".repeat(9_000), input, format!("{{\"{}}}", "\"".repeat(1_000))] {
            for report in ["s".repeat(9_000), "\"".repeat(400)] {
                let long = json!({"result": "Partial", "runId": "r", "message": message, "report": {"html": report}});
                let result = ended(Some(long), None, None);
                assert!(serde_json::to_string(&result).unwrap().len() <= 2048);
                assert!(result.message.unwrap().contains("… (cut)"), "a cut text says so");
            }
        }
    }

    /// A cut input is useless: whoever holds a dead lock is told with all of it.
    #[test]
    fn a_lock_that_is_held_is_told_with_the_whole_input_that_removes_it() {
        let input = json!({"action": "force-unlock", "stack": "S".repeat(128), "region": "ap-southeast-1", "bucket": "b".repeat(63),
            "prefix": "cdkd", "target": {"roleArn": format!("arn:aws:iam::210987654321:role/{}", "r".repeat(300)), "externalId": "<…>"}});
        let message =
            format!("the lock is held by {}. If the holder is dead, invoke the lock-keeper with {input}", "\"".repeat(256));
        let cause = json!({"result": "LockHeld", "runId": "20260815T093012123Z-1a2b3c4d", "message": message});
        let result = ended(None, Some("LockHeld"), Some(cause));
        assert_eq!(result.message.as_deref(), Some(message.as_str()));
        let crowded =
            json!({"result": "LockHeld", "message": message, "report": {"html": "\"".repeat(400)}, "counts": Counts::default()});
        let result = ended(Some(crowded), None, None);
        let said = result.message.unwrap();
        assert!(said.starts_with("the lock is held by \"\"\"") && said.ends_with(&format!("… (cut) {input}")), "{said}");
    }

    #[test]
    fn a_crash_is_told_with_its_name_and_what_ended_well_without_words() {
        let crash = json!({"Error": "Lambda.Unknown", "Cause": json!({"errorMessage": "exit status 1"}).to_string()});
        let cause = json!({"result": "Error", "message": "a part of Ebb failed", "crash": crash});
        let result = ended(None, Some("Error"), Some(cause));
        assert_eq!(result.message.as_deref(), Some("a part of Ebb failed: Lambda.Unknown: exit status 1"));
        let gone = json!({"result": "Deleted", "message": "destroyed: 4 deleted"});
        assert_eq!(ended(Some(gone), None, None).message, None);
        let look =
            json!({"result": "DryRun", "message": "1 guarded", "plan": {"guarded": [{"id": "S/A"}], "more": {"guarded": 2}}});
        let look = ended(Some(look), None, None);
        assert_eq!((look.message.as_deref(), look.guarded), (Some("1 guarded"), Some(3)));
        let look = json!({"result": "DryRun", "message": "1 left", "plan": {"guarded": []}, "counts": {"deleted": 0, "retained": 1, "skipped": 0, "failed": 0, "blocked": 1}});
        let look = ended(Some(look), None, None);
        assert_eq!((look.message.as_deref(), look.guarded), (Some("1 left"), Some(0)));
    }

    #[test]
    fn a_place_over_which_the_planner_failed_says_what_lambda_says_and_where_to_look() {
        let unread = |error: &str, cause: &str| {
            let crash = Crash { error: error.into(), cause: Some(cause.into()) };
            let selected = Selected::crashed(&UnreadRequest { place: 2, crash }, "ebb");
            assert_eq!((selected.place, selected.chosen), (2, 0));
            (selected.error.unwrap(), selected.message.unwrap())
        };
        let logs = "look into the log group /aws/lambda/ebb-planner";
        let (error, message) = unread("Sandbox.Timedout", r#"{"errorMessage": "Task timed out after 80.00 seconds"}"#);
        assert_eq!(error, "Sandbox.Timedout");
        let said = "the planner failed while it read the place, with Sandbox.Timedout: Task timed out after 80.00 seconds";
        assert_eq!(message, format!("{said}; {logs}"));
        let (error, message) = unread("States.Timeout", "");
        assert_eq!(
            (error.as_str(), message),
            ("States.Timeout", format!("the planner failed while it read the place, with States.Timeout; {logs}"))
        );
        let (error, message) = unread("Error", r#"{"errorType": "Error", "errorMessage": "LIST cdkd/: SlowDown"}"#);
        assert_eq!((error.as_str(), message), ("Error", format!("LIST cdkd/: SlowDown; it was tried several times: {logs}")));
    }
}
