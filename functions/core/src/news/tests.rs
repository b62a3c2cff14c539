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
    let output = json!({"result": "Deleted", "exitClass": 0, "runId": "r-1", "stack": "OrdersApi", "region": "us-west-2",
        "account": "210987654321", "counts": {"deleted": 4}, "report": {"json": "s3://b/j", "html": "s3://b/h"},
        "message": "destroyed: 4 deleted"});
    let news =
        news(&Finished { output: Some(output.to_string()), ..finished("teardown", "SUCCEEDED", request()) }, "ebb").unwrap();
    assert_eq!(news.detail_type, "Ebb Teardown Ended");
    assert_eq!(
        news.detail,
        json!({
            "version": 1, "app": "ebb", "execution": "arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:x",
            "status": "SUCCEEDED", "outcome": "completed", "result": "Deleted", "exitClass": 0,
            "message": "destroyed: 4 deleted", "todo": "nothing",
            "startedAt": "2026-08-15T09:30:12.123Z", "runId": "r-1", "counts": {"deleted": 4},
            "report": {"json": "s3://b/j", "html": "s3://b/h"}, "stack": "OrdersApi", "region": "us-west-2",
            "account": "210987654321", "targetAccount": "210987654321",
        })
    );
    assert_eq!(news.subject, "ebb: OrdersApi in us-west-2: Deleted");
    assert_eq!(
        news.text,
        "OrdersApi in us-west-2: Deleted (completed)\n\ndestroyed: 4 deleted\nAccount: 210987654321\nReport: s3://b/h\nRun: r-1\n\
         Execution: arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:x"
    );
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
    for (result, outcome) in [("Partial", "partial"), ("Refused", "refused"), ("LockHeld", "refused"), ("LockLost", "failed")] {
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

/// A stack's region is found in the bucket when the request leaves it out; the run knows it then.
#[test]
fn a_region_that_the_request_left_out_is_told() {
    let input = json!({"stack": "OrdersApi", "confirm": "OrdersApi"});
    let output = json!({"result": "Deleted", "stack": "OrdersApi", "region": "eu-west-1", "account": "123456789012"});
    let cause =
        json!({"result": "Partial", "message": "m", "stack": "OrdersApi", "region": "eu-west-1", "account": "123456789012"});
    let clean = Finished { output: Some(output.to_string()), ..finished("teardown", "SUCCEEDED", input.clone()) };
    let failed = Finished { cause: Some(cause.to_string()), ..finished("teardown", "FAILED", input.clone()) };
    for (ended, result) in [(clean, "Deleted"), (failed, "Partial")] {
        let news = news(&ended, "ebb").unwrap();
        assert_eq!((&news.detail["region"], &news.detail["account"]), (&json!("eu-west-1"), &json!("123456789012")));
        assert_eq!(news.subject, format!("ebb: OrdersApi in eu-west-1: {result}"));
    }
    let refused = json!({"result": "StackNotFound", "message": "no state", "runId": null});
    let news = news(&Finished { cause: Some(refused.to_string()), ..finished("teardown", "FAILED", input) }, "ebb").unwrap();
    assert_eq!((news.detail.get("region"), &news.detail["account"]), (None, &json!("123456789012")), "the app's own account");
    assert_eq!(news.subject, "ebb: OrdersApi: StackNotFound");
}

#[test]
fn a_subject_ends_with_the_result_however_long_the_stacks_name_is() {
    let input = json!({"stack": "S".repeat(128), "region": "us-west-2", "confirm": "S".repeat(128)});
    let news = news(&finished("teardown", "ABORTED", input), "ebb").unwrap();
    assert_eq!(news.subject, format!("ebb: {}...: Interrupted", "S".repeat(78)));
    assert_eq!(news.subject.len(), 99, "SNS takes less than 100");
}

#[test]
fn a_crash_is_told_with_its_name_and_where_to_look() {
    let crash = json!({"Error": "Sandbox.Timedout", "Cause": json!({"errorMessage": "Task timed out"}).to_string()});
    let cause = json!({"result": "Error", "message": "a part of Ebb failed", "todo": "read the crash", "crash": crash});
    let news = news(&Finished { cause: Some(cause.to_string()), ..finished("teardown", "FAILED", request()) }, "ebb").unwrap();
    assert_eq!(news.detail["message"], "a part of Ebb failed: Sandbox.Timedout: Task timed out");
    assert_eq!(news.detail["todo"], "read the crash");
    assert!(news.text.contains("\nLogs: log groups /aws/lambda/ebb-*\n"), "{}", news.text);
}

#[test]
fn a_stopped_one_is_told_by_what_becomes_of_it() {
    let run = news(&finished("teardown", "ABORTED", request()), "ebb").unwrap();
    assert_eq!(run.detail["runId"], run_id("arn:aws:states:us-east-1:123456789012:execution:ebb-teardown:x", 1_786_786_212_123));
    assert!(
        run.text.contains("the execution was stopped; what it had not begun is kept: if it had the lock, its keeper settles it"),
        "{}",
        run.text
    );
    let crash = json!({"result": "Error", "message": "a part of Ebb failed", "crash": {"Error": "States.Timeout"}});
    let crashed = Finished { cause: Some(crash.to_string()), ..finished("sweep", "FAILED", json!({"name": "old"})) };
    let id = run_id("arn:aws:states:us-east-1:123456789012:execution:ebb-sweep:x", 1_786_786_212_123);
    assert_eq!(news(&crashed, "ebb").unwrap().detail["sweepId"], id, "a crash says no id");
    let sweep = news(&finished("sweep", "TIMED_OUT", json!({"name": "old"})), "ebb").unwrap();
    assert_eq!(sweep.subject, "ebb: sweep old: Interrupted");
    assert_eq!(sweep.detail["sweepId"], id);
    assert!(sweep.text.contains("the sweep took longer than its state machine allows: it begins no further stack"));
    assert!(sweep.text.contains("What to do: see that none of its teardowns runs on, then sweep again"), "{}", sweep.text);
}

/// A look has neither a lock nor a keeper.
#[test]
fn a_look_that_was_stopped_changed_nothing() {
    let mut look = request();
    look["dryRun"] = true.into();
    let wrapped = json!({"requestedBy": "210987654321", "request": look});
    let of_sweep = json!({"name": "old", "dryRun": true});
    for (machine, input, id) in [("teardown", &look, "runId"), ("teardown", &wrapped, "runId"), ("sweep", &of_sweep, "sweepId")] {
        for (status, how) in [("ABORTED", "was stopped"), ("TIMED_OUT", "took longer than its state machine allows")] {
            let detail = news(&finished(machine, status, input.clone()), "ebb").unwrap().detail;
            assert_eq!((&detail["result"], &detail["todo"]), (&json!("Interrupted"), &json!("start again to go on")));
            assert_eq!(detail["message"], format!("the look {how}; nothing was changed"));
            assert!(detail[id].is_string());
        }
    }
}

fn of_sweep(told: &Value) -> News {
    let ended = match Ending::from_name(told["result"].as_str().unwrap()).unwrap().succeeds() {
        true => Finished { output: Some(told.to_string()), ..finished("sweep", "SUCCEEDED", json!({"name": "old"})) },
        false => Finished { cause: Some(told.to_string()), ..finished("sweep", "FAILED", json!({"name": "old"})) },
    };
    news(&ended, "ebb").unwrap()
}

/// Who reads it looks for what is to be mended: what could not be read, what stays, and only then what went.
#[test]
fn a_sweep_is_told_with_what_was_not_read_what_stays_and_what_went() {
    let told = json!({"result": "Partial", "sweepId": "s-1", "name": "old", "message": "of 3 stacks: 1 deleted, 2 failed", "todo": "mend it",
        "counts": {"deleted": 1, "failed": 1, "waiting": 1}, "unread": 1,
        "places": [
            {"account": "210987654321", "regions": ["eu-west-1", "us-east-1"], "bucket": "theirs", "error": "AccessDenied", "message": "sts:AssumeRole"},
            {"account": "123456789012", "report": "s3://b/r", "selection": "s3://b/s", "error": null}],
        "stacks": [
            {"stack": "Web", "region": "us-east-1", "account": "123456789012", "result": "LockHeld", "message": "held by jo"},
            {"stack": "Late", "region": "us-east-1", "account": "123456789012", "result": "NotBegun", "message": "sweep again"},
            {"stack": "Job", "region": "us-east-1", "account": "123456789012", "result": "Deleted"}]});
    let news = of_sweep(&told);
    assert_eq!((news.detail_type.as_str(), news.subject.as_str()), ("Ebb Sweep Ended", "ebb: sweep old: Partial"));
    assert_eq!(
        (&news.detail["sweepId"], &news.detail["name"], &news.detail["todo"]),
        (&json!("s-1"), &json!("old"), &json!("mend it"))
    );
    assert!(news.detail.get("stacks").is_none(), "an event stays small; the reports have all of it");
    assert_eq!(
        news.text,
        "sweep old: Partial (partial)\n\nof 3 stacks: 1 deleted, 2 failed\nWhat to do: mend it\n\
         Not read:\n  account 210987654321, regions eu-west-1 us-east-1, bucket theirs: AccessDenied - sts:AssumeRole\n\
         Stays:\n  Web in us-east-1 of account 123456789012: LockHeld - held by jo\n  \
         Late in us-east-1 of account 123456789012: NotBegun - sweep again\n\
         Gone:\n  Job in us-east-1 of account 123456789012: Deleted\n\
         All of it, and why the others were not chosen:\n  account 123456789012: s3://b/r (chosen: s3://b/s)\n\
         Sweep: s-1\nExecution: arn:aws:states:us-east-1:123456789012:execution:ebb-sweep:x"
    );
}

#[test]
fn what_a_message_leaves_out_of_a_long_sweep_is_counted() {
    let rows = |result: &str, n: usize| {
        (0..n).map(|k| json!({"stack": format!("{result}{k}"), "region": "r", "result": result})).collect()
    };
    let (stay, gone): (Vec<Value>, Vec<Value>) = (rows("Partial", 25), rows("Deleted", 3));
    let stacks = [stay, gone].concat();
    let place = |n: usize| json!({"account": format!("{n}"), "error": "AccessDenied", "message": "no"});
    let mut places: Vec<Value> = (0..22).map(place).collect();
    places.push(json!({"account": "1", "report": "s3://b/r", "selection": "s3://b/s"}));
    let told = json!({"result": "Partial", "message": "m", "counts": {"deleted": 9, "failed": 30, "held": 1, "waiting": 1}, "unread": 22,
        "places": places, "stacks": stacks, "more": {"places": 4, "stacks": 13}});
    let text = of_sweep(&told).text;
    let after = |heading: &str| {
        let rest = text.split_once(&format!("\n{heading}:\n")).unwrap().1;
        rest.lines().find(|line| line.starts_with("  and ") || !line.starts_with("  ")).unwrap()
    };
    assert_eq!((after("Not read"), after("Stays"), after("Gone")), ("  and 2 more", "  and 12 more", "  and 6 more"));
    assert_eq!(after("All of it, and why the others were not chosen"), "  and 4 more");
}

#[test]
fn a_look_and_a_refused_sweep_are_told_in_their_own_words() {
    let look = json!({"result": "DryRun", "dryRun": true, "message": "of 3 stacks: 1 would go, 2 would not; nothing was changed",
        "todo": "start again with `confirm` to delete", "counts": {"looked": 3, "failed": 1}, "guarded": 1, "partly": 1, "places": [],
        "stacks": [
            {"stack": "A", "region": "r", "result": "Refused", "message": "denied", "report": "s3://b/a.html"},
            {"stack": "G", "region": "r", "result": "DryRun", "message": "1 guarded", "plan": {"guarded": 1}},
            {"stack": "L", "region": "r", "result": "DryRun", "message": "1 left", "plan": {"guarded": 0, "left": 1}},
            {"stack": "B", "region": "r", "result": "DryRun", "plan": {"guarded": 0, "left": 0}}]});
    let text = of_sweep(&look).text;
    assert!(text.contains("\nof 3 stacks: 1 would go, 2 would not; nothing was changed\nWhat to do: start again"), "{text}");
    let stay = "\nWould stay:\n  A in r: Refused - denied (report: s3://b/a.html)\n  G in r: DryRun - 1 guarded\n  L in r: DryRun - 1 left\n";
    assert!(text.contains(&format!("{stay}Would go:\n  B in r: DryRun\n")), "{text}");
    let refused = json!({"result": "Refused", "message": "MaxStacks: 9 stacks", "todo": "t", "selections": ["s3://b/s"], "more": {"selections": 80}});
    let text = of_sweep(&refused).text;
    assert!(text.contains("\nWho was chosen:\n  s3://b/s\n  and 80 more\n"), "{text}");
}

/// Whatever was started, with whatever input, there is something to tell, and a subject that SNS takes.
#[test]
fn strange_inputs_are_told_without_what_is_strange() {
    for input in ["", "{", "7", "null", r#"{"stack": "../x", "region": 7}"#, r#"{"name": "é\u0007"}"#] {
        for machine in ["teardown", "sweep"] {
            let ended = Finished { input: input.into(), ..finished(machine, "FAILED", json!(null)) };
            let news = news(&ended, "ebb").unwrap();
            assert!(news.detail.get("stack").is_none());
            assert!(news.subject.is_ascii() && news.subject.len() < 100 && !news.subject.contains('\n'), "{}", news.subject);
        }
    }
    assert_eq!(news(&Finished { execution: "x".into(), ..finished("teardown", "FAILED", json!({})) }, "ebb"), None);
}
