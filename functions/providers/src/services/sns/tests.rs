use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script};

const TOPIC: &str = "arn:aws:sns:us-east-1:123456789012:orders";
const SUBSCRIPTION: &str = "arn:aws:sns:us-east-1:123456789012:orders:0f1e2d3c-1111-2222-3333-444455556666";

async fn answer(kind: &str, id: &str, properties: Value, script: &Script) -> Result<Step, String> {
    Bench::new(&format!("AWS::SNS::{kind}"), id, properties).step(script).await.map_err(|e| e.code)
}

fn done(action: &str) -> String {
    format!("<{action}Response><{action}Result/><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></{action}Response>")
}

#[tokio::test]
async fn a_topic_goes_in_one_call() {
    let script = Script::new().on(
        &["Action=DeleteTopic", "TopicArn=arn%3Aaws%3Asns%3Aus-east-1%3A123456789012%3Aorders"],
        200,
        done("DeleteTopic"),
    );
    assert_eq!(answer("Topic", TOPIC, json!({}), &script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn what_is_not_there_is_gone() {
    for code in ["NotFound", "NotFoundException"] {
        let script = Script::new()
            .query_error(&["DeleteTopic"], code, "no")
            .query_error(&["Unsubscribe"], code, "no")
            .query_error(&["SetTopicAttributes"], code, "no");
        assert_eq!(answer("Topic", TOPIC, json!({}), &script).await, Ok(Step::ALREADY_GONE));
        assert_eq!(answer("Subscription", SUBSCRIPTION, json!({}), &script).await, Ok(Step::ALREADY_GONE));
        assert_eq!(answer("TopicPolicy", TOPIC, json!({}), &script).await, Ok(Step::ALREADY_GONE));
    }
}

#[tokio::test]
async fn passing_errors_pass_and_denials_do_not() {
    let passing: &[(&str, &str, &[&str])] = &[
        ("Topic", TOPIC, &["ConcurrentAccess", "InternalError", "StaleTag"]),
        ("Subscription", SUBSCRIPTION, &["InternalError"]),
        ("TopicPolicy", TOPIC, &["ConcurrentAccess", "InternalError"]),
    ];
    for (kind, id, codes) in passing {
        for code in *codes {
            let script = Script::new().query_error(&["Action="], code, "");
            assert!(matches!(answer(kind, id, json!({}), &script).await, Ok(Step::Pending { .. })), "{kind} {code}");
        }
        let script = Script::new().query_error(&["Action="], "AuthorizationError", "no");
        let error = Bench::new(&format!("AWS::SNS::{kind}"), id, json!({})).step(&script).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Denied);
    }
}

// DeleteTopic succeeds for what it does not know: in the wrong region that would drop a live topic's record.
#[tokio::test]
async fn a_topic_of_another_region_is_refused_and_a_shut_fence_stops_the_call() {
    let script = Script::new();
    assert_eq!(
        answer("Topic", &TOPIC.replace("us-east-1", "eu-west-1"), json!({}), &script).await,
        Err(Code::WrongRegion.name())
    );
    for (kind, id) in [("Topic", TOPIC), ("Subscription", SUBSCRIPTION), ("TopicPolicy", TOPIC)] {
        let mut bench = Bench::new(&format!("AWS::SNS::{kind}"), id, json!({}));
        bench.fence(false);
        assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    }
    assert_eq!(script.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn a_message_archive_goes_only_when_the_request_says_so() {
    let script = Script::new().query_error(&["DeleteTopic"], "InvalidState", "the topic has an archive policy");
    assert_eq!(answer("Topic", TOPIC, json!({}), &script).await, Err(Code::DataGuard.name()));
    script.assert_done();

    let script = Script::new()
        .query_error(&["DeleteTopic"], "InvalidState", "the topic has an archive policy")
        .on(&["SetTopicAttributes", "AttributeName=ArchivePolicy", "AttributeValue=%7B%7D"], 200, done("SetTopicAttributes"))
        .on(&["DeleteTopic"], 200, done("DeleteTopic"));
    let mut bench = Bench::new("AWS::SNS::Topic", TOPIC, json!({}));
    bench.run.options.delete_data = true;
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_subscription_goes_in_the_region_of_its_arn() {
    for region in ["us-east-1", "eu-west-1"] {
        let script =
            Script::new().on(&[&format!("https://sns.{region}.amazonaws.com"), "Action=Unsubscribe"], 200, done("Unsubscribe"));
        assert_eq!(
            answer("Subscription", &SUBSCRIPTION.replace("us-east-1", region), json!({}), &script).await,
            Ok(Step::DELETED)
        );
        script.assert_done();
    }
}

// No call can remove one that was never confirmed; it is a success all the same, or the run would never end clean.
#[tokio::test]
async fn a_subscription_that_was_never_confirmed_is_gone_without_a_call() {
    let script = Script::new();
    for id in ["PendingConfirmation", "pending confirmation"] {
        assert_eq!(answer("Subscription", id, json!({}), &script).await, Ok(Step::ALREADY_GONE));
    }
    assert_eq!(script.seen(), Vec::<String>::new());
    let script = Script::new().query_error(&["Unsubscribe"], "InvalidParameter", "Invalid parameter: pending confirmation");
    assert_eq!(answer("Subscription", SUBSCRIPTION, json!({}), &script).await, Ok(Step::ALREADY_GONE));
    let script = Script::new().query_error(&["Unsubscribe"], "InvalidParameter", "Invalid parameter: SubscriptionArn");
    assert_eq!(answer("Subscription", SUBSCRIPTION, json!({}), &script).await, Err("InvalidParameter".into()));
}

fn listed(subscriptions: &[(&str, &str, &str, &str)]) -> String {
    let members: String = subscriptions
        .iter()
        .map(|(arn, topic, protocol, endpoint)| {
            format!(
                "<member><SubscriptionArn>{arn}</SubscriptionArn><TopicArn>{topic}</TopicArn><Protocol>{protocol}</Protocol><Endpoint>{endpoint}</Endpoint></member>"
            )
        })
        .collect();
    format!(
        "<ListSubscriptionsByTopicResponse><ListSubscriptionsByTopicResult><Subscriptions>{members}</Subscriptions></ListSubscriptionsByTopicResult></ListSubscriptionsByTopicResponse>"
    )
}

#[tokio::test]
async fn a_subscription_recorded_without_an_arn_is_found_by_protocol_and_endpoint() {
    let id = format!("{TOPIC}:Mails");
    let properties = json!({ "Protocol": "email", "Endpoint": "a@b.c" });
    let neighbours = [
        ("arn:x:1", TOPIC, "email", "other@b.c"),
        ("arn:x:2", TOPIC, "sms", "a@b.c"),
        ("arn:x:3", "arn:aws:sns:us-east-1:1:other", "email", "a@b.c"),
    ];
    let with = |arn| listed(&[neighbours[0], neighbours[1], neighbours[2], (arn, TOPIC, "email", "a@b.c")]);

    let script = Script::new().on(&["ListSubscriptionsByTopic"], 200, with(SUBSCRIPTION)).on(
        &["Action=Unsubscribe", "0f1e2d3c-1111-2222-3333-444455556666"],
        200,
        done("Unsubscribe"),
    );
    assert_eq!(answer("Subscription", &id, properties.clone(), &script).await, Ok(Step::DELETED));
    script.assert_done();

    for answers in [with("PendingConfirmation"), listed(&neighbours)] {
        let script = Script::new().on(&["ListSubscriptionsByTopic"], 200, answers);
        assert_eq!(answer("Subscription", &id, properties.clone(), &script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }
    let script = Script::new().query_error(&["ListSubscriptionsByTopic"], "NotFound", "no topic");
    assert_eq!(answer("Subscription", &id, properties, &script).await, Ok(Step::ALREADY_GONE));

    for (properties, code) in [
        (json!({ "Protocol": "email" }), Code::MissingAddress),
        (json!({ "Protocol": "email", "Endpoint": "***" }), Code::MaskedAddress),
    ] {
        let answer = answer("Subscription", &id, properties, &Script::new()).await;
        assert!(matches!(answer, Ok(Step::Skipped { code: c, .. }) if c == code));
    }
    let answer = answer("Subscription", "no-arn", json!({}), &Script::new()).await;
    assert!(matches!(answer, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })));
}

// An empty policy is refused, and taking that refusal for gone would leave the stack's grants on a topic that stays.
#[tokio::test]
async fn a_topic_policy_gives_way_to_the_one_a_new_topic_has() {
    let other = "arn:aws:sns:eu-west-1:123456789012:audit";
    let both = format!("{TOPIC},{other}");
    for (id, properties) in [
        (both.as_str(), json!({})),
        (both.as_str(), json!({ "Topics": ["***"] })),
        ("Policy-1", json!({ "Topics": [TOPIC, other] })),
    ] {
        let script = Script::new()
            .on(
                &[
                    "https://sns.us-east-1.",
                    "SetTopicAttributes",
                    "AttributeName=Policy",
                    "__default_statement_ID",
                    "AWS%3ASourceOwner",
                    "123456789012",
                    "orders",
                ],
                200,
                done("SetTopicAttributes"),
            )
            .query_error(&["https://sns.eu-west-1.", "SetTopicAttributes", "audit"], "NotFound", "no");
        assert_eq!(answer("TopicPolicy", id, properties, &script).await, Ok(Step::DELETED));
        script.assert_done();
    }
    let script = Script::new().query_error(&["SetTopicAttributes"], "InvalidParameter", "Invalid parameter: Policy");
    assert_eq!(answer("TopicPolicy", TOPIC, json!({}), &script).await, Err("InvalidParameter".into()));
}

#[tokio::test]
async fn a_topic_policy_whose_topics_are_no_arns_changes_nothing() {
    for (id, properties) in [
        ("Policy-1", json!({})),
        ("Policy-1", json!({ "Topics": [TOPIC, "***"] })),
        ("Policy-1", json!({ "Topics": [TOPIC, "orders"] })),
    ] {
        let script = Script::new();
        assert!(matches!(
            answer("TopicPolicy", id, properties, &script).await,
            Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })
        ));
        assert_eq!(script.seen(), Vec::<String>::new());
    }
}
