//! What is looked at before the delete: regions, buckets, data guards, instances and groups under protection.

use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, ErrorClass, Look, Step};
use serde_json::json;

use super::event;
use crate::testing::{Bench, Script};

const LOCATION: &[&str] = &["GET", "?location"];

fn made_through_cloud_control(resource_type: &str, id: &str) -> Bench {
    let mut bench = Bench::new(resource_type, id, json!({ "Tags": [{ "Key": "aws-cdk:auto-delete-objects", "Value": "true" }] }));
    bench.resource.provisioned_by = ProvisionedBy::CloudControl;
    bench
}

fn location(constraint: &str) -> String {
    format!("<LocationConstraint>{constraint}</LocationConstraint>")
}

/// Cloud Control with a wrong-region client deletes a resource of the same name there.
#[tokio::test]
async fn an_arn_of_another_region_is_never_sent() {
    let script = Script::new();
    let mut bench = made_through_cloud_control("AWS::SNS::Topic", "arn:aws:sns:eu-west-1:123456789012:orders");
    assert_eq!(bench.step(&script).await.unwrap_err().code, Code::WrongRegion.name());
    assert!(script.seen().is_empty());
}

#[tokio::test]
async fn a_bucket_of_another_region_is_not_deleted() {
    for found in [location("eu-central-1"), location("EU")] {
        let script = Script::new().on(LOCATION, 200, found);
        let error = made_through_cloud_control("AWS::S3::Bucket", "assets").step(&script).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Terminal, Code::WrongRegion.name()));
        script.assert_done();
    }
    let script = Script::new().s3_error(LOCATION, 301, "PermanentRedirect", "elsewhere");
    let error = made_through_cloud_control("AWS::S3::Bucket", "assets").step(&script).await.unwrap_err();
    assert_eq!(error.code, Code::WrongRegion.name());
}

/// An empty constraint is us-east-1; a probe that says nothing leaves it to the recorded region.
#[tokio::test]
async fn a_bucket_of_this_region_or_of_an_unknown_one_goes() {
    for probe in [
        Script::new().on(LOCATION, 200, location("")),
        Script::new().s3_error(LOCATION, 403, "AccessDenied", "no"),
        Script::new().s3_error(LOCATION, 404, "NoSuchBucket", "no"),
    ] {
        let script = probe.json(&["DeleteResource ", "\"Identifier\":\"assets\""], 200, event("SUCCESS"));
        assert_eq!(made_through_cloud_control("AWS::S3::Bucket", "assets").step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
    let slow = Script::new().s3_error(LOCATION, 503, "SlowDown", "later");
    let answer = made_through_cloud_control("AWS::S3::Bucket", "assets").step(&slow).await;
    assert!(matches!(answer, Ok(Step::Pending { .. })), "{answer:?}");
}

/// A handler knows nothing of consent: the data guard of the native step holds on this road, too.
#[tokio::test]
async fn a_bucket_with_data_is_refused_without_consent() {
    let full =
        "<ListVersionsResult><Name>assets</Name><Version><Key>k</Key><VersionId>1</VersionId></Version></ListVersionsResult>";
    let script = Script::new().on(LOCATION, 200, location("")).on(&["versions&max-keys=1"], 200, full);
    let mut bench = made_through_cloud_control("AWS::S3::Bucket", "assets");
    bench.resource.properties.clear();
    assert_eq!(bench.step(&script).await.unwrap_err().code, Code::DataGuard.name());
    script.assert_done();
    let look = Script::new().on(&["versions"], 200, full);
    assert!(matches!(bench.look(&look).await, Ok(Look::Refuses { code: Code::DataGuard, .. })));
}

fn instance() -> Bench {
    let mut bench = made_through_cloud_control("AWS::EC2::Instance", "i-1");
    bench.run.options.remove_protection = true;
    bench
}

const OFF: &[&str] = &["ModifyInstanceAttribute", "DisableApiTermination.Value=false", "InstanceId=i-1"];
const DONE: &str = "<ModifyInstanceAttributeResponse><return>true</return></ModifyInstanceAttributeResponse>";

/// The switch may take some seconds to count: at most five deletes, each after another switch.
#[tokio::test]
async fn an_instance_under_termination_protection_is_asked_five_times() {
    let message = "The instance 'i-1' may not be terminated. Modify its 'disableApiTermination' instance attribute";
    let refused = json!({ "ProgressEvent": {
        "RequestToken": "t", "OperationStatus": "FAILED", "ErrorCode": "GeneralServiceException", "StatusMessage": message
    } });
    let mut bench = instance();
    for n in 1..=5 {
        let script = Script::new().on(OFF, 200, DONE).json(&["DeleteResource "], 200, refused.clone());
        let answer = bench.step(&script).await;
        script.assert_done();
        match answer {
            Ok(Step::Pending { look_again, .. }) => assert_eq!((n < 5, look_again.as_secs()), (true, 3 * n)),
            other => assert_eq!((n, other.is_err()), (5, true)),
        }
    }
}

#[tokio::test]
async fn an_instance_goes_once_its_protection_is_off() {
    for switch in [Script::new().on(OFF, 200, DONE), Script::new().ec2_error(OFF, "UnauthorizedOperation", "no")] {
        let script = switch.json(&["DeleteResource ", "i-1"], 200, event("SUCCESS"));
        assert_eq!(instance().step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
    let mut shut = instance();
    shut.fence(false);
    assert_eq!(shut.step(&Script::new()).await.unwrap_err().class, ErrorClass::FenceShut);
}
