//! Protections that Cloud Control switches off: only when asked, only when on, and on again after a final failure.

use ebb_core::{Code, DeleteError, ErrorClass, Look, Step};
use serde_json::{Value, json};

use super::event;
use crate::testing::{Bench, Script};

const GET: &[&str] = &["CloudApiService.GetResource ", "\"Identifier\":\"main\""];
const DELETE: &[&str] = &["CloudApiService.DeleteResource ", "\"Identifier\":\"main\""];
const STATUS: &[&str] = &["GetResourceRequestStatus"];

/// Each type with its property, and what on and off look like.
fn types() -> [(&'static str, &'static str, Value, Value); 7] {
    let mode = |mode: &str| json!({ "Mode": mode });
    [
        ("AWS::DSQL::Cluster", "DeletionProtectionEnabled", json!(true), json!(false)),
        ("AWS::DocDB::GlobalCluster", "DeletionProtection", json!(true), json!(false)),
        ("AWS::EKS::Cluster", "DeletionProtection", json!(true), json!(false)),
        ("AWS::NeptuneGraph::Graph", "DeletionProtection", json!(true), json!(false)),
        ("AWS::RDS::GlobalCluster", "DeletionProtection", json!(true), json!(false)),
        ("AWS::SMSVOICE::ProtectConfiguration", "DeletionProtectionEnabled", json!(true), json!(false)),
        ("AWS::VerifiedPermissions::PolicyStore", "DeletionProtection", mode("ENABLED"), mode("DISABLED")),
    ]
}

fn bench(name: &str) -> Bench {
    let mut bench = Bench::new(name, "main", json!({}));
    bench.run.options.remove_protection = true;
    bench
}

fn cluster() -> Bench {
    Bench::new("AWS::EKS::Cluster", "main", json!({}))
}

fn model(property: &str, value: &Value) -> Value {
    json!({ "ResourceDescription": { "Identifier": "main", "Properties": json!({ property: value }).to_string() } })
}

fn on() -> Value {
    model("DeletionProtection", &json!(true))
}

fn request(token: &str, status: &str) -> Value {
    json!({ "ProgressEvent": { "RequestToken": token, "OperationStatus": status, "ErrorCode": "NotUpdatable" } })
}

fn failed(code: &str) -> Value {
    json!({ "ProgressEvent": { "RequestToken": "d", "OperationStatus": "FAILED", "ErrorCode": code, "StatusMessage": "no" } })
}

/// The patch as it is sent: one JSON-patch `add`.
fn patch(property: &str, value: &Value) -> String {
    let document = json!([{ "op": "add", "path": format!("/{property}"), "value": value }]).to_string();
    format!("\"PatchDocument\":{}", Value::from(document))
}

async fn steps(bench: &mut Bench, script: &Script, pending: usize) -> Result<Step, DeleteError> {
    for n in 0..pending {
        let answer = bench.step(script).await;
        assert!(matches!(answer, Ok(Step::Pending { .. })), "step {n}: {answer:?}");
    }
    let answer = bench.step(script).await;
    script.assert_done();
    answer
}

/// That it was on is remembered before it is switched off, the patch is waited for, then the delete goes.
#[tokio::test]
async fn a_protection_that_is_on_is_switched_off_first() {
    for (name, property, on, off) in types() {
        let script = Script::new()
            .json(GET, 200, model(property, &on))
            .json(GET, 200, model(property, &on))
            .json(&["CloudApiService.UpdateResource ", name, &patch(property, &off)], 200, request("u", "IN_PROGRESS"))
            .json(&["GetResourceRequestStatus", "\"u\""], 200, request("u", "IN_PROGRESS"))
            .json(&["GetResourceRequestStatus", "\"u\""], 200, request("u", "SUCCESS"))
            .json(DELETE, 200, event("SUCCESS"));
        assert_eq!(steps(&mut bench(name), &script, 3).await, Ok(Step::DELETED), "{name}");
    }
}

