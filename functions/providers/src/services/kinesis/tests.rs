use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, passes};

const DELETE: &[&str] = &["Kinesis_20131202.DeleteStream", "\"StreamName\":\"clicks\"", "\"EnforceConsumerDeletion\":true"];
const LOOK: &[&str] = &["Kinesis_20131202.DescribeStreamSummary", "\"StreamName\":\"clicks\""];
const CONSUMER: &str = "arn:aws:kinesis:us-east-1:123456789012:stream/clicks/consumer/c:1";

fn stream(id: &str) -> Bench {
    Bench::new("AWS::Kinesis::Stream", id, json!({}))
}

fn deleting() -> Value {
    json!({ "StreamDescriptionSummary": {
        "StreamName": "clicks", "StreamARN": "arn:aws:kinesis:us-east-1:1:stream/clicks", "StreamStatus": "DELETING",
        "RetentionPeriodHours": 24, "StreamCreationTimestamp": 1_765_000_000, "EnhancedMonitoring": [], "OpenShardCount": 1
    } })
}

#[tokio::test]
async fn a_stream_goes_with_its_consumers_and_is_looked_at_until_it_is_gone() {
    for id in ["clicks", "arn:aws:kinesis:us-east-1:123456789012:stream/clicks"] {
        let script = Script::new().json(DELETE, 200, json!({})).json(LOOK, 200, deleting()).json_error(
            LOOK,
            "ResourceNotFoundException",
            "no",
        );
        let mut bench = stream(id);
        for _ in 0..2 {
            let answer = bench.step(&script).await;
            assert!(matches!(answer, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == 2), "{answer:?}");
        }
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

/// An accepted delete counts as gone when the stream stays DELETING for long.
#[tokio::test]
async fn a_stream_that_takes_long_does_not_hold_the_run() {
    let script = Script::new().json(DELETE, 200, json!({})).json(LOOK, 200, deleting()).json(LOOK, 200, deleting());
    let mut bench = stream("clicks");
    bench.step(&script).await.unwrap();
    bench.pass(299);
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    bench.pass(1);
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
}

#[tokio::test]
async fn what_is_not_there_is_gone() {
    let script = Script::new().json_error(DELETE, "ResourceNotFoundException", "no");
    assert_eq!(stream("clicks").step(&script).await, Ok(Step::ALREADY_GONE));
}

/// `LimitExceededException` is a rate limit in this service.
#[tokio::test]
async fn what_passes() {
    for (code, wait, budget) in [("ResourceInUseException", 5, 300), ("LimitExceededException", 2, 120)] {
        passes(|| stream("clicks"), DELETE, code, wait, budget).await;
    }
    for (code, wait, budget) in [("ResourceInUseException", 5, 120), ("LimitExceededException", 2, 120)] {
        let consumer = || Bench::new("AWS::Kinesis::StreamConsumer", CONSUMER, json!({}));
        passes(consumer, &["DeregisterStreamConsumer"], code, wait, budget).await;
    }
}

#[tokio::test]
async fn what_cannot_be_addressed_makes_no_call() {
    let script = Script::new();
    for id in ["arn:aws:kinesis:us-east-1:1:other/clicks", "arn:aws:kinesis:us-east-1:1:stream/", "arn:aws:kinesis"] {
        assert!(matches!(stream(id).step(&script).await, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })), "{id}");
    }
    let mut consumer = Bench::new("AWS::Kinesis::StreamConsumer", "c", json!({}));
    assert!(matches!(consumer.step(&script).await, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })));
    let elsewhere = "arn:aws:kinesis:eu-west-1:123456789012:stream/clicks";
    for name in ["AWS::Kinesis::Stream", "AWS::Kinesis::StreamConsumer"] {
        let error = Bench::new(name, elsewhere, json!({})).step(&script).await.unwrap_err();
        assert_eq!(error.code, Code::WrongRegion.name(), "{name}");
    }
    assert!(script.seen().is_empty());
}

/// The stream's delete takes its consumers along.
#[tokio::test]
async fn a_consumer_goes_in_one_call_or_went_with_its_stream() {
    let wants = &["Kinesis_20131202.DeregisterStreamConsumer", CONSUMER];
    let script = Script::new().json(wants, 200, json!({})).json_error(wants, "ResourceNotFoundException", "no");
    let mut bench = Bench::new("AWS::Kinesis::StreamConsumer", CONSUMER, json!({}));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();
}

#[tokio::test]
async fn behind_a_shut_fence_nothing_is_deleted() {
    for (name, id) in [("AWS::Kinesis::Stream", "clicks"), ("AWS::Kinesis::StreamConsumer", CONSUMER)] {
        let mut bench = Bench::new(name, id, json!({}));
        bench.fence(false);
        assert_eq!(bench.step(&Script::new()).await.unwrap_err().class, ErrorClass::FenceShut, "{name}");
    }
}
