//! How a teardown or a sweep ended, for those who did not watch: an event with a versioned detail, and a message for
//! people. Made of what Step Functions tells of the execution; no property values, no external id.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::crash::Crash;
use crate::request::{account_of_role, is_account, is_region, is_stack_name};
use crate::run::{ExecutionArn, run_id};
use crate::{Ending, Millis, text};

mod letter;

/// The version of the detail. Members may be added under the same version; none is renamed or removed.
pub const DETAIL_VERSION: u64 = 1;
/// SNS takes a subject of less than 100 characters (`Publish` in its API reference).
const MOST_SUBJECT: usize = 99;
/// What helps a sweep that did not come to its end.
const SWEEP_AGAIN: &str =
    "see that none of its teardowns runs on, then sweep again to finish: each stack's own execution says what became of it";

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
    let told = told(finished, is_sweep, &input);
    let ending = told["result"].as_str().and_then(Ending::from_name).unwrap_or(Ending::Error);
    let mut message = told["message"].as_str().map_or_else(|| ending.meaning().to_owned(), text::display);
    if let Ok(crash) = Crash::deserialize(&told["crash"]) {
        message += &format!(": {crash}");
    }

    let mut detail = json!({
        "version": DETAIL_VERSION, "app": app, "execution": finished.execution, "status": text::ascii(&finished.status),
        "outcome": ending.outcome(), "result": ending.name(), "exitClass": ending.exit_class(), "message": message,
        "todo": told["todo"].as_str().map_or_else(|| ending.todo().to_owned(), text::display),
        "startedAt": text::iso(finished.started_at),
    });
    let copied: &[&str] = if is_sweep { &["sweepId", "name", "counts", "places"] } else { &["runId", "counts", "report"] };
    for name in copied {
        if let Some(value) = told.get(*name).filter(|value| !value.is_null()) {
            detail[*name] = value.clone();
        }
    }
    if is_sweep && ending == Ending::Error && detail.get("sweepId").is_none() {
        // Where it crashed nobody says it, but what it wrote lies under it.
        detail["sweepId"] = run_id(&finished.execution, finished.started_at).into();
    }
    let about = match is_sweep {
        true => subject_of_sweep(&input, &mut detail),
        false => subject_of_teardown(&input, &told, arn.account, &mut detail),
    };
    Some(News {
        detail_type: if is_sweep { "Ebb Sweep Ended" } else { "Ebb Teardown Ended" }.to_owned(),
        subject: subject(&format!("{app}: {about}"), ending),
        text: if is_sweep { letter::of_sweep(&about, &detail, &told) } else { letter::of_teardown(&about, &detail) },
        detail,
    })
}

/// However long the names are, the result is there.
fn subject(about: &str, ending: Ending) -> String {
    const CUT: &str = "...";
    let (about, result) = (text::ascii(about), format!(": {}", ending.name()));
    let room = MOST_SUBJECT - result.len();
    match about.len() <= room {
        true => about + &result,
        false => about.chars().take(room - CUT.len()).collect::<String>() + CUT + &result,
    }
}

/// The output, or the Cause when it is one of ours, or what the status says.
fn told(finished: &Finished, is_sweep: bool, input: &Value) -> Value {
    let read = |text: &Option<String>| {
        text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_object)
    };
    match finished.status.as_str() {
        "SUCCEEDED" => read(&finished.output).unwrap_or_default(),
        // A stopped execution has whatever Cause the one who stopped it wrote.
        "ABORTED" => interrupted(finished, is_sweep, input, "was stopped"),
        "TIMED_OUT" => interrupted(finished, is_sweep, input, "took longer than its state machine allows"),
        _ => read(&finished.cause).filter(|cause| cause["result"].is_string()).unwrap_or_else(|| {
            let error = finished.error.as_deref().unwrap_or("no error name");
            let message = format!("the execution failed with {}", text::display(error));
            match is_sweep {
                true => json!({"result": Ending::Error.name(), "message": message, "todo": SWEEP_AGAIN}),
                false => json!({"result": Ending::Error.name(), "message": message}),
            }
        }),
    }
}

/// Nobody words the end of an execution that was stopped, so what it was is derived as Check does it.
fn interrupted(finished: &Finished, is_sweep: bool, input: &Value, how: &str) -> Value {
    let id = run_id(&finished.execution, finished.started_at);
    let result = Ending::Interrupted.name();
    let whose = if is_sweep { "sweepId" } else { "runId" };
    match is_sweep {
        _ if request(input)["dryRun"] == true => {
            json!({"result": result, whose: id, "message": format!("the look {how}; nothing was changed")})
        }
        true => json!({
            "result": result, whose: id,
            "message": format!("the sweep {how}: it begins no further stack; each teardown that it had begun is told by itself"),
            "todo": SWEEP_AGAIN,
        }),
        false => json!({
            "result": result, whose: id,
            "message": format!("the execution {how}; what it had not begun is kept: if it had the lock, its keeper settles it and frees the lock within minutes"),
        }),
    }
}

/// The request as it was written, or as it came with the account that asked.
fn request(input: &Value) -> &Value {
    input.get("request").unwrap_or(input)
}

/// What the run knew of itself; of one that was refused before it knew, and of one that was stopped, what its input says.
fn subject_of_teardown(input: &Value, told: &Value, home: &str, detail: &mut Value) -> String {
    if let Some(account) = input["requestedBy"].as_str().filter(|account| is_account(account)) {
        detail["requestedBy"] = account.into();
    }
    let request = request(input);
    let known = |name: &str, is: fn(&str) -> bool| {
        [&told[name], &request[name]].into_iter().filter_map(Value::as_str).find(|value| is(value))
    };
    let (stack, region) = (known("stack", is_stack_name), known("region", is_region));
    let role = request["target"]["roleArn"].as_str().map(account_of_role).filter(|account| is_account(account));
    let account = told["account"].as_str().filter(|account| is_account(account)).or(role);
    let account = account.or(stack.filter(|_| request["target"].is_null()).map(|_| home));
    for (name, value) in [("stack", stack), ("region", region), ("account", account), ("targetAccount", role)] {
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

#[cfg(test)]
mod tests;
