use ebb_core::{Code, ErrorClass, Step};
use serde_json::json;

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const TYPE: &str = "AWS::CertificateManager::Certificate";
const ARN: &str = "arn:aws:acm:us-east-1:123456789012:certificate/0f1e";
const DELETE: &[&str] = &["acm.us-east-1.", "DeleteCertificate", ARN];

fn certificate() -> Bench {
    Bench::new("AWS::CertificateManager::Certificate", ARN, json!({}))
}

fn in_use() -> Script {
    Script::new().json_error(DELETE, "ResourceInUseException", "Certificate is in use")
}

#[tokio::test]
async fn a_certificate_goes_and_one_that_is_not_there_is_gone() {
    assert_eq!(certificate().step(&Script::new().json(DELETE, 200, json!({}))).await, Ok(Step::DELETED));
    let script = Script::new().json_error(DELETE, "ResourceNotFoundException", "no");
    assert_eq!(certificate().step(&script).await, Ok(Step::ALREADY_GONE));
}

/// Certificates of distributions live in us-east-1: asked for in the stack's region they would not be found.
#[tokio::test]
async fn it_is_called_in_the_region_of_its_arn() {
    let arn = ARN.replace("us-east-1", "eu-central-1");
    let script = Script::new().json(&["acm.eu-central-1.", "DeleteCertificate", &arn], 200, json!({}));
    assert_eq!(Bench::new(TYPE, &arn, json!({})).step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn what_still_uses_it_is_named() {
    let users = json!({ "Certificate": { "InUseBy": ["arn:aws:cloudfront::123456789012:distribution/E1"] } });
    let script = || in_use().json(&["acm.us-east-1.", "DescribeCertificate", ARN], 200, users.clone());
    assert_passes(certificate(), script, 15, 1800).await;

    let mut bench = certificate();
    let Ok(Step::Pending { note, .. }) = bench.step(&script()).await else { panic!() };
    assert_eq!(note, "ResourceInUseException: held by arn:aws:cloudfront::123456789012:distribution/E1");
    bench.pass(1800);
    let error = bench.step(&script()).await.unwrap_err();
    let ending = "(for 1800 s; held by arn:aws:cloudfront::123456789012:distribution/E1)";
    assert!(error.class == ErrorClass::Terminal && error.message.ends_with(ending), "{error}");
}

/// That its users cannot be learnt does not change what the delete was answered; nor does that it went meanwhile.
#[tokio::test]
async fn a_look_that_fails_says_so_among_the_names() {
    for code in ["AccessDeniedException", "ResourceNotFoundException"] {
        let script = in_use().json_error(&["DescribeCertificate"], code, "no");
        let Ok(Step::Pending { note, .. }) = certificate().step(&script).await else { panic!() };
        assert_eq!(note, format!("ResourceInUseException: held by what uses it could not be listed ({code})"));
    }
}

#[tokio::test]
async fn passing_errors_pass_until_their_budget_ends() {
    for (code, wait, give_up) in [("ConflictException", 5, 120), ("ThrottlingException", 2, 60)] {
        assert_passes(certificate(), || Script::new().json_error(DELETE, code, "not now"), wait, give_up).await;
    }
    for (code, class) in [("InvalidArnException", ErrorClass::Terminal), ("AccessDeniedException", ErrorClass::Denied)] {
        let error = certificate().step(&Script::new().json_error(DELETE, code, "no")).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (class, code));
    }
}

#[tokio::test]
async fn nothing_goes_behind_a_shut_fence_or_without_a_certificates_arn() {
    assert_fenced(certificate(), Script::new()).await;
    for id in ["0f1e", "arn:aws:acm:us-east-1:123456789012:x/0f1e", "arn:aws:acm::123456789012:certificate/0f1e", ""] {
        assert_not_addressed(Bench::new(TYPE, id, json!({})), Code::MalformedPhysicalId).await;
    }
    assert_not_addressed(Bench::new(TYPE, "arn:***", json!({})), Code::MaskedAddress).await;
}
