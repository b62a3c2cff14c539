//! A sweep's side of the planner over a bucket in memory: who is chosen, what is started, what is said in the end.

use ebb_core::Ending;
use ebb_core::sweep::Sweep;
use ebb_core::sweep::payload::{AdmitAnswer, Selected, StackResult, SweepAnswer, SweepNext, WaveAnswer, WaveNext};
use ebb_store::{BucketErrorKind, Execution};
use serde_json::{Value, json};

use crate::handle;
use crate::testing::{BUCKET, Bed, EXPORTER, IMPORTER, T};

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

    bed.fail("LIST cdkd/".into(), 1, BucketErrorKind::Unavailable);
    let payload = json!({"action": "select", "sweep": sweep, "place": 0});
    let busy = handle(serde_json::from_value(payload).unwrap(), &bed.deps).await;
    assert_eq!(busy.unwrap_err().name, "Error");
    assert_eq!(select(&bed, &sweep, 0).await.chosen, 2);
}
