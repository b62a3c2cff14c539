use ebb_core::payload::{CheckAnswer, CheckNext};
use ebb_core::run::run_id;
use ebb_core::{Ending, Refusal};
use ebb_store::{BucketErrorKind, Execution, ExecutionsError};
use serde_json::{Value, json};

use crate::testing::*;
use crate::{PlannerRequest, handle};

const NETWORK_KEY: &str = "cdkd/EdgeNetwork/us-east-1/state.json";

fn teardown(stack: &str, region: &str) -> Value {
    json!({"stack": stack, "region": region, "confirm": stack})
}

/// Checks that the answer refuses with this ending, and answers its message.
#[track_caller]
fn refused(answer: &CheckAnswer, ending: Ending) -> String {
    assert_eq!((answer.next, answer.error.as_deref()), (CheckNext::Refuse, Some(ending.name())), "{answer:?}");
    assert!(answer.run.is_none());
    let cause: Value = serde_json::from_str(answer.cause.as_deref().unwrap()).unwrap();
    assert_eq!((&cause["result"], &cause["exitClass"]), (&json!(ending.name()), &json!(ending.exit_class())));
    assert_eq!(cause["todo"], json!(ending.todo()));
    cause["message"].as_str().unwrap().to_owned()
}

/// A check of the network's state after a change of it.
async fn check_of(state: &str) -> CheckAnswer {
    let bed = Bed::new();
    bed.put(NETWORK_KEY, state);
    let before = bed.everything();
    let answer = bed.check(teardown("EdgeNetwork", "us-east-1")).await;
    assert_eq!(bed.everything(), before, "a check changes nothing");
    answer
}

#[tokio::test(start_paused = true)]
async fn a_run_is_derived_from_its_execution() {
    let bed = Bed::new();
    bed.put(NETWORK_KEY, NETWORK);
    let answer = bed.check(teardown("EdgeNetwork", "us-east-1")).await;
    let mut want = run("EdgeNetwork", "us-east-1", json!({}));
    assert_eq!((answer.next, answer.run.as_ref()), (CheckNext::Lock, Some(&want)));
    assert_eq!((answer.drive, answer.plan.step), (1, 0));
    let answer = bed.check(json!({"stack": "EdgeNetwork", "region": "us-east-1", "dryRun": true})).await;
    want.dry_run = true;
    assert_eq!((answer.next, answer.run), (CheckNext::DryRun, Some(want)));
}

