//! A sweep's side of the planner over a bucket in memory: who is chosen, what is started, what is said in the end.

use ebb_core::Ending;
use ebb_core::sweep::Sweep;
use ebb_core::sweep::payload::{AdmitAnswer, Selected, StackResult, SweepAnswer, SweepNext, WaveAnswer, WaveNext};
use ebb_store::{BucketErrorKind, Execution};
use serde_json::{Value, json};

use crate::handle;
use crate::testing::{BUCKET, Bed, CHILD, EXPORTER, IMPORTER, PARENT, T, edit};

const ARN: &str = "arn:aws:states:us-east-1:123456789012:execution:ebb-sweep:nightly-7";

async fn ask(bed: &Bed, payload: Value) -> Value {
    handle(serde_json::from_value(payload).unwrap(), &bed.deps).await.unwrap()
}

async fn read(bed: &Bed, request: Value) -> SweepAnswer {
    bed.executes(Ok(Some(Execution { input: request.to_string(), started_at: T, running: true, redriven: false, end: None })));
    serde_json::from_value(ask(bed, json!({"action": "sweep", "execution": ARN})).await).unwrap()
}

async fn select(bed: &Bed, sweep: &Sweep, place: usize) -> Selected {
    serde_json::from_value(ask(bed, json!({"action": "select", "sweep": sweep, "place": place})).await).unwrap()
}

async fn admit(bed: &Bed, sweep: &Sweep, selected: &[Selected]) -> AdmitAnswer {
    serde_json::from_value(ask(bed, json!({"action": "admit", "sweep": sweep, "selected": selected})).await).unwrap()
}

async fn wave(bed: &Bed, sweep: &Sweep, step: u64, results: &[StackResult]) -> WaveAnswer {
    let payload = json!({"action": "wave", "sweep": sweep, "place": 0, "group": 0, "step": step, "results": results});
    serde_json::from_value(ask(bed, payload).await).unwrap()
}

fn request(select: Value) -> Value {
    json!({"name": "old", "confirm": "old", "select": select})
}

/// A bucket with an exporter, its importer, and what `vars` say.
fn pair(vars: &[(&'static str, &'static str)]) -> (Bed, String, String) {
    let bed = Bed::with(vars);
    let name = |sample: &str| {
        let state: Value = serde_json::from_str(sample).unwrap();
        (state["stackName"].as_str().unwrap().to_owned(), state["region"].as_str().unwrap().to_owned())
    };
    for sample in [EXPORTER, IMPORTER] {
        let (stack, region) = name(sample);
        bed.put(&format!("cdkd/{stack}/{region}/state.json"), sample);
    }
    (bed, name(EXPORTER).0, name(IMPORTER).0)
}

fn stacks(answer: &WaveAnswer) -> Vec<&str> {
    answer.items.iter().map(|item| item.request["stack"].as_str().unwrap()).collect()
}

/// The sweep of everything in the bucket, with what was chosen.
async fn begun(bed: &Bed) -> (Sweep, Vec<Selected>) {
    let sweep = read(bed, request(json!({"names": ["*"]}))).await.sweep.unwrap();
    let selected = vec![select(bed, &sweep, 0).await];
    let admitted = admit(bed, &sweep, &selected).await;
    assert_eq!(admitted.next, SweepNext::Sweep);
    (admitted.sweep, selected)
}

#[tokio::test(start_paused = true)]
async fn an_importer_goes_before_its_exporter_and_the_answer_says_how_it_went() {
    let (bed, exporter, importer) = pair(&[]);
    let (sweep, selected) = begun(&bed).await;
    assert_eq!((selected[0].chosen, selected[0].left, selected[0].groups), (2, 0, 1));
    let first = wave(&bed, &sweep, 0, &[]).await;
    assert_eq!((first.next, stacks(&first)), (WaveNext::Wave, vec![importer.as_str()]));
    let gone = |answer: &WaveAnswer| vec![StackResult::of(answer.items[0].n, answer.items[0].step, Ending::Deleted, "")];
    let second = wave(&bed, &sweep, first.step, &gone(&first)).await;
    assert_eq!(stacks(&second), [exporter.as_str()]);
    let third = wave(&bed, &sweep, second.step, &gone(&second)).await;
    assert_eq!(third.next, WaveNext::Done);

    let end = ask(&bed, json!({"action": "sumUp", "sweep": sweep, "selected": selected})).await;
    assert_eq!(
        (&end["next"], &end["output"]["result"], &end["output"]["counts"]["deleted"]),
        (&json!("succeed"), &json!("Deleted"), &json!(2))
    );
    let report: Value = serde_json::from_str(&bed.object(&sweep.report_key(0)).unwrap()).unwrap();
    assert_eq!(report["stacks"][0]["stack"], importer.as_str());
    assert_eq!(end["output"]["places"][0]["report"], format!("s3://{BUCKET}/{}", sweep.report_key(0)));
}

