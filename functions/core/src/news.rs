//! How a teardown or a sweep ended, for those who did not watch: an event with a versioned detail, and a message for
//! people. Made of what Step Functions tells of the execution; no property values, no external id.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::request::{is_account, is_region, is_stack_name};
use crate::run::ExecutionArn;
use crate::{Ending, Millis, text};

/// The version of the detail. Members may be added under the same version; none is renamed or removed.
pub const DETAIL_VERSION: u64 = 1;
/// SNS takes a subject of at most 100 characters.
const MOST_SUBJECT: usize = 100;

/// An execution that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its ARN.
    pub execution: String,
    /// `SUCCEEDED`, `FAILED`, `TIMED_OUT` or `ABORTED`.
    pub status: String,
    /// Its input, JSON text.
    pub input: String,
    /// The output of one that succeeded, JSON text.
    pub output: Option<String>,
    /// The error name of one that failed.
    pub error: Option<String>,
    /// The Cause of one that failed.
    pub cause: Option<String>,
    /// When it began.
    pub started_at: Millis,
}

/// What is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct News {
    /// `Ebb Teardown Ended` or `Ebb Sweep Ended`.
    pub detail_type: String,
    /// The event's detail.
    pub detail: Value,
    /// One line, plain ASCII.
    pub subject: String,
    /// The same for people.
    pub text: String,
}

/// How the execution ended; `None` when the ARN is none.
pub fn news(finished: &Finished, app: &str) -> Option<News> {
    let arn = ExecutionArn::parse(&finished.execution)?;
    let is_sweep = arn.machine == format!("{app}-sweep");
    let input: Value = serde_json::from_str(&finished.input).unwrap_or_default();
    let told = told(finished);
    let ending = told["result"].as_str().and_then(Ending::from_name).unwrap_or(Ending::Error);
    let message = told["message"].as_str().map_or_else(|| ending.meaning().to_owned(), text::display);

    let mut detail = json!({
        "version": DETAIL_VERSION, "app": app, "execution": finished.execution, "status": text::ascii(&finished.status),
        "outcome": ending.outcome(), "result": ending.name(), "exitClass": ending.exit_class(), "message": message,
        "todo": ending.todo(), "startedAt": text::iso(finished.started_at),
    });
    let copied: &[&str] = if is_sweep { &["sweepId", "name", "counts", "places"] } else { &["runId", "counts", "report"] };
    for name in copied {
        if let Some(value) = told.get(*name).filter(|value| !value.is_null()) {
            detail[*name] = value.clone();
        }
    }
    let about = match is_sweep {
        true => subject_of_sweep(&input, &mut detail),
        false => subject_of_teardown(&input, &mut detail),
    };
    let subject = text::ascii(&format!("{app}: {about}: {}", ending.name()));
    Some(News {
        detail_type: if is_sweep { "Ebb Sweep Ended" } else { "Ebb Teardown Ended" }.to_owned(),
        subject: subject.chars().take(MOST_SUBJECT).collect(),
        text: text_of(&about, &detail, &told),
        detail,
    })
}

/// The output, or the Cause when it is one of ours, or what the status says.
fn told(finished: &Finished) -> Value {
    let read = |text: &Option<String>| {
        text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_object)
    };
    let or_interrupted = || json!({"result": Ending::Interrupted.name()});
    match finished.status.as_str() {
        "SUCCEEDED" => read(&finished.output).unwrap_or_default(),
        // A stopped execution has whatever Cause the one who stopped it wrote.
        "ABORTED" | "TIMED_OUT" => or_interrupted(),
        _ => read(&finished.cause).filter(|cause| cause["result"].is_string()).unwrap_or_else(|| {
            let error = finished.error.as_deref().unwrap_or("no error name");
            json!({"result": Ending::Error.name(), "message": format!("the execution failed with {}", text::display(error))})
        }),
    }
}

