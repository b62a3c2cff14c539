//! What holds for all services: codes before status, status before words, and the words that deceive.

use std::time::Duration;

use ebb_core::ErrorClass;

use super::{PASSING_TEXTS, Rules, THROTTLES, classify, retry};
use crate::call::CallError;
use crate::registry::find;

fn error(code: &str, message: &str, status: u16) -> CallError {
    CallError { status: Some(status), ..CallError::inside(code, message) }
}

fn general(code: &str, message: &str, status: u16) -> ErrorClass {
    classify(&error(code, message, status), &Rules::NONE).class
}

fn passes(after: u64, give_up: u64) -> ErrorClass {
    ErrorClass::Retry { after: Duration::from_secs(after), give_up: Some(Duration::from_secs(give_up)) }
}

#[test]
fn rate_limits_go_by_code_or_status() {
    assert_eq!(THROTTLES.len(), 14);
    for code in THROTTLES {
        assert_eq!(general(code, "", 400), ErrorClass::Throttled, "{code}");
    }
    for status in [429, 503] {
        assert_eq!(general("Odd", "", status), ErrorClass::Throttled, "{status}");
    }
    assert_eq!(general("LimitExceeded", "Cannot exceed quota", 409), ErrorClass::Terminal, "IAM's quota is no rate limit");
}

/// The message is often empty on a 500, so the status comes first.
#[test]
fn servers_that_fail_pass() {
    for status in [500, 502, 504] {
        let after = Duration::from_secs(3);
        assert_eq!(general("Odd", "", status), ErrorClass::Retry { after, give_up: None }, "{status}");
    }
    assert_eq!(general("NotImplemented", "", 501), ErrorClass::Terminal);
    let no_answer = CallError { status: None, ..CallError::inside("", "connection reset") };
    assert!(matches!(classify(&no_answer, &Rules::NONE).class, ErrorClass::Retry { give_up: None, .. }));
}

/// As a service words it, in any letter case, with its wait and its budget.
#[test]
fn texts_that_pass_on_a_delete() {
    let texts = [
        ("The function is currently in the following state: Pending", 2, 120),
        ("The vpc 'vpc-1' has dependencies and cannot be deleted.", 5, 600),
        ("The gateway can't be deleted since it has members", 5, 300),
        ("DependencyViolation: subnet-1", 5, 600),
        ("Network vpc-1 has some mapped public address(es). Please unmap", 10, 600),
        ("resource sg-1 has a dependent object", 5, 1800),
        ("Schema is currently being altered", 2, 120),
        ("A conflicting conditional operation is currently in progress", 5, 120),
        ("There is a concurrent update operation on it", 1, 60),
        ("Cannot delete the event source mapping because it is in use.", 5, 120),
        ("Rate exceeded", 2, 300),
        ("Too Many Requests", 2, 300),
        ("The zone is marked disabled for mutation", 15, 600),
        ("There is an operation running on the Cluster. Please try again", 15, 1200),
        ("Unable to complete operation due to concurrent modification. Please try again later.", 2, 120),
        ("Cluster cannot be deleted, it still contains DB instances in non-deleting state.", 15, 1800),
        ("The namespace has associated services", 10, 330),
        ("Lambda was unable to delete it because it is a replicated function", 1800, 43_200),
        ("It is used by a composite alarm", 3, 120),
        ("The instance is already being deleted", 10, 3600),
    ];
    assert_eq!(PASSING_TEXTS.len(), texts.len());
    for (message, after, give_up) in texts {
        assert_eq!(general("ValidationError", message, 400), passes(after, give_up), "{message}");
        assert_eq!(general("ValidationError", &message.to_uppercase(), 400), passes(after, give_up), "{message}");
    }
    assert_eq!(general("DependencyViolation", "", 400), passes(5, 600), "as a code too");
}

/// A dependency that is not there yet, a role that is not visible yet: these are a create's. On a delete "does not exist"
/// is no reason to wait, and a denial is a denial.
#[test]
fn texts_of_creates_are_final_on_a_delete() {
    for message in [
        "The table does not exist",
        "The secret is scheduled for deletion",
        "Could not deliver test message",
        "The role cannot be assumed",
        "Firehose is unable to assume role",
        "is not authorized to perform: sqs:DeleteQueue",
        "Invalid principal in policy",
        "The user with name x cannot be found",
        "KMS key is invalid for CreateGrant",
        "You must wait 60 seconds after deleting a queue",
        "cannot delete table while indexes are being created",
    ] {
        assert_eq!(general("ValidationException", message, 400), ErrorClass::Terminal, "{message}");
    }
}

#[test]
fn denials_are_final_and_no_sign_of_absence() {
    for code in ["AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError", "NotAuthorizedException"]
    {
        assert_eq!(general(code, "Role not found: does not exist", 403), ErrorClass::Denied, "{code}");
    }
}

