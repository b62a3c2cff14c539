use super::*;
use crate::VirtualClock;
use crate::replay::{Answer, Replay, answer};

const ACCOUNT: &str = "123456789012";
const IDENTITY: &str = r#"<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
<Account>123456789012</Account><UserId>u</UserId><Arn>a</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>"#;
const DENIED: &str = "<Error><Code>AccessDenied</Code><Message>no</Message></Error>";
const NO_BUCKET: &str = "<Error><Code>NoSuchBucket</Code><Message>no</Message></Error>";
const EMPTY: &str = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
const USED: &str =
    "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>cdkd/S/r/state.json</Key></Contents></ListBucketResult>";

fn located(region: &str) -> Answer {
    let body = format!(r#"<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{region}</LocationConstraint>"#);
    answer(200, body.leak())
}

fn accounts(answers: impl IntoIterator<Item = Answer>) -> (AwsAccounts, Replay) {
    let replay = Replay::new(answers);
    let clock = Arc::new(VirtualClock::starting_at(0));
    (AwsAccounts::new(Arc::new(Sessions::of(replay.config(), clock))), replay)
}

async fn find(answers: impl IntoIterator<Item = Answer>, name: Option<&str>) -> (Result<BucketPlace, Refusal>, Replay) {
    let (accounts, replay) = accounts(answers);
    (accounts.find_bucket(None, "run", ACCOUNT, name, Some("eu-central-1")).await, replay)
}

#[tokio::test(start_paused = true)]
async fn the_account_is_asked_for_once() {
    let (accounts, replay) = accounts([answer(200, IDENTITY)]);
    for _ in 0..2 {
        assert_eq!(accounts.account(None, "run").await.unwrap(), ACCOUNT);
    }
    assert!(replay.is_used_up());
}

// Never cache a failure; refuse to start without an account.
#[tokio::test(start_paused = true)]
async fn an_account_that_cannot_be_resolved_refuses_and_is_asked_for_again() {
    let expired = r#"<ErrorResponse><Error><Code>ExpiredToken</Code><Message>m</Message></Error></ErrorResponse>"#;
    let (accounts, _) = accounts([answer(403, expired), answer(200, IDENTITY)]);
    let refusal = accounts.account(None, "run").await.unwrap_err();
    assert_eq!(refusal.ending, Ending::AccessDenied);
    assert!(refusal.message.contains("ExpiredToken"), "{refusal}");
    assert_eq!(accounts.account(None, "run").await.unwrap(), ACCOUNT);
}

// An explicit name is used verbatim, no probing.
#[tokio::test(start_paused = true)]
async fn a_named_bucket_is_only_located() {
    let (place, replay) = find([located("us-west-2")], Some("my-state")).await;
    assert_eq!(place.unwrap(), BucketPlace { name: "my-state".into(), region: "us-west-2".into(), warnings: vec![] });
    let sent = &replay.sent()[0];
    assert!(sent.uri.contains("my-state") && sent.uri.contains("location"), "{}", sent.uri);
    assert_eq!(sent.header("x-amz-expected-bucket-owner"), Some(ACCOUNT));
}

#[tokio::test(start_paused = true)]
async fn an_empty_location_is_us_east_1_and_eu_is_eu_west_1() {
    assert_eq!(find([located("")], Some("b")).await.0.unwrap().region, "us-east-1");
    assert_eq!(find([located("EU")], Some("b")).await.0.unwrap().region, "eu-west-1");
    assert_eq!(find([located("ap-new-9")], Some("b")).await.0.unwrap().region, "ap-new-9");
}

#[tokio::test(start_paused = true)]
async fn a_location_is_asked_for_once_and_a_failure_is_not_kept() {
    let unavailable = || answer(503, "<Error><Code>SlowDown</Code></Error>");
    let (accounts, replay) = accounts([unavailable(), unavailable(), unavailable(), located("us-west-2")]);
    let find = || accounts.find_bucket(None, "run", ACCOUNT, Some("b"), None);
    let fallback = find().await.unwrap();
    assert_eq!((fallback.region.as_str(), fallback.warnings.len()), ("us-east-1", 1));
    for _ in 0..2 {
        assert_eq!(find().await.unwrap().region, "us-west-2");
    }
    assert!(replay.is_used_up());
}

#[tokio::test(start_paused = true)]
async fn an_answer_from_the_wrong_region_names_the_right_one() {
    for (status, code) in [(301, "PermanentRedirect"), (400, "AuthorizationHeaderMalformed")] {
        let body = format!("<Error><Code>{code}</Code></Error>");
        let place = find([answer(status, body.leak()).with("x-amz-bucket-region", "eu-west-3")], Some("b")).await.0.unwrap();
        assert_eq!((place.region.as_str(), place.warnings.len()), ("eu-west-3", 0));
    }
    let denied = answer(403, DENIED).with("x-amz-bucket-region", "eu-west-3");
    assert_eq!(find([denied], Some("b")).await.0.unwrap_err().ending, Ending::AccessDenied);
}

// A foreign-owned bucket answers 403: a hard refusal that names the bucket.
#[tokio::test(start_paused = true)]
async fn a_foreign_bucket_is_refused_by_name() {
    let refusal = find([answer(403, DENIED)], Some("theirs")).await.0.unwrap_err();
    assert_eq!(refusal.ending, Ending::AccessDenied);
    assert!(refusal.message.contains("theirs"), "{refusal}");
    let refusal = find([answer(404, NO_BUCKET)], Some("nowhere")).await.0.unwrap_err();
    assert_eq!(refusal.ending, Ending::BucketNotFound);
    assert!(refusal.message.contains("nowhere"), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn without_a_name_both_defaults_are_probed_from_us_east_1() {
    let (place, replay) = find([answer(301, ""), answer(404, ""), located("eu-central-1")], None).await;
    assert_eq!(
        place.unwrap(),
        BucketPlace { name: format!("cdkd-state-{ACCOUNT}"), region: "eu-central-1".into(), warnings: vec![] }
    );
    let sent = replay.sent();
    assert_eq!([&*sent[0].method, &*sent[1].method], ["HEAD", "HEAD"]);
    assert!(
        sent[0].uri.contains("cdkd-state-123456789012.s3.us-east-1")
            || sent[0].uri.contains("cdkd-state-123456789012.s3.amazonaws"),
        "{}",
        sent[0].uri
    );
    assert!(sent[1].uri.contains("cdkd-state-123456789012-eu-central-1"), "{}", sent[1].uri);
    assert!(sent.iter().all(|sent| sent.header("x-amz-expected-bucket-owner") == Some(ACCOUNT)));
}

#[tokio::test(start_paused = true)]
async fn only_the_legacy_default_is_used_with_a_warning() {
    let place = find([answer(404, ""), answer(200, ""), located("eu-central-1")], None).await.0.unwrap();
    assert_eq!(place.name, format!("cdkd-state-{ACCOUNT}-eu-central-1"));
    assert_eq!(place.warnings.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn of_two_defaults_what_they_hold_decides() {
    let both = |listings: Vec<Answer>| {
        let mut listings = listings.into_iter();
        let mut answers = vec![answer(200, ""), answer(200, ""), located(""), listings.next().unwrap()];
        if let Some(second) = listings.next() {
            answers.extend([located(""), second]);
        }
        answers
    };
    let (place, replay) = find(both(vec![answer(200, USED)]), None).await;
    assert_eq!(place.unwrap().name, format!("cdkd-state-{ACCOUNT}"));
    assert!(replay.is_used_up() && replay.sent()[3].uri.contains("prefix=cdkd%2F"));
    let place = find(both(vec![answer(200, EMPTY), answer(200, USED)]), None).await.0.unwrap();
    assert_eq!(place.name, format!("cdkd-state-{ACCOUNT}-eu-central-1"));
    assert_eq!(place.warnings.len(), 1);
    let place = find(both(vec![answer(200, EMPTY), answer(200, EMPTY)]), None).await.0.unwrap();
    assert_eq!(place.name, format!("cdkd-state-{ACCOUNT}"));
}

#[tokio::test(start_paused = true)]
async fn a_denied_default_is_refused_and_a_failing_one_is_an_error() {
    let refusal = find([answer(403, ""), answer(200, "")], None).await.0.unwrap_err();
    assert_eq!(refusal.ending, Ending::AccessDenied);
    let refusal = find([answer(404, ""), answer(404, "")], None).await.0.unwrap_err();
    assert_eq!(refusal.ending, Ending::BucketNotFound);
    for failing in [[Answer::Lost, Answer::Lost, Answer::Lost], [answer(500, ""), answer(500, ""), answer(500, "")]] {
        let refusal = find(failing, None).await.0.unwrap_err();
        assert_eq!(refusal.ending, Ending::Error, "{refusal}");
    }
}

fn run() -> Run {
    serde_json::from_value(serde_json::json!({
        "runId": "r", "execution": "e", "owner": "o", "timestamp": 1, "account": "210987654321", "bucket": "my-state",
        "bucketRegion": "eu-west-3", "prefix": "cdkd", "stack": "S", "region": "us-west-2", "dryRun": false,
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_runs_bucket_is_reached_in_its_own_region_and_for_its_owner() {
    let (accounts, replay) = accounts([answer(404, "<Error><Code>NoSuchKey</Code></Error>")]);
    let bucket = accounts.bucket(&run()).await.unwrap();
    assert_eq!(bucket.name(), "my-state");
    assert!(bucket.get("k").await.unwrap().is_none());
    let sent = &replay.sent()[0];
    assert!(sent.uri.contains("my-state.s3.eu-west-3."), "{}", sent.uri);
    assert_eq!(sent.header("x-amz-expected-bucket-owner"), Some("210987654321"));
}

// A container makes one client for each region; what a target's session signs for ends with the session, and is not kept.
#[tokio::test(start_paused = true)]
async fn the_apps_own_clients_are_kept_and_no_targets() {
    let assumed = "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials>\
        <AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>\
        <Expiration>2026-08-15T10:30:12Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";
    let missing = || answer(404, "<Error><Code>NoSuchKey</Code></Error>");
    let (accounts, replay) = accounts([answer(200, assumed), missing(), missing()]);
    let target = Target { role_arn: "arn:aws:iam::210987654321:role/ebb-target".into(), external_id: None };
    let of_target = accounts.bucket(&Run { target: Some(target), ..run() }).await.unwrap();
    assert!(accounts.clients.lock().await.is_empty());
    let own = accounts.bucket(&run()).await.unwrap();
    accounts.bucket(&Run { run_id: "another".into(), ..run() }).await.unwrap();
    accounts.bucket(&Run { bucket_region: "us-east-1".into(), ..run() }).await.unwrap();
    assert_eq!(accounts.clients.lock().await.len(), 2);
    for bucket in [of_target, own] {
        assert!(bucket.get("k").await.unwrap().is_none());
    }
    let signers: Vec<bool> = replay.sent()[1..].iter().map(|s| s.header("authorization").unwrap().contains("ASIA1")).collect();
    assert_eq!(signers, [true, false]);
}
