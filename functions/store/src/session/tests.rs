use super::*;
use crate::VirtualClock;
use crate::replay::{Answer, Replay, answer};

const NOW: Millis = 1_786_786_212_000; // 2026-08-15T09:30:12Z
const ASSUMED: &str = r#"<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>2026-08-15T10:30:12Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"#;
const DENIED: &str = r#"<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>AccessDenied</Code><Message>User is not authorized</Message></Error></ErrorResponse>"#;

fn target() -> Target {
    Target { role_arn: "arn:aws:iam::210987654321:role/ebb-target".into(), external_id: Some("ext-1".into()) }
}

fn sessions(answers: impl IntoIterator<Item = Answer>) -> (Arc<Sessions>, Replay, VirtualClock) {
    let replay = Replay::new(answers);
    let clock = VirtualClock::starting_at(NOW);
    (Arc::new(Sessions::of(replay.config(), Arc::new(clock))), replay, clock)
}

async fn key_of(config: &SdkConfig) -> String {
    config.credentials_provider().unwrap().provide_credentials().await.unwrap().access_key_id().to_owned()
}

#[tokio::test(start_paused = true)]
async fn without_a_target_the_functions_own_role_works_in_the_region_asked_for() {
    let (sessions, replay, _) = sessions([]);
    let config = sessions.config(None, "run-1", "eu-west-1").await.unwrap();
    assert_eq!(config.region().map(Region::as_ref), Some("eu-west-1"));
    assert_eq!(key_of(&config).await, "AKID");
    assert!(replay.sent().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_targets_role_is_assumed_for_an_hour_with_external_id_name_and_tag() {
    let (sessions, replay, _) = sessions([answer(200, ASSUMED)]);
    let config = sessions.config(Some(&target()), "20260815T093012123Z-1a2b3c4d", "us-west-2").await.unwrap();
    assert_eq!(key_of(&config).await, "ASIA1");
    let sent = &replay.sent()[0];
    assert!(sent.uri.starts_with("https://sts.us-east-1."), "from the app's own region: {}", sent.uri);
    for part in [
        "RoleArn=arn%3Aaws%3Aiam%3A%3A210987654321%3Arole%2Febb-target",
        "RoleSessionName=20260815T093012123Z-1a2b3c4d",
        "ExternalId=ext-1",
        "DurationSeconds=3600",
        "Tags.member.1.Key=ebb%3Arun",
        "Tags.member.1.Value=20260815T093012123Z-1a2b3c4d",
    ] {
        assert!(sent.body.contains(part), "{part} in {}", sent.body);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_is_shared_until_five_minutes_before_its_end() {
    let (sessions, replay, clock) = sessions([answer(200, ASSUMED), answer(200, ASSUMED)]);
    for _ in 0..2 {
        sessions.config(Some(&target()), "run-1", "us-west-2").await.unwrap();
    }
    assert_eq!(replay.sent().len(), 1);
    clock.sleep(Duration::from_secs(3600 - 300 - 1)).await;
    sessions.config(Some(&target()), "run-1", "eu-west-1").await.unwrap();
    assert_eq!(replay.sent().len(), 1);
    clock.sleep(Duration::from_secs(1)).await;
    sessions.config(Some(&target()), "run-1", "us-west-2").await.unwrap();
    assert_eq!(replay.sent().len(), 2);
}

// The session's name and tag tell the target account which run acts.
#[tokio::test(start_paused = true)]
async fn another_run_or_external_id_has_another_session() {
    let (sessions, replay, _) = sessions([answer(200, ASSUMED), answer(200, ASSUMED), answer(200, ASSUMED)]);
    sessions.config(Some(&target()), "run-1", "us-west-2").await.unwrap();
    sessions.config(Some(&target()), "run-2", "us-west-2").await.unwrap();
    let other = Target { external_id: None, ..target() };
    sessions.config(Some(&other), "run-2", "us-west-2").await.unwrap();
    assert!(replay.is_used_up());
    assert!(!replay.sent()[2].body.contains("ExternalId"));
}

#[tokio::test(start_paused = true)]
async fn where_tags_are_not_allowed_the_session_has_none() {
    let (sessions, replay, _) = sessions([answer(403, DENIED), answer(200, ASSUMED)]);
    sessions.config(Some(&target()), "run-1", "us-west-2").await.unwrap();
    let sent = replay.sent();
    assert!(sent[0].body.contains("Tags.member.1.Key"));
    assert!(!sent[1].body.contains("Tags.member"));
}

#[tokio::test(start_paused = true)]
async fn a_denied_role_is_named_with_what_to_mend_and_asked_for_again_next_time() {
    let (sessions, _, _) = sessions([answer(403, DENIED), answer(403, DENIED), answer(200, ASSUMED)]);
    let refusal = sessions.config(Some(&target()), "run-1", "us-west-2").await.unwrap_err();
    assert_eq!(refusal.ending, Ending::AccessDenied);
    assert!(refusal.message.contains("role/ebb-target") && refusal.message.contains("trust policy"), "{refusal}");
    sessions.config(Some(&target()), "run-1", "us-west-2").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_sts_is_not_a_denial() {
    let (sessions, replay, _) = sessions([Answer::Lost, Answer::Lost, Answer::Lost]);
    let refusal = sessions.config(Some(&target()), "run-1", "us-west-2").await.unwrap_err();
    assert_eq!(refusal.ending, Ending::Error);
    assert!(replay.is_used_up(), "three attempts");
}

#[tokio::test(start_paused = true)]
async fn fresh_credentials_are_a_session_of_their_own_each_time() {
    let (sessions, replay, _) = sessions([answer(200, ASSUMED), answer(200, ASSUMED), answer(200, ASSUMED)]);
    sessions.config(Some(&target()), "run-1", "us-west-2").await.unwrap();
    let fresh = sessions.fresh(Some(&target()), "run-1").unwrap();
    for _ in 0..2 {
        assert_eq!(fresh.provide_credentials().await.unwrap().access_key_id(), "ASIA1");
    }
    assert_eq!(replay.sent().len(), 3);
    assert!(sessions.fresh(None, "run-1").is_none());
}

#[test]
fn credentials_never_show() {
    let (sessions, ..) = {
        let replay = Replay::new([]);
        (Arc::new(Sessions::of(replay.config(), Arc::new(crate::SystemClock))), replay)
    };
    let shown = format!("{:?}", sessions.fresh(Some(&target()), "run-1").unwrap());
    assert!(!shown.contains("ext-1") && !shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn what_is_loaded_has_the_time_outs_that_the_fence_counts_on() {
    // A region keeps the loader from asking the network for one.
    let own = loader().region(Region::from_static("us-east-1")).load().await;
    let timeouts = own.timeout_config().unwrap();
    assert_eq!(timeouts.operation_timeout(), Some(Duration::from_secs(20)));
    assert_eq!(timeouts.connect_timeout(), Some(Duration::from_secs(3)));
    assert_eq!(own.retry_config().unwrap().max_attempts(), 3);
}