/// Lambda delivers at least once: what a wave started is answered again, not started again.
#[tokio::test(start_paused = true)]
async fn a_second_delivery_starts_nothing_new() {
    let (bed, _, importer) = pair(&[]);
    let (sweep, selected) = begun(&bed).await;
    let first = wave(&bed, &sweep, 0, &[]).await;
    assert_eq!(wave(&bed, &sweep, 0, &[]).await, first);
    // The selection stands too, whatever has happened to the stacks since.
    let key = format!("cdkd/{importer}/us-east-1/state.json");
    bed.put(&key, "{");
    assert_eq!(select(&bed, &sweep, 0).await, selected[0]);
    let failed = StackResult::of(first.items[0].n, first.step, Ending::LockHeld, "held");
    let second = wave(&bed, &sweep, first.step, std::slice::from_ref(&failed)).await;
    assert_eq!(second.next, WaveNext::Done);
    let gone = StackResult::of(first.items[0].n, first.step, Ending::Deleted, "");
    assert_eq!(wave(&bed, &sweep, first.step, &[gone]).await, second, "the first word on a step stands");
    let end = ask(&bed, json!({"action": "sumUp", "sweep": sweep, "selected": selected})).await;
    assert_eq!((&end["error"], &end["output"]["counts"]["held"]), (&json!("Partial"), &json!(1)));
}

/// A group that the bucket does not give out may have gone: its stacks are never told as not begun.
#[tokio::test(start_paused = true)]
async fn what_became_of_a_group_is_asked_patiently_and_never_guessed() {
    let (bed, _, importer) = pair(&[]);
    let (sweep, selected) = begun(&bed).await;
    let first = wave(&bed, &sweep, 0, &[]).await;
    let results: Vec<_> = first.items.iter().map(|item| StackResult::of(item.n, item.step, Ending::Deleted, "")).collect();
    wave(&bed, &sweep, first.step, &results).await;
    let told = async |failures: u32| {
        bed.fail(format!("GET {}", sweep.group_key(0, 0)), failures, BucketErrorKind::Unavailable);
        ask(&bed, json!({"action": "sumUp", "sweep": sweep, "selected": selected})).await
    };
    let in_the_end = told(3).await;
    let gone = in_the_end["output"]["stacks"].as_array().unwrap().iter().find(|stack| stack["stack"] == importer.as_str());
    assert_eq!((&gone.unwrap()["result"], &in_the_end["output"]["counts"]["deleted"]), (&json!("Deleted"), &json!(1)));
    bed.fail(format!("PUT {}", sweep.report_key(0)), 4, BucketErrorKind::Unavailable);
    let unwritten = told(0).await;
    assert_eq!(unwritten["output"]["places"][0]["report"], Value::Null, "only a report that is there is named");
    bed.fail(format!("PUT {}", sweep.report_key(0)), 3, BucketErrorKind::Unavailable);
    assert_eq!(told(0).await["output"]["places"][0]["report"], format!("s3://{BUCKET}/{}", sweep.report_key(0)));
    let never = told(4).await;
    assert_eq!((&never["error"], &never["output"]["stacks"]), (&json!("Partial"), &json!([])));
    assert_eq!(never["output"]["places"][0]["error"], "Error");
}