#[tokio::test]
async fn a_protection_that_is_off_needs_no_patch() {
    for (name, property, _, off) in types() {
        let script = Script::new().json(GET, 200, model(property, &off)).json(DELETE, 200, event("SUCCESS"));
        assert_eq!(steps(&mut bench(name), &script, 0).await, Ok(Step::DELETED), "{name}");
    }
}

/// Off by default: AWS refuses, and the refusal says how to lift it.
#[tokio::test]
async fn without_consent_nothing_is_patched() {
    let refused = json!({ "ProgressEvent": {
        "RequestToken": "d", "OperationStatus": "FAILED", "ErrorCode": "InvalidRequest", "StatusMessage": "Deletion protection is on"
    } });
    let script = Script::new().json(DELETE, 200, refused);
    let error = steps(&mut cluster(), &script, 0).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Protected);
    assert!(error.message.contains("removeProtection"), "{}", error.message);
}

/// A failing flip is logged and the delete goes on: AWS decides.
#[tokio::test]
async fn a_patch_that_fails_does_not_stop_the_delete() {
    let seen = || Script::new().json(GET, 200, on()).json(GET, 200, on());
    let refused =
        seen().json_error(&["UpdateResource "], "NotUpdatableException", "create-only").json(DELETE, 200, event("SUCCESS"));
    assert_eq!(steps(&mut bench("AWS::EKS::Cluster"), &refused, 1).await, Ok(Step::DELETED));
    let failed = seen()
        .json(&["UpdateResource "], 200, request("u", "IN_PROGRESS"))
        .json(STATUS, 200, request("u", "FAILED"))
        .json(DELETE, 200, event("SUCCESS"));
    assert_eq!(steps(&mut bench("AWS::EKS::Cluster"), &failed, 2).await, Ok(Step::DELETED));
    let denied = Script::new().json_error(GET, "AccessDeniedException", "no").json(DELETE, 200, event("SUCCESS"));
    assert_eq!(steps(&mut bench("AWS::EKS::Cluster"), &denied, 0).await, Ok(Step::DELETED));
}

/// A throttled patch is tried again: the delete must not run into a protection that we were to lift.
#[tokio::test]
async fn a_patch_that_is_throttled_is_sent_again() {
    let script = Script::new()
        .json(GET, 200, on())
        .json(GET, 200, on())
        .json_error(&["UpdateResource "], "ThrottlingException", "slow")
        .json(GET, 200, on())
        .json(&["UpdateResource "], 200, request("u", "SUCCESS"))
        .json(STATUS, 200, request("u", "SUCCESS"))
        .json(DELETE, 200, event("SUCCESS"));
    assert_eq!(steps(&mut bench("AWS::EKS::Cluster"), &script, 3).await, Ok(Step::DELETED));
}

fn switched_off() -> Script {
    Script::new()
        .json(GET, 200, on())
        .json(GET, 200, on())
        .json(&["UpdateResource ", &patch("DeletionProtection", &json!(false))], 200, request("u", "SUCCESS"))
        .json(STATUS, 200, request("u", "SUCCESS"))
}

/// After a final failure the protection is put back, and the failure says so.
#[tokio::test]
async fn a_final_failure_puts_the_protection_back() {
    let back = patch("DeletionProtection", &json!(true));
    let script = switched_off()
        .json(DELETE, 200, failed("AccessDenied"))
        .json(&["UpdateResource ", &back], 200, request("b", "IN_PROGRESS"))
        .json(&["GetResourceRequestStatus", "\"b\""], 200, request("b", "IN_PROGRESS"))
        .json(&["GetResourceRequestStatus", "\"b\""], 200, request("b", "SUCCESS"));
    let error = steps(&mut bench("AWS::EKS::Cluster"), &script, 4).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Denied, "AccessDenied"));
    assert_eq!(error.message, "no (deletion protection is on again)");

    let script = switched_off()
        .json(DELETE, 200, failed("InvalidRequest"))
        .json(&["UpdateResource ", &back], 200, request("b", "IN_PROGRESS"))
        .json(STATUS, 200, request("b", "FAILED"));
    let error = steps(&mut bench("AWS::EKS::Cluster"), &script, 3).await.unwrap_err();
    assert!(error.message.contains("could not be switched on again: NotUpdatable"), "{}", error.message);
}