fn subject_of_teardown(input: &Value, detail: &mut Value) -> String {
    if let Some(account) = input["requestedBy"].as_str().filter(|account| is_account(account)) {
        detail["requestedBy"] = account.into();
    }
    let request = input.get("request").unwrap_or(input);
    let stack = request["stack"].as_str().filter(|stack| is_stack_name(stack));
    let region = request["region"].as_str().filter(|region| is_region(region));
    let role = request["target"]["roleArn"].as_str().map(crate::request::account_of_role).filter(|account| is_account(account));
    for (name, value) in [("stack", stack), ("region", region), ("targetAccount", role)] {
        if let Some(value) = value {
            detail[name] = value.into();
        }
    }
    match (stack, region) {
        (Some(stack), Some(region)) => format!("{stack} in {region}"),
        (Some(stack), None) => stack.to_owned(),
        _ => "a request that names no stack".to_owned(),
    }
}

fn subject_of_sweep(input: &Value, detail: &mut Value) -> String {
    let name = input["name"].as_str().map(|name| text::cut(&text::ascii(name), 64));
    match name {
        Some(name) => {
            detail["name"] = name.as_str().into();
            format!("sweep {name}")
        }
        None => "a sweep without a name".to_owned(),
    }
}

fn text_of(about: &str, detail: &Value, told: &Value) -> String {
    let line = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
    let mut lines = vec![format!("{about}: {} ({})", line("result"), line("outcome")), String::new(), line("message")];
    if detail["exitClass"] != 0 {
        lines.push(format!("What to do: {}", line("todo")));
    }
    let stays = told["stacks"].as_array().into_iter().flatten().filter(|s| s["message"].is_string()).take(20);
    lines.extend(stays.map(|s| {
        let part = |name: &str| text::display(s[name].as_str().unwrap_or_default());
        format!("  {} in {}: {} - {}", part("stack"), part("region"), part("result"), part("message"))
    }));
    if let Some(report) = detail["report"]["html"].as_str() {
        lines.push(format!("Report: {report}"));
    }
    lines.push(format!("Execution: {}", line("execution")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(machine: &str, status: &str, input: Value) -> Finished {
        Finished {
            execution: format!("arn:aws:states:us-east-1:123456789012:execution:ebb-{machine}:x"),
            status: status.into(),
            input: input.to_string(),
            output: None,
            error: None,
            cause: None,
            started_at: 1_786_786_212_123,
        }
    }

    fn request() -> Value {
        json!({"stack": "OrdersApi", "region": "us-west-2", "confirm": "OrdersApi",
            "target": {"roleArn": "arn:aws:iam::210987654321:role/t", "externalId": "hunter2"}})
    }

    /// The schema that others build on: a change here is a change of the version.
    #[test]
    fn a_clean_teardown_is_told_with_its_counts_and_report() {
        let output = json!({"result": "Deleted", "exitClass": 0, "runId": "r-1", "counts": {"deleted": 4},
            "report": {"json": "s3://b/j", "html": "s3://b/h"}});
        let news =
            news(&Finished { output: Some(output.to_string()), ..finished("teardown", "SUCCEEDED", request()) }, "ebb").unwrap();
        assert_eq!(news.detail_type, "Ebb Teardown Ended");
        assert_eq!(
            news.detail,
            json!({
                "version": 1, "app": "ebb", "execution": "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:x",
                "status": "SUCCEEDED", "outcome": "completed", "result": "Deleted", "exitClass": 0,
                "message": "every resource is gone or retained by its policy; the record is removed", "todo": "nothing",
                "startedAt": "2026-08-15T09:30:12.123Z", "runId": "r-1", "counts": {"deleted": 4},
                "report": {"json": "s3://b/j", "html": "s3://b/h"}, "stack": "OrdersApi", "region": "us-west-2",
                "targetAccount": "210987654321",
            })
        );
        assert_eq!(news.subject, "ebb: OrdersApi in us-west-2: Deleted");
        assert!(news.text.starts_with("OrdersApi in us-west-2: Deleted (completed)\n") && news.text.contains("Report: s3://b/h"));
        assert!(!serde_json::to_string(&news).unwrap().contains("hunter2"));
    }

    #[test]
    fn partial_refused_interrupted_and_broken_ends_are_told_apart() {
        let told = |status: &str, error: Option<&str>, cause: Option<Value>| {
            let cause = cause.map(|cause| cause.to_string());
            let ended = Finished { error: error.map(str::to_owned), cause, ..finished("teardown", status, request()) };
            let news = news(&ended, "ebb").unwrap();
            (news.detail["outcome"].clone(), news.detail["result"].clone(), news.detail["message"].as_str().unwrap().to_owned())
        };
        let cause = |result: &str| Some(json!({"result": result, "message": "what happened", "exitClass": 1, "todo": "x"}));
        for (result, outcome) in [("Partial", "partial"), ("Refused", "refused"), ("LockHeld", "refused"), ("LockLost", "failed")]
        {
            let said = told("FAILED", Some(result), cause(result));
            assert_eq!(said, (json!(outcome), json!(result), "what happened".to_owned()));
        }
        for status in ["ABORTED", "TIMED_OUT"] {
            let said = told(status, Some("Deleted"), cause("Deleted"));
            assert_eq!((said.0, said.1), (json!("interrupted"), json!("Interrupted")), "whoever stops it writes the cause");
        }
        let said = told("FAILED", Some("States.Runtime"), Some(json!("not ours")));
        assert_eq!(said, (json!("failed"), json!("Error"), "the execution failed with States.Runtime".to_owned()));
    }

    #[test]
    fn an_event_is_told_with_the_account_that_asked() {
        let input = json!({"requestedBy": "210987654321", "request": request()});
        let news = news(&finished("teardown", "ABORTED", input), "ebb").unwrap();
        assert_eq!((&news.detail["requestedBy"], &news.detail["stack"]), (&json!("210987654321"), &json!("OrdersApi")));
    }

    #[test]
    fn a_sweep_is_told_with_what_stays() {
        let cause = json!({"result": "Partial", "sweepId": "s-1", "name": "old", "message": "of 3 stacks: 1 failed", "counts": {"failed": 1},
            "places": [{"report": "s3://b/r"}], "stacks": [{"stack": "Web", "region": "us-east-1", "result": "LockHeld", "message": "held by jo"}]});
        let ended = Finished { cause: Some(cause.to_string()), ..finished("sweep", "FAILED", json!({"name": "old"})) };
        let news = news(&ended, "ebb").unwrap();
        assert_eq!((news.detail_type.as_str(), news.subject.as_str()), ("Ebb Sweep Ended", "ebb: sweep old: Partial"));
        assert_eq!((&news.detail["sweepId"], &news.detail["name"]), (&json!("s-1"), &json!("old")));
        assert!(news.detail.get("stacks").is_none(), "an event stays small; the reports have all of it");
        assert!(news.text.contains("Web in us-east-1: LockHeld - held by jo"), "{}", news.text);
    }

    /// Whatever was started, with whatever input, there is something to tell, and a subject that SNS takes.
    #[test]
    fn strange_inputs_are_told_without_what_is_strange() {
        for input in ["", "{", "7", "null", r#"{"stack": "../x", "region": 7}"#, r#"{"name": "é\u0007"}"#] {
            for machine in ["teardown", "sweep"] {
                let ended = Finished { input: input.into(), ..finished(machine, "FAILED", json!(null)) };
                let news = news(&ended, "ebb").unwrap();
                assert!(news.detail.get("stack").is_none());
                assert!(news.subject.is_ascii() && news.subject.len() <= 100 && !news.subject.contains('\n'), "{}", news.subject);
            }
        }
        assert_eq!(news(&Finished { execution: "x".into(), ..finished("teardown", "FAILED", json!({})) }, "ebb"), None);
    }
}