#[tokio::test(start_paused = true)]
async fn a_wave_after_its_record_was_lost_is_never_started_over() {
    let (bed, ..) = pair(&[]);
    let (sweep, _) = begun(&bed).await;
    let payload = |step: u64| json!({"action": "wave", "sweep": sweep, "place": 0, "group": 0, "step": step, "results": []});
    let answer = handle(serde_json::from_value(payload(1)).unwrap(), &bed.deps).await;
    assert_eq!(answer.unwrap_err().name, "RunRecordLost");
    bed.put(&sweep.group_key(0, 0), &json!({"recordVersion": 1, "execution": "another", "step": 0, "stacks": []}).to_string());
    let answer = handle(serde_json::from_value(payload(0)).unwrap(), &bed.deps).await;
    assert_eq!(answer.unwrap_err().name, "RunRecordLost");
}

/// What a teardown would refuse, the selection says; and it changes nothing but its own objects.
#[tokio::test(start_paused = true)]
async fn rails_and_broken_states_are_reasons_not_errors() {
    let (bed, exporter, importer) = pair(&[("EBB_DENY_TYPES", "AWS::Events::EventBus")]);
    bed.put("cdkd/Broken/us-east-1/state.json", "{");
    let before = bed.everything();
    let sweep = read(&bed, request(json!({"names": ["*"]}))).await.sweep.unwrap();
    let selected = select(&bed, &sweep, 0).await;
    let selection: Value = serde_json::from_str(&bed.object(&sweep.selection_key(0)).unwrap()).unwrap();
    let why = |stack: &str| {
        let left = selection["left"].as_array().unwrap().iter().find(|left| left["stack"] == stack);
        left.map(|left| (left["code"].as_str().unwrap().to_owned(), left["reason"].as_str().unwrap().to_owned()))
    };
    assert_eq!(why("Broken").unwrap().0, "MalformedState");
    let (code, reason) = why(&exporter).unwrap();
    assert!(code == "Refused" && reason.starts_with("DenyTypes: ") && reason.ends_with("parameter DenyTypes"), "{reason}");
    assert_eq!(selection["chosen"][0]["stack"], importer.as_str());
    assert_eq!((selected.chosen, selected.left), (1, 2));
    let added: Vec<_> = bed.everything().into_iter().filter(|object| !before.contains(object)).map(|(key, _)| key).collect();
    assert_eq!(added, [sweep.selection_key(0)]);
}

#[tokio::test(start_paused = true)]
async fn a_bad_request_a_pause_and_a_foreign_role_are_refused_before_anything_is_read() {
    let role = json!({"roleArn": "arn:aws:iam::210987654321:role/t"});
    for (vars, request, error, said) in [
        (vec![], json!({}), "InvalidRequest", "names no sweep"),
        (vec![], json!({"name": "a", "select": {"names": ["*"]}}), "InvalidRequest", "`confirm` is missing"),
        (vec![("EBB_PAUSED", "true")], request(json!({"names": ["*"]})), "Refused", "Paused: "),
        (
            vec![],
            json!({"name": "a", "confirm": "a", "select": {"names": ["*"]}, "target": role}),
            "Refused",
            "AllowedTargetRoles: ",
        ),
        (
            vec![("EBB_ALLOWED_REGIONS", "us-east-1")],
            request(json!({"names": ["*"], "regions": ["eu-west-1"]})),
            "Refused",
            "AllowedRegions: ",
        ),
    ] {
        let (bed, ..) = pair(&vars);
        bed.calls();
        let answer = read(&bed, request).await;
        assert_eq!((answer.next, answer.error.as_deref()), (SweepNext::Refuse, Some(error)));
        assert!(answer.cause.unwrap().contains(said));
        assert_eq!(bed.calls(), [""; 0]);
    }
}

