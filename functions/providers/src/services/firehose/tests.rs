use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, passes};

const DELETE: &[&str] = &["Firehose_20150804.DeleteDeliveryStream", "\"DeliveryStreamName\":\"clicks\""];
const LOOK: &[&str] = &["Firehose_20150804.DescribeDeliveryStream", "\"DeliveryStreamName\":\"clicks\""];

fn stream(id: &str) -> Bench {
    Bench::new("AWS::KinesisFirehose::DeliveryStream", id, json!({}))
}

fn found(status: &str, failure: Option<&str>) -> Value {
    let failure = failure.map(|kind| json!({ "Type": kind, "Details": "x" }));
    json!({ "DeliveryStreamDescription": {
        "DeliveryStreamName": "clicks", "DeliveryStreamARN": "arn:aws:firehose:us-east-1:1:deliverystream/clicks",
        "DeliveryStreamStatus": status, "FailureDescription": failure, "DeliveryStreamType": "DirectPut", "VersionId": "1",
        "Destinations": [], "HasMoreDestinations": false
    } })
}

async fn accepted() -> Bench {
    let mut bench = stream("clicks");
    let script = Script::new().json(DELETE, 200, json!({}));
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == 5));
    assert!(!script.seen()[0].contains("AllowForceDelete"), "{:?}", script.seen());
    bench
}

#[tokio::test]
async fn a_stream_is_looked_at_until_it_is_gone() {
    let script = Script::new().json(LOOK, 200, found("DELETING", None)).json_error(LOOK, "ResourceNotFoundException", "no");
    let mut bench = accepted().await;
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
    let arn = "arn:aws:firehose:us-east-1:123456789012:deliverystream/clicks";
    let gone = Script::new().json_error(DELETE, "ResourceNotFoundException", "no");
    assert_eq!(stream(arn).step(&gone).await, Ok(Step::ALREADY_GONE));
}

#[tokio::test]
async fn a_stream_that_takes_long_does_not_hold_the_run() {
    let mut bench = accepted().await;
    bench.pass(599);
    let deleting = || Script::new().json(LOOK, 200, found("DELETING", None));
    assert!(matches!(bench.step(&deleting()).await, Ok(Step::Pending { .. })));
    bench.pass(1);
    assert_eq!(bench.step(&deleting()).await, Ok(Step::DELETED));
}

/// By force only after a first DELETING_FAILED that an unusable key caused, and only once.
#[tokio::test]
async fn an_unusable_key_is_the_only_reason_for_force() {
    for failure in ["DISABLED_KMS_KEY", "KMS_KEY_NOT_FOUND", "KMS_ACCESS_DENIED", "RETIRE_KMS_GRANT_FAILED"] {
        let mut bench = accepted().await;
        let script = Script::new()
            .json(LOOK, 200, found("DELETING_FAILED", Some(failure)))
            .json(&["DeleteDeliveryStream", "\"AllowForceDelete\":true"], 200, json!({}))
            .json(LOOK, 200, found("DELETING_FAILED", Some(failure)));
        for _ in 0..2 {
            assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })), "{failure}");
        }
        let error = bench.step(&script).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, "DELETING_FAILED"));
        script.assert_done();
    }
    for failure in [Some("DELETE_ENI_FAILED"), Some("UNKNOWN_ERROR"), None] {
        let script = Script::new().json(LOOK, 200, found("DELETING_FAILED", failure));
        let error = accepted().await.step(&script).await.unwrap_err();
        assert_eq!(error.code, "DELETING_FAILED", "{failure:?}");
    }
}

#[tokio::test]
async fn what_passes_and_what_makes_no_call() {
    for (code, wait, budget) in [("ResourceInUseException", 10, 600), ("LimitExceededException", 2, 60)] {
        passes(|| stream("clicks"), DELETE, code, wait, budget).await;
    }
    let script = Script::new();
    for id in ["arn:aws:firehose:us-east-1:1:stream/clicks", "arn:aws:firehose:us-east-1:1:deliverystream/"] {
        assert!(matches!(stream(id).step(&script).await, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })), "{id}");
    }
    let elsewhere = stream("arn:aws:firehose:eu-west-1:1:deliverystream/clicks").step(&script).await.unwrap_err();
    assert_eq!(elsewhere.code, Code::WrongRegion.name());
    let mut shut = stream("clicks");
    shut.fence(false);
    assert_eq!(shut.step(&script).await.unwrap_err().class, ErrorClass::FenceShut);
}