// Console default input answers InvalidRequest with a smallest valid example.
#[tokio::test(start_paused = true)]
async fn the_consoles_default_input_is_told_an_example() {
    let bed = Bed::new();
    let comment = json!({"Comment": "Insert your JSON here"});
    for input in [comment, json!({}), json!("x"), json!({"stack": "S", "confirm": "T"}), json!({"stak": "S"})] {
        let message = refused(&bed.check(input.clone()).await, Ending::InvalidRequest);
        assert!(!message.is_empty(), "{input}");
        if input.get("Comment").is_some() {
            assert!(message.contains(r#""confirm": "OrdersApi""#), "{message}");
        }
    }
    assert_eq!(bed.calls(), Vec::<String>::new(), "nothing is read for a request that is none");
}

// An execution that DescribeExecution does not know yet is "not learnt": the machine tries again.
#[tokio::test(start_paused = true)]
async fn what_is_not_learnt_is_no_refusal() {
    let bed = Bed::new();
    let ask = |arn: &str| PlannerRequest::Check { execution: arn.into() };
    assert_eq!(handle(ask(ARN), &bed.deps).await.unwrap_err().name, "NotLearnt");
    bed.executes(Err(ExecutionsError("throttled".into())));
    assert_eq!(handle(ask(ARN), &bed.deps).await.unwrap_err().name, "Error");
    let answer = handle(ask("arn:aws:states:us-east-1:1:stateMachine:m"), &bed.deps).await.unwrap();
    refused(&serde_json::from_value(answer).unwrap(), Ending::InvalidRequest);
}

// "Never redriven, start again": its lock is long gone.
#[tokio::test(start_paused = true)]
async fn a_redriven_execution_is_refused() {
    let bed = Bed::new();
    bed.put(NETWORK_KEY, NETWORK);
    let input = teardown("EdgeNetwork", "us-east-1").to_string();
    bed.executes(Ok(Some(Execution { input, started_at: T, running: true, redriven: true, end: None })));
    assert!(refused(&bed.check_again().await, Ending::InvalidRequest).contains("redriven"));
}

// Unknown stack: no state, names match exactly.
#[tokio::test(start_paused = true)]
async fn a_stack_without_state_is_not_found() {
    let bed = Bed::new();
    bed.put(NETWORK_KEY, NETWORK);
    for (stack, region) in [("EdgeNetwor", "us-east-1"), ("EdgeNetwork", "us-west-2"), ("edgenetwork", "us-east-1")] {
        let message = refused(&bed.check(teardown(stack, region)).await, Ending::StackNotFound);
        assert!(message.contains(stack) && message.contains(BUCKET), "{message}");
    }
    refused(&bed.check(json!({"stack": "Nobody", "confirm": "Nobody"})).await, Ending::StackNotFound);
}

// Region divergence: any other region of the body is refused as soon as a resource is recorded.
#[tokio::test(start_paused = true)]
async fn another_region_in_the_body_is_refused() {
    for region in [json!("us-east-2"), json!("US-EAST-1"), Value::Null, json!(7), json!("")] {
        let state = edit(NETWORK, |state| state["region"] = region.clone());
        refused(&check_of(&state).await, Ending::RegionMismatch);
        let empty = edit(NETWORK, |state| {
            state["region"] = region.clone();
            state["resources"] = json!({});
        });
        assert_eq!(check_of(&empty).await.next, CheckNext::Lock, "{region}");
    }
}

// The version gate and the malformed-file refusals, before anything is locked.
#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_read_is_refused() {
    for version in [json!(12), json!("8"), Value::Null] {
        let message =
            refused(&check_of(&edit(NETWORK, |state| state["version"] = version.clone())).await, Ending::UnsupportedVersion);
        assert!(message.contains("Unsupported state schema version"), "{message}");
    }
    let mut broken: Vec<String> =
        [json!([]), Value::Null, json!("x")].map(|r| edit(NETWORK, |s| s["resources"] = r.clone())).into();
    broken.push(edit(NETWORK, |state| drop(state.as_object_mut().unwrap().remove("resources"))));
    broken.push(edit(NETWORK, |s| drop(s["resources"]["Tick23"].as_object_mut().unwrap().remove("properties"))));
    broken.push(edit(NETWORK, |s| s["resources"]["Tick23"]["resourceType"] = json!(7)));
    broken.push(edit(NETWORK, |s| s["resources"]["Tick23"]["dependencies"] = json!("Worker19")));
    broken.push(edit(NETWORK, |s| s["outputs"] = json!([])));
    broken.push(edit(NETWORK, |s| s["orphans"] = json!({})));
    for state in broken {
        let message = refused(&check_of(&state).await, Ending::MalformedState);
        assert!(message.contains("STATE_RESOURCES_MALFORMED"), "{message}");
    }
    for body in ["", "{", "[]", "\u{feff}{\"resources\": {}}"] {
        refused(&check_of(body).await, Ending::MalformedState);
    }
    // A row without physicalId fails alone.
    let state = edit(NETWORK, |s| drop(s["resources"]["Tick23"].as_object_mut().unwrap().remove("physicalId")));
    assert_eq!(check_of(&state).await.next, CheckNext::Lock);
}

// Circular recorded edges: refused before any delete, the cycle named.
#[tokio::test(start_paused = true)]
async fn a_recorded_cycle_is_refused() {
    let state = edit(NETWORK, |state| state["resources"]["WorkerGroup16"]["dependencies"] = json!(["Worker19"]));
    let message = refused(&check_of(&state).await, Ending::CircularDependency);
    assert!(message.contains("Worker19") && message.contains("WorkerGroup16"), "{message}");
}

// Nested child: parentStack is set; allowed only by word.
#[tokio::test(start_paused = true)]
async fn a_nested_stack_is_torn_down_by_itself_only_by_word() {
    let bed = Bed::new();
    let name = "Storefront~SearchNested1B";
    bed.put("cdkd/Storefront~SearchNested1B/us-east-1/state.json", CHILD);
    let message = refused(&bed.check(teardown(name, "us-east-1")).await, Ending::NestedChild);
    assert!(message.contains("NESTED_STACK_CHILD_DIRECT_DESTROY") && message.contains("Storefront"), "{message}");
    let mut request = teardown(name, "us-east-1");
    request["allowNestedChild"] = json!(true);
    assert_eq!(bed.check(request).await.next, CheckNext::Lock);
}

// A child that is broken fails its row only; a child that is denied by a rail refuses the run.
#[tokio::test(start_paused = true)]
async fn a_nested_stack_is_judged_with_its_parent() {
    let child = "cdkd/Storefront~SearchNested1B/us-east-1/state.json";
    let bed = Bed::with(&[("EBB_MAX_RESOURCES", "7")]);
    bed.put("cdkd/Storefront/us-east-1/state.json", PARENT);
    let mut request = teardown("Storefront", "us-east-1");
    request["deleteData"] = json!(true);
    assert_eq!(bed.check(request.clone()).await.next, CheckNext::Lock);
    bed.put(child, CHILD);
    assert!(refused(&bed.check(request.clone()).await, Ending::Refused).starts_with("MaxResources"));
    bed.put(child, "{");
    assert_eq!(bed.check(request.clone()).await.next, CheckNext::Lock);
    let bed = Bed::with(&[("EBB_DENY_STACKS", "*~Search*")]);
    bed.put("cdkd/Storefront/us-east-1/state.json", PARENT);
    bed.put(child, CHILD);
    assert!(refused(&bed.check(request).await, Ending::Refused).starts_with("DenyStacks"));
}

// Ambiguous region: several regions without a region given; list the regions.
#[tokio::test(start_paused = true)]
async fn a_region_may_be_left_out_when_there_is_one() {
    let bed = Bed::new();
    let request = || json!({"stack": "EdgeNetwork", "confirm": "EdgeNetwork"});
    bed.put(NETWORK_KEY, NETWORK);
    assert_eq!(bed.check(request()).await.run.unwrap().region, "us-east-1");
    bed.put("cdkd/EdgeNetwork/eu-west-1/state.json", NETWORK);
    let message = refused(&bed.check(request()).await, Ending::InvalidRequest);
    assert!(message.contains("us-east-1") && message.contains("eu-west-1"), "{message}");
    // A record of the old layout tells no region by its key: a person says where the stack lives.
    bed.put("cdkd/LegacyMailer/state.json", LEGACY);
    let message = refused(&bed.check(json!({"stack": "LegacyMailer", "confirm": "LegacyMailer"})).await, Ending::InvalidRequest);
    assert!(message.contains("`region`"), "{message}");
    assert_eq!(bed.check(teardown("LegacyMailer", "ap-northeast-1")).await.next, CheckNext::Lock);
    refused(&bed.check(teardown("LegacyMailer", "us-east-1")).await, Ending::StackNotFound);
}

// The derived cases of the legacy record: a region that is no text is refused, an empty one needs the request's word.
#[tokio::test(start_paused = true)]
async fn a_legacy_record_belongs_or_is_refused() {
    let bed = Bed::new();
    bed.put("cdkd/LegacyMailer/state.json", &edit(LEGACY, |state| state["region"] = json!(7)));
    refused(&bed.check(teardown("LegacyMailer", "ap-northeast-1")).await, Ending::RegionMismatch);
    bed.put("cdkd/LegacyMailer/state.json", &edit(LEGACY, |state| state["region"] = json!("")));
    refused(&bed.check(json!({"stack": "LegacyMailer", "confirm": "LegacyMailer"})).await, Ending::InvalidRequest);
    assert_eq!(bed.check(teardown("LegacyMailer", "ap-northeast-1")).await.next, CheckNext::Lock);
}

/// The request names no region; the run found it, so whoever is told of the refusal is told where.
#[tokio::test(start_paused = true)]
async fn a_refusal_says_in_which_region_and_account() {
    let bed = Bed::new();
    bed.put("cdkd/SharedBus/us-east-1/state.json", EXPORTER);
    bed.put("cdkd/Billing/us-east-1/state.json", IMPORTER);
    let answer = bed.check(json!({"stack": "SharedBus", "confirm": "SharedBus"})).await;
    refused(&answer, Ending::ActiveImports);
    let cause: Value = serde_json::from_str(&answer.cause.unwrap()).unwrap();
    assert_eq!(
        (&cause["stack"], &cause["region"], &cause["account"], &cause["runId"]),
        (&json!("SharedBus"), &json!("us-east-1"), &json!("123456789012"), &json!(run_id(ARN, T)))
    );
    let answer = bed.check(json!({"stack": "Nobody", "confirm": "Nobody"})).await;
    let cause: Value = serde_json::from_str(&answer.cause.unwrap()).unwrap();
    assert_eq!((cause.get("region"), &cause["runId"]), (None, &json!(null)), "it led to no run");
}

// Strong references: refused with consumer, region and export name, exit class 2; weak ones never refuse.
#[tokio::test(start_paused = true)]
async fn a_stack_that_others_import_from_is_refused() {
    let bed = Bed::new();
    bed.put("cdkd/SharedBus/us-east-1/state.json", EXPORTER);
    bed.put("cdkd/Billing/us-east-1/state.json", IMPORTER);
    let message = refused(&bed.check(teardown("SharedBus", "us-east-1")).await, Ending::ActiveImports);
    assert!(message.contains("Billing in us-east-1 imports shared-bus-arn"), "{message}");
    assert_eq!(bed.check(teardown("Billing", "us-east-1")).await.next, CheckNext::Lock);
    // A trimmed consumer no longer blocks, although it still reads weakly.
    bed.put("cdkd/Billing/us-east-1/state.json", &edit(IMPORTER, |state| drop(state.as_object_mut().unwrap().remove("imports"))));
    assert_eq!(bed.check(teardown("SharedBus", "us-east-1")).await.next, CheckNext::Lock);
    // A producer without outputs is not scanned for.
    bed.put("cdkd/Billing/us-east-1/state.json", IMPORTER);
    bed.put("cdkd/SharedBus/us-east-1/state.json", &edit(EXPORTER, |state| state["outputs"] = json!({})));
    assert_eq!(bed.check(teardown("SharedBus", "us-east-1")).await.next, CheckNext::Lock);
}

// A listing that fails is never "nobody imports".
#[tokio::test(start_paused = true)]
async fn imports_that_cannot_be_looked_for_refuse() {
    for (kind, ending) in [(BucketErrorKind::Denied, Ending::AccessDenied), (BucketErrorKind::Unavailable, Ending::Error)] {
        let bed = Bed::new();
        bed.put("cdkd/SharedBus/us-east-1/state.json", EXPORTER);
        bed.fail("LIST cdkd/".into(), 4, kind);
        refused(&bed.check(teardown("SharedBus", "us-east-1")).await, ending);
    }
}

// A state that the bucket does not give out may import: refused before anything is locked, and what to mend is said.
#[tokio::test(start_paused = true)]
async fn an_importer_that_is_not_given_out_refuses() {
    let billing = "cdkd/Billing/us-east-1/state.json";
    for (kind, ending, mend) in [
        (BucketErrorKind::Denied, Ending::AccessDenied, "grant s3:GetObject on it and, for SSE-KMS, kms:Decrypt"),
        (BucketErrorKind::Unavailable, Ending::Error, "try again, or mend what is said of it"),
        (BucketErrorKind::Unknown, Ending::Error, "try again, or mend what is said of it"),
    ] {
        for request in [teardown("SharedBus", "us-east-1"), json!({"stack": "SharedBus", "region": "us-east-1", "dryRun": true})]
        {
            let bed = Bed::new();
            bed.put("cdkd/SharedBus/us-east-1/state.json", EXPORTER);
            bed.put(billing, "{}");
            bed.fail(format!("GET {billing}"), 4, kind);
            let message = refused(&bed.check(request.clone()).await, ending);
            let said = format!("whether others import from SharedBus is not known, for a state could not be read ({mend}): ");
            assert!(message.starts_with(&said) && message.contains(billing), "{message}");
            if ending == Ending::Error {
                bed.fail(format!("GET {billing}"), 3, kind);
                let answer = bed.check(request).await;
                assert_eq!(answer.error, None, "what passes is waited for");
            }
        }
    }
    // Nobody imports from a stack without outputs, so nobody is asked.
    let bed = Bed::new();
    bed.put("cdkd/SharedBus/us-east-1/state.json", &edit(EXPORTER, |state| state["outputs"] = json!({})));
    bed.put(billing, "{}");
    bed.fail(format!("GET {billing}"), 1, BucketErrorKind::Denied);
    assert_eq!(bed.check(teardown("SharedBus", "us-east-1")).await.next, CheckNext::Lock);
}

// A state that was written since the stack was chosen is another deployment's.
#[tokio::test(start_paused = true)]
async fn a_fresh_deployment_is_refused() {
    let written: Value = serde_json::from_str(NETWORK).unwrap();
    let written = written["lastModified"].as_u64().unwrap();
    let bed = Bed::new();
    bed.put(NETWORK_KEY, NETWORK);
    let expecting = |written: u64, dry: bool| {
        let mut request = teardown("EdgeNetwork", "us-east-1");
        request["dryRun"] = dry.into();
        request["expectedLastModified"] = written.into();
        request
    };
    let answer = bed.check(expecting(written, false)).await;
    assert_eq!((answer.next, answer.run.unwrap().expected_last_modified), (CheckNext::Lock, Some(written)));
    for dry in [false, true] {
        for other in [written - 1, written + 1, 0] {
            let message = refused(&bed.check(expecting(other, dry)).await, Ending::Refused);
            assert!(
                message.starts_with(
                    "the stack was deployed again, or torn down in part, after it was chosen: its state was written at 20"
                ),
                "{message}"
            );
        }
    }
    bed.put(NETWORK_KEY, &edit(NETWORK, |state| state["lastModified"] = "yesterday".into()));
    refused(&bed.check(expecting(written, false)).await, Ending::Refused);
}

// 403 on read: access error, never "no state".
#[tokio::test(start_paused = true)]
async fn a_denied_read_is_not_a_missing_stack() {
    let bed = Bed::new();
    bed.fail(format!("GET {NETWORK_KEY}"), 1, BucketErrorKind::Denied);
    refused(&bed.check(teardown("EdgeNetwork", "us-east-1")).await, Ending::AccessDenied);
    bed.refuses(Some(Refusal::new(Ending::BucketNotFound, "there is no bucket")));
    refused(&bed.check(teardown("EdgeNetwork", "us-east-1")).await, Ending::BucketNotFound);
}

// A run refuses to delete what it runs on.
#[tokio::test(start_paused = true)]
async fn a_run_never_deletes_what_it_runs_on() {
    for (kind, id) in [
        ("AWS::Lambda::Function", "ebb-planner"),
        ("AWS::IAM::Role", "ebb-worker"),
        ("AWS::StepFunctions::StateMachine", "arn:aws:states:us-east-1:123456789012:stateMachine:ebb-teardown"),
        ("AWS::S3::Bucket", BUCKET),
    ] {
        let state = edit(NETWORK, |s| {
            s["resources"]["Mine"] = json!({"resourceType": kind, "physicalId": id, "properties": {}});
        });
        let message = refused(&check_of(&state).await, Ending::Refused);
        assert!(message.contains("EdgeNetwork/Mine"), "{message}");
    }
}

// No request can override the rails.
#[tokio::test(start_paused = true)]
async fn rails_refuse_and_name_themselves() {
    for (variable, value, rail) in [
        ("EBB_MAX_RESOURCES", "25", "MaxResources"),
        ("EBB_DENY_STACKS", "Edge*", "DenyStacks"),
        ("EBB_ALLOW_STACKS", "Dev*", "AllowStacks"),
        ("EBB_PAUSED", "true", "Paused"),
    ] {
        let bed = Bed::with(&[(variable, value)]);
        bed.put(NETWORK_KEY, NETWORK);
        let message = refused(&bed.check(teardown("EdgeNetwork", "us-east-1")).await, Ending::Refused);
        assert!(message.starts_with(rail), "{message}");
    }
    let protected = edit(NETWORK, |s| {
        s["resources"]["Vpc01"]["properties"]["Tags"] = json!([{"Key": "ebb:protect", "Value": "yes"}]);
    });
    assert!(refused(&check_of(&protected).await, Ending::Refused).starts_with("ProtectTag"));
}