/// A state that the bucket does not give out may import from whoever has outputs: those stay; the others are swept.
#[tokio::test(start_paused = true)]
async fn an_importer_that_is_not_given_out_holds_what_has_outputs() {
    for (times, kind, code) in [(1, BucketErrorKind::Denied, "AccessDenied"), (4, BucketErrorKind::Unavailable, "Error")] {
        for names in ["*", "S*"] {
            let (bed, exporter, importer) = pair(&[]);
            bed.put(
                &key("Silent"),
                &edit(EXPORTER, |state| {
                    state["stackName"] = "Silent".into();
                    state["outputs"] = json!({});
                }),
            );
            bed.fail(format!("GET {}", key(&importer)), times, kind);
            let sweep = read(&bed, request(json!({"names": [names]}))).await.sweep.unwrap();
            assert_eq!(select(&bed, &sweep, 0).await.chosen, 1);
            let selection: Value = serde_json::from_str(&bed.object(&sweep.selection_key(0)).unwrap()).unwrap();
            assert_eq!(selection["chosen"][0]["stack"], "Silent");
            let held = selection["left"].as_array().unwrap().iter().find(|left| left["stack"] == exporter.as_str()).unwrap();
            let said = format!("whether {importer} in us-east-1 imports from it is not known");
            assert!(held["code"] == code && held["reason"].as_str().unwrap().starts_with(&said), "{held}");
            assert!(held["reason"].as_str().unwrap().contains(&key(&importer)), "{held}");
        }
    }
    // One that was given out and is none holds nobody (cdkd), and is told of.
    let (bed, exporter, importer) = pair(&[]);
    bed.put(&key(&importer), "{");
    let sweep = read(&bed, request(json!({"names": ["*"]}))).await.sweep.unwrap();
    select(&bed, &sweep, 0).await;
    let selection: Value = serde_json::from_str(&bed.object(&sweep.selection_key(0)).unwrap()).unwrap();
    assert_eq!(selection["chosen"][0]["stack"], exporter.as_str());
    assert_eq!(
        selection["warnings"],
        json!([format!("{importer} in us-east-1 could not be read, so what it imports is not known")])
    );
}

/// A rail that no request overrides: the selection is there to be read, and nothing is started.
#[tokio::test(start_paused = true)]
async fn too_many_stacks_are_refused_with_the_place_of_the_selection() {
    let (bed, ..) = pair(&[("EBB_MAX_STACKS", "1")]);
    let sweep = read(&bed, request(json!({"names": ["*"]}))).await.sweep.unwrap();
    let selected = [select(&bed, &sweep, 0).await];
    let answer = admit(&bed, &sweep, &selected).await;
    assert_eq!((answer.next, answer.error.as_deref(), answer.groups.len()), (SweepNext::Refuse, Some("Refused"), 0));
    let cause: Value = serde_json::from_str(&answer.cause.unwrap()).unwrap();
    assert!(cause["message"].as_str().unwrap().starts_with("MaxStacks: 2 stacks were chosen, at most 1"));
    assert_eq!(cause["selections"], json!([format!("s3://{BUCKET}/{}", sweep.selection_key(0))]));
    assert_eq!((&cause["sweepId"], &cause["name"]), (&json!(sweep.sweep_id), &json!("old")));
}

#[tokio::test(start_paused = true)]
async fn a_place_that_is_denied_is_an_answer_and_a_busy_bucket_is_asked_again() {
    let (bed, ..) = pair(&[]);
    let sweep = read(&bed, request(json!({"names": ["*"]}))).await.sweep.unwrap();
    bed.fail("LIST cdkd/".into(), 1, BucketErrorKind::Denied);
    let denied = select(&bed, &sweep, 0).await;
    assert_eq!((denied.error.as_deref(), denied.chosen), (Some("AccessDenied"), 0));
    let end = ask(&bed, json!({"action": "sumUp", "sweep": sweep, "selected": [denied]})).await;
    assert_eq!(end["error"], "AccessDenied");
    let message = end["output"]["message"].as_str().unwrap();
    assert!(message.starts_with("nothing could be read in account 123456789012, prefix cdkd: "), "{message}");

    bed.fail("LIST cdkd/".into(), 1, BucketErrorKind::Unavailable);
    let payload = json!({"action": "select", "sweep": sweep, "place": 0});
    let busy = handle(serde_json::from_value(payload).unwrap(), &bed.deps).await;
    assert_eq!(busy.unwrap_err().name, "Error");
    assert_eq!(select(&bed, &sweep, 0).await.chosen, 2);
}

