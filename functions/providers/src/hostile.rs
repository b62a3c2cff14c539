//! Ids and properties of every odd form, through every type's step: malformed composite ids are not sent anywhere, and
//! nothing that a state may hold or a service may answer makes a step panic.

use std::sync::Arc;

use ebb_core::{Code, Step};
use ebb_store::MemoryBucket;
use serde_json::{Value, json};

use crate::registry::types;
use crate::testing::{Bench, Script};

/// Ids that a state may hold.
const IDS: [&str; 22] = [
    "|",
    "||",
    "|||",
    ":",
    "a|b",
    "a|b|c|d|e",
    "arn:",
    "arn:::::",
    "arn:aws:x:us-east-1:1:",
    "arn:aws:lambda:us-east-1:1:function:",
    "..",
    "../../x",
    "a/b/c",
    "%2F%00",
    "a%zz",
    " ",
    "a b\tc\nd",
    "\u{0}",
    "\"';<>&{}",
    "ünï-日本語-\u{202e}",
    "-1|-1|-1",
    "true",
];

/// Properties that a state may hold: nothing, the wrong kinds, the id itself everywhere.
fn properties(id: &str) -> [Value; 3] {
    const NAMES: [&str; 24] = [
        "FunctionName",
        "Qualifier",
        "Roles",
        "Groups",
        "Users",
        "PolicyName",
        "EventBusName",
        "LogGroupName",
        "RouteTableId",
        "GroupId",
        "DestinationCidrBlock",
        "NetworkAclId",
        "RuleNumber",
        "Egress",
        "IpProtocol",
        "FromPort",
        "CidrIp",
        "VpcId",
        "Topics",
        "Protocol",
        "Endpoint",
        "InternetGatewayId",
        "Tags",
        "ServiceToken",
    ];
    let all = |value: Value| Value::Object(NAMES.iter().map(|name| ((*name).to_owned(), value.clone())).collect());
    [json!({}), all(json!([{"Ref": ["x", null, 1e300]}])), all(json!(id))]
}

fn custom_and_unknown() -> impl Iterator<Item = &'static str> {
    ["Custom::Thing", "AWS::CloudFormation::CustomResource", "AWS::Made::Up", "AWS::CDK::Metadata", "", "|", "Custom::"]
        .into_iter()
}