#[test]
fn protections_are_named_whatever_the_code() {
    for (code, message) in [
        ("OperationNotPermitted", "no"),
        ("OperationNotPermittedException", "no"),
        ("ValidationError", "Cannot delete while deletion protection is enabled"),
        ("GeneralServiceException", "prevent-table-deletion is on"),
        ("ValidationError", "The instance may not be terminated"),
        ("ValidationError", "Modify its 'disableApiTermination' attribute"),
    ] {
        assert_eq!(general(code, message, 400), ErrorClass::Protected, "{code} {message}");
    }
}

#[test]
fn quotas_routes_and_regions_need_a_person() {
    for code in [
        "OptInRequired",
        "ServiceQuotaExceededException",
        "SnapshotQuotaExceeded",
        "UnsupportedActionException",
        "TypeNotFoundException",
        "UnmodifiableEntity",
    ] {
        assert_eq!(general(code, "Rate exceeded", 429), ErrorClass::Terminal, "{code}");
    }
    for code in ["ValidationException", "InvalidParameterValue", "InvalidInputException", "MalformedInput", "BucketNotEmpty"] {
        assert_eq!(general(code, "no", 400), ErrorClass::Terminal, "{code}");
    }
}

/// Nothing is gone by words alone: they may be about a role, a table, a parent.
#[test]
fn not_found_in_words_is_never_gone() {
    for message in ["does not exist", "not found", "NoSuchEntity", "NotFoundException", "InvalidNetworkInterfaceID.NotFound"] {
        for code in ["", "ValidationError", "InvalidParameterException", "ClientException"] {
            assert_ne!(general(code, message, 400), ErrorClass::AlreadyGone, "{code} {message}");
        }
    }
}

/// A resource called PageNotFound or MyDependencyViolationSub would flip the verdict.
#[test]
fn a_name_that_people_chose_does_not_flip_the_verdict() {
    for name in ["HandleNotFoundException", "MyDependencyViolationSub", "my-DependencyViolation", "NoSuchEntity-queue"] {
        let message = format!("Invalid name {name}");
        assert_eq!(general("ValidationException", &message, 400), ErrorClass::Terminal, "{name}");
    }
}

/// Our own session or clock says nothing of the resource; a session is renewed within two minutes or not at all.
#[test]
fn expired_credentials_do_not_judge_a_resource() {
    for code in ["ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException", "RequestExpired"]
    {
        assert_eq!(general(code, "not found", 403), passes(10, 120), "{code}");
    }
}

/// Gone before protected before final before passing, and all of them before what holds for all services.
#[test]
fn a_types_own_rules_come_first() {
    const RULES: Rules = Rules {
        gone: &["A~gone"],
        retry: &[retry("A", 7, 70), retry("ThrottlingException", 2, 60)],
        terminal: &["A~never", "Throttling"],
        protected: &["A~protected"],
    };
    for (code, message, class) in [
        ("A", "gone, protected, never", ErrorClass::AlreadyGone),
        ("A", "protected, never", ErrorClass::Protected),
        ("A", "never", ErrorClass::Terminal),
        ("A", "busy", passes(7, 70)),
        ("ThrottlingException", "", passes(2, 60)),
        ("Throttling", "", ErrorClass::Terminal),
    ] {
        assert_eq!(classify(&error(code, message, 400), &RULES).class, class, "{code} {message}");
    }
    let other = CallError { about_other: true, ..error("A", "gone", 400) };
    assert_eq!(classify(&other, &RULES).class, passes(7, 70), "its not-found is not ours");
}

/// Answers that look like absence, by the types that give them.
#[test]
fn what_looks_gone_but_is_not() {
    for (resource_type, code, message) in [
        ("AWS::Route53::RecordSet", "InvalidChangeBatch", "the values provided do not match the current values"),
        ("AWS::ECS::Service", "ClientException", "rate limit"),
        ("AWS::ECS::Service", "InvalidParameterException", "bad"),
        ("AWS::ECS::Service", "ServiceNotActiveException", "Service was not ACTIVE"),
        ("AWS::Cognito::UserPool", "InvalidParameterException", "bad"),
        ("AWS::AutoScaling::AutoScalingGroup", "ValidationError", "bad"),
        ("AWS::EC2::EIP", "InvalidParameterValue", "bad"),
        ("AWS::EC2::EIP", "AuthFailure", "in use"),
        ("AWS::SNS::TopicPolicy", "InvalidParameter", "empty policy"),
        ("AWS::S3::Bucket", "PermanentRedirect", "elsewhere"),
        ("AWS::S3::Bucket", "AuthorizationHeaderMalformed", "the region is wrong"),
        ("AWS::S3::Bucket", "AccessDenied", "no"),
        ("AWS::Lambda::Function", "AccessDeniedException", "not found"),
    ] {
        if let Some(def) = find(resource_type) {
            assert_ne!(classify(&error(code, message, 400), &def.rules).class, ErrorClass::AlreadyGone, "{resource_type} {code}");
        }
    }
}