/// What the machine has of a crash is its name; the place is told all the same.
#[tokio::test(start_paused = true)]
async fn a_place_over_which_the_planner_crashed_is_told_with_its_account_and_the_log_group() {
    let (bed, ..) = pair(&[]);
    let sweep = read(&bed, request(json!({"names": ["*"], "regions": ["us-east-1"]}))).await.sweep.unwrap();
    let crash = json!({"Error": "Sandbox.Timedout", "Cause": json!({"errorMessage": "Task timed out"}).to_string()});
    let unread = ask(&bed, json!({"action": "unread", "place": 0, "crash": crash})).await;
    let end = ask(&bed, json!({"action": "sumUp", "sweep": sweep, "selected": [unread]})).await;
    assert_eq!(end["error"], "Error");
    let place = &end["output"]["places"][0];
    assert_eq!((&place["account"], &place["regions"]), (&json!("123456789012"), &json!(["us-east-1"])));
    let said = "the planner failed while it read the place, with Sandbox.Timedout: Task timed out; \
                look into the log group /aws/lambda/ebb-planner";
    assert_eq!((&place["error"], &place["message"]), (&json!("Sandbox.Timedout"), &json!(said)));
}

/// A sample after another deployment.
fn again(sample: &str) -> String {
    edit(sample, |state| state["lastModified"] = T.into())
}

fn key(stack: &str) -> String {
    format!("cdkd/{stack}/us-east-1/state.json")
}

/// What a place's report says of each stack.
async fn told(bed: &Bed, sweep: &Sweep, selected: &[Selected]) -> Vec<(String, String, String)> {
    ask(bed, json!({"action": "sumUp", "sweep": sweep, "selected": selected})).await;
    let report: Value = serde_json::from_str(&bed.object(&sweep.report_key(0)).unwrap()).unwrap();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let rows = report["stacks"].as_array().unwrap().iter();
    rows.map(|row| (text(row, "stack"), text(row, "result"), text(row, "message"))).collect()
}

const AGAIN: &str =
    "the stack was deployed again, or torn down in part, after it was chosen: its state was written at 2025-12-06T05:46:40.000Z";