/// A parser that takes a piece of such an id for an address would delete something else.
#[tokio::test(start_paused = true)]
async fn malformed_composite_ids_are_not_sent() {
    for (name, ids) in [
        ("AWS::Lambda::Permission", &["", "fn|", "|", "a:b:c|s", "arn:aws:sns:us-east-1:1:t|s", ":1|s"][..]),
        (
            "AWS::Lambda::LayerVersion",
            &[
                "layer",
                "layer:1",
                "arn:aws:lambda:us-east-1:1:layer:l",
                "arn:aws:lambda:us-east-1:1:layer:l:x",
                "arn:aws:lambda:us-east-1:1:layer::1",
                "arn:aws:lambda:us-east-1:1:function:l:1",
            ],
        ),
        ("AWS::Lambda::Version", &["fn", "fn:", "fn:$LATEST", "fn:live", "arn:aws:lambda:us-east-1:1:function:fn", ":3"]),
        ("AWS::Lambda::Alias", &["fn", "fn:", "arn:aws:lambda:us-east-1:1:function:fn", "a:b:c"]),
        ("AWS::Lambda::EventInvokeConfig", &["|live", "a:b:c|live", "|"]),
        ("AWS::Lambda::Url", &["", "a:b:c", "arn:aws:sns:us-east-1:1:t"]),
        ("AWS::Logs::MetricFilter", &["|", "|filter", "group|"]),
        ("AWS::Logs::SubscriptionFilter", &["|", "|filter", "group|"]),
        ("AWS::Events::Rule", &["", "bus|", "|rule", "|", "arn:aws:events:us-east-1:1:event-bus/b"]),
        ("AWS::SNS::Subscription", &["topic", "a:b", "|"]),
        ("AWS::SNS::TopicPolicy", &["topic", "", "arn:aws:sns:us-east-1:1:t,other", ","]),
        ("AWS::EC2::Route", &["rtb-1", "rtb-1|", "|10.0.0.0/8", "rtb-1|10.0.0.0/8|x"]),
        ("AWS::EC2::EIP", &["nonsense", "|", "1.2.3|x"]),
        (
            "AWS::EC2::SecurityGroupIngress",
            &["sg-1", "sg-1|tcp|443", "|tcp|443|443", "sg-1|tcp|https|443", "sg-1|tcp|99999999999|1"],
        ),
        ("AWS::EC2::SecurityGroupEgress", &["sg-1", "sg-1|tcp|443|443|x", "sg-1||1|1"]),
        ("AWS::EC2::NetworkAclEntry", &["acl-1|100", "acl-1||true", "acl-1|100|yes", "acl-1|9999999999|true", "|100|true"]),
        ("AWS::EC2::VPCGatewayAttachment", &["igw-1", "igw-1|", "|vpc-1", "igw-1|vpc-1|x", "vpc-1|igw-1"]),
        (
            "AWS::SSM::Parameter",
            &["arn:aws:ssm:us-east-1:1:parameter", "arn:aws:ssm:us-east-1:1:document/x", "arn:aws:ssm:us-east-1:1:parameter/"],
        ),
        ("AWS::DynamoDB::Table", &["arn:aws:dynamodb:us-east-1:1:index/x"]),
        ("AWS::IAM::Policy", &["p", "p:", ":"]),
    ] {
        for id in ids {
            let script = Script::new();
            let answer = Bench::new(name, id, json!({})).step(&script).await;
            let stays = match &answer {
                Ok(Step::Skipped { .. }) => true,
                Err(error) => error.code == Code::MalformedPhysicalId.name() || error.code == Code::MissingAddress.name(),
                Ok(_) => false,
            };
            assert!(stays, "{name} {id:?}: {answer:?}");
            assert_eq!(script.seen(), Vec::<String>::new(), "{name} {id:?}");
        }
    }
}

/// Every type, every odd id, every odd property, against a service that refuses and one that answers nonsense: an outcome, no
/// panic, and a request that the id has not broken out of.
#[tokio::test(start_paused = true)]
async fn no_id_makes_a_step_panic() {
    let names: Vec<&str> = types().iter().map(|def| def.name).chain(custom_and_unknown()).collect();
    for (n, name) in names.into_iter().enumerate() {
        for (i, id) in IDS.into_iter().enumerate() {
            let [nothing, odd, same] = properties(id);
            // Each type meets each kind of properties, and each kind of properties each id.
            let mut bench = Bench::new(name, id, [nothing, odd, same][(n + i) % 3].clone());
            bench.bucket = Arc::new(MemoryBucket::versioned("state", bench.clock.clone()));
            bench.soft_budget = 0;
            bench.run.options.delete_data = true;
            let script = Script::new().otherwise(400, "<Error><Code>Odd</Code></Error>");
            let _ = (bench.step(&script).await, bench.look(&script).await);
            for seen in script.seen() {
                let uri = seen.split(' ').nth(1).unwrap_or_default();
                assert!(
                    uri.starts_with("https://") && uri.is_ascii() && !uri.contains(['"', '<', '|', '\\']),
                    "{name} {id:?}: {seen}"
                );
            }
        }
        let script = Script::new().otherwise(200, "\u{0}{]<>nonsense");
        let mut bench = Bench::new(name, "plain-id", json!({}));
        bench.bucket = Arc::new(MemoryBucket::versioned("state", bench.clock.clone()));
        bench.soft_budget = 0;
        let _ = (bench.step(&script).await, bench.look(&script).await);
    }
}