/// Not on an exhausted budget, and never what was off before.
#[tokio::test]
async fn what_was_off_or_ran_out_of_tries_is_not_switched_on() {
    let off = model("DeletionProtection", &json!(false));
    let script = Script::new().json(GET, 200, off).json(DELETE, 200, failed("InvalidRequest"));
    assert_eq!(steps(&mut bench("AWS::EKS::Cluster"), &script, 0).await.unwrap_err().message, "no");
    let script = switched_off().json(DELETE, 200, failed("InternalFailure")).json(DELETE, 200, failed("InternalFailure")).json(
        DELETE,
        200,
        failed("InternalFailure"),
    );
    let error = steps(&mut bench("AWS::EKS::Cluster"), &script, 4).await.unwrap_err();
    assert_eq!(error.message, "no (3 times in 0 s) (deletion protection was switched off by this run and is off)");
}

/// A memo over its limit would be lost, and the protection left off without a word.
#[tokio::test]
async fn a_long_failure_is_cut_to_fit_the_memo() {
    for message in ["\"no\" ".repeat(120), "\"".repeat(600), "é\u{202e}".repeat(300)] {
        let mut bench = bench("AWS::EKS::Cluster");
        let failed = json!({ "ProgressEvent": {
            "RequestToken": "d", "OperationStatus": "FAILED", "ErrorCode": "UnauthorizedTaggingOperation", "StatusMessage": message
        } });
        let token = "7d3f9a52-1c1e-4c55-9b0e-2f6f1f0b9f10";
        let script = switched_off()
            .json(DELETE, 200, self::failed("InternalFailure"))
            .json(DELETE, 200, request("d", "IN_PROGRESS"))
            .json(STATUS, 200, failed)
            .json(&["UpdateResource "], 200, request(token, "IN_PROGRESS"))
            .json(&["GetResourceRequestStatus", token], 200, request(token, "SUCCESS"));
        for _ in 0..5 {
            let step = bench.step(&script).await;
            assert!(matches!(step, Ok(Step::Pending { .. })), "{step:?}");
        }
        let memo = bench.memo.as_ref().unwrap().to_string();
        assert!(memo.len() <= ebb_core::StepResult::MAX_MEMO_BYTES, "{}: {memo}", memo.len());
        let told = bench.step(&script).await.unwrap_err().message;
        assert!(told.ends_with("… (deletion protection is on again)"), "{told}");
        script.assert_done();
    }
}

#[tokio::test]
async fn a_look_names_the_protection() {
    for (name, property, on, off) in types() {
        let resource = Bench::new(name, "main", json!({}));
        let answer = resource.look(&Script::new().json(GET, 200, model(property, &on))).await;
        assert!(matches!(answer, Ok(Look::Refuses { code: Code::Protected, .. })), "{name}: {answer:?}");
        assert_eq!(resource.look(&Script::new().json(GET, 200, model(property, &off))).await, Ok(Look::Clear), "{name}");
        let gone = Script::new().json_error(GET, "ResourceNotFoundException", "no");
        assert_eq!(resource.look(&gone).await, Ok(Look::Clear), "{name}");
        assert_eq!(bench(name).look(&Script::new()).await, Ok(Look::Clear), "{name}: it will be switched off");
    }
    let denied = Script::new().json_error(GET, "AccessDeniedException", "no");
    assert_eq!(cluster().look(&denied).await.unwrap_err().class, ErrorClass::Denied);
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_patched() {
    let script = Script::new().json(GET, 200, on()).json(GET, 200, on());
    let mut bench = bench("AWS::EKS::Cluster");
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    bench.fence(false);
    assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::FenceShut);
    script.assert_done();
}