#[tokio::test(start_paused = true)]
async fn a_stack_that_was_deployed_again_while_it_waited_for_its_readers_is_not_torn_down() {
    let (bed, exporter, importer) = pair(&[]);
    let (sweep, selected) = begun(&bed).await;
    let first = wave(&bed, &sweep, 0, &[]).await;
    // The importer's teardown takes its time; what it writes is its own state.
    bed.put(&key(&exporter), &again(EXPORTER));
    bed.bucket.memory.raw_delete(&key(&importer));
    let gone = StackResult::of(first.items[0].n, first.step, Ending::Deleted, "");
    let second = wave(&bed, &sweep, first.step, std::slice::from_ref(&gone)).await;
    assert_eq!((second.next, second.items.len()), (WaveNext::Done, 0));
    // Deployed back or not: what was claimed stands.
    bed.put(&key(&exporter), EXPORTER);
    assert_eq!(wave(&bed, &sweep, first.step, &[gone]).await, second);
    assert_eq!(
        told(&bed, &sweep, &selected).await,
        [(importer, "Deleted".into(), String::new()), (exporter, "Refused".into(), AGAIN.into())]
    );
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_was_deployed_again_holds_what_it_reads() {
    let (bed, exporter, importer) = pair(&[]);
    let (sweep, selected) = begun(&bed).await;
    bed.put(&key(&importer), &again(IMPORTER));
    assert_eq!(wave(&bed, &sweep, 0, &[]).await.next, WaveNext::Done);
    let held = format!("{importer} in us-east-1 reads values of it and stayed");
    assert_eq!(
        told(&bed, &sweep, &selected).await,
        [(importer, "Refused".into(), AGAIN.into()), (exporter, "Held".into(), held)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_tells_of_a_stack_that_was_deployed_again() {
    let (bed, exporter, importer) = pair(&[]);
    let sweep = read(&bed, json!({"name": "old", "dryRun": true, "select": {"names": ["*"]}})).await.sweep.unwrap();
    let selected = [select(&bed, &sweep, 0).await];
    let sweep = admit(&bed, &sweep, &selected).await.sweep;
    bed.put(&key(&importer), &again(IMPORTER));
    let first = wave(&bed, &sweep, 0, &[]).await;
    assert_eq!(stacks(&first), [exporter.as_str()]);
    assert_eq!(told(&bed, &sweep, &selected).await[0], (importer, "Refused".into(), AGAIN.into()));
}

/// Whatever keeps a state from being read: its stack is refused with that, and holds what it reads.
#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_read_any_more_starts_nothing() {
    for (times, kind, body, result) in [
        (1, BucketErrorKind::Denied, IMPORTER, "AccessDenied"),
        (4, BucketErrorKind::Unavailable, IMPORTER, "Error"),
        (0, BucketErrorKind::Other, "{", "MalformedState"),
    ] {
        let (bed, _, importer) = pair(&[]);
        let (sweep, selected) = begun(&bed).await;
        bed.put(&key(&importer), body);
        bed.fail(format!("GET {}", key(&importer)), times, kind);
        assert_eq!(wave(&bed, &sweep, 0, &[]).await.next, WaveNext::Done, "{result}");
        let told = told(&bed, &sweep, &selected).await;
        assert_eq!((told[0].1.as_str(), told[1].1.as_str()), (result, "Held"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_bucket_that_is_busy_for_a_moment_refuses_nobody() {
    let (bed, _, importer) = pair(&[]);
    let (sweep, _) = begun(&bed).await;
    bed.fail(format!("GET {}", key(&importer)), 3, BucketErrorKind::Unavailable);
    assert_eq!(stacks(&wave(&bed, &sweep, 0, &[]).await), [importer.as_str()]);
}

/// Somebody else tore it down in between; its own teardown says so, and holds nobody.
#[tokio::test(start_paused = true)]
async fn a_stack_that_went_away_since_is_begun_all_the_same() {
    let (bed, _, importer) = pair(&[]);
    let (sweep, _) = begun(&bed).await;
    bed.bucket.memory.raw_delete(&key(&importer));
    assert_eq!(stacks(&wave(&bed, &sweep, 0, &[]).await), [importer.as_str()]);
}

/// A nested stack's state counts as its parent's does; one that never could be read fails its row, not the tree.
#[tokio::test(start_paused = true)]
async fn a_nested_stack_that_was_deployed_again_keeps_its_tree() {
    let named = |sample: &str| {
        let state: Value = serde_json::from_str(sample).unwrap();
        (state["stackName"].as_str().unwrap().to_owned(), state["region"].as_str().unwrap().to_owned())
    };
    let ((parent, region), (child, _)) = (named(PARENT), named(CHILD));
    for (before, after, begun_too) in [(CHILD, again(CHILD), false), (CHILD, CHILD.to_owned(), true), ("{", "{".into(), true)] {
        let bed = Bed::new();
        let key = |stack: &str| format!("cdkd/{stack}/{region}/state.json");
        bed.put(&key(&parent), PARENT);
        bed.put(&key(&child), before);
        let (sweep, _) = begun(&bed).await;
        bed.put(&key(&child), &after);
        assert_eq!(wave(&bed, &sweep, 0, &[]).await.items.len(), usize::from(begun_too), "{before:.1} {begun_too}");
    }
}

/// An entry that names its bucket and one that finds the same.
#[tokio::test(start_paused = true)]
async fn entries_that_turn_out_to_mean_one_bucket_are_refused_before_anything_is_started() {
    let (bed, ..) = pair(&[("EBB_ALLOWED_TARGET_ROLES", "*,arn:aws:iam::123456789012:role/*")]);
    let entry = json!({"account": "123456789012", "roleArn": "arn:aws:iam::123456789012:role/t"});
    let mut named = entry.clone();
    named["bucket"] = BUCKET.into();
    let mut request = request(json!({"names": ["*"]}));
    request["accounts"] = json!([entry, named]);
    let sweep = read(&bed, request).await.sweep.unwrap();
    let selected = [select(&bed, &sweep, 0).await, select(&bed, &sweep, 1).await];
    let answer = admit(&bed, &sweep, &selected).await;
    assert_eq!((answer.next, answer.error.as_deref(), answer.groups.len()), (SweepNext::Refuse, Some("InvalidRequest"), 0));
    assert!(answer.cause.unwrap().contains("`accounts[0]` and `accounts[1]` look into one bucket"));
}
