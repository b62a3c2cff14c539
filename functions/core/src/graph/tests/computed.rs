use serde_json::{Value, json};

use super::super::testing::graph;

const FUNCTION: &str = "AWS::Lambda::Function";
const ROLE: &str = "AWS::IAM::Role";

fn arn(function: &str) -> String {
    format!("arn:aws:lambda:us-east-1:123456789012:function:{function}")
}

/// A custom resource, its handler, and all that the handler lives on; nothing is recorded.
fn handler_world(token: Value, function: Value) -> Vec<String> {
    let rows = json!([
        ["Custom", "Custom::Seed", null, {"ServiceToken": token}],
        ["Handler", FUNCTION, "handler", function],
        ["Role", ROLE, "role-1", {"ManagedPolicyArns": ["arn:aws:iam::1:policy/managed-by-role", "arn:aws:iam::aws:policy/x"]}],
        ["Inline", "AWS::IAM::Policy", "i", {"Roles": ["role-1"]}],
        ["Single", "AWS::IAM::RolePolicy", "s", {"RoleName": "role-1"}],
        ["Managed", "AWS::IAM::ManagedPolicy", "arn:aws:iam::1:policy/m", {"Roles": [{"Ref": "Role"}]}],
        ["ByRole", "AWS::IAM::ManagedPolicy", "arn:aws:iam::1:policy/managed-by-role"],
        ["Other", "AWS::IAM::Policy", "o", {"Roles": ["role-2"]}],
        ["Allow", "AWS::Lambda::Permission", "a", {"FunctionName": arn("handler")}],
        ["AllowOther", "AWS::Lambda::Permission", "b", {"FunctionName": "other"}],
        ["Nat", "AWS::EC2::NatGateway", "nat-1"],
        ["Way", "AWS::EC2::Route", "r"],
        ["Attach", "AWS::EC2::VPCGatewayAttachment", "a|b"],
        ["Endpoint", "AWS::EC2::VPCEndpoint", "vpce-1"],
    ]);
    graph(rows).arrows().into_iter().filter(|edge| edge.starts_with("Custom>")).collect()
}

const ALL: [&str; 7] =
    ["Custom>Allow", "Custom>ByRole", "Custom>Handler", "Custom>Inline", "Custom>Managed", "Custom>Role", "Custom>Single"];

// Custom resource → its handler, the handler's role, every policy row of that role (match on resolved values), permissions.
#[test]
fn a_custom_resource_goes_before_all_that_its_handler_needs() {
    let role = json!({"Role": "arn:aws:iam::123456789012:role/path/role-1"});
    for token in [json!(arn("handler")), json!(arn("handler:live")), json!("handler"), json!({"Fn::GetAtt": ["Handler", "Arn"]})]
    {
        assert_eq!(handler_world(token.clone(), role.clone()), ALL, "{token}");
    }
    // Through intrinsics only, as cdkd does.
    assert_eq!(handler_world(json!({"Fn::GetAtt": ["Handler", "Arn"]}), json!({"Role": {"Fn::GetAtt": ["Role", "Arn"]}})), ALL);
    for token in [json!(arn("elsewhere")), json!("***"), Value::Null, json!({"Ref": "Role"})] {
        let edges = handler_world(token.clone(), role.clone());
        assert!(!edges.contains(&"Custom>Handler".to_owned()), "{token}: {edges:?}");
    }
}

// … and, when the handler has a VpcConfig, before NAT gateways, routes, gateway attachments and endpoints.
#[test]
fn a_handler_in_a_vpc_keeps_its_way_out() {
    let inside = json!({"Role": "role-1", "VpcConfig": {"SubnetIds": ["subnet-1"], "SecurityGroupIds": []}});
    let edges = handler_world(json!(arn("handler")), inside);
    for way in ["Custom>Nat", "Custom>Way", "Custom>Attach", "Custom>Endpoint"] {
        assert!(edges.contains(&way.to_owned()), "{edges:?}");
    }
    assert!(handler_world(json!(arn("handler")), json!({"VpcConfig": "***"})).contains(&"Custom>Nat".to_owned()));
    assert!(!handler_world(json!(arn("handler")), json!({"VpcConfig": {"SubnetIds": []}})).contains(&"Custom>Nat".to_owned()));
}

// A handler behind a topic hears nothing once the subscription is gone.
#[test]
fn a_custom_resource_goes_before_the_topic_that_carries_its_request() {
    let topic = "arn:aws:sns:us-east-1:123456789012:requests";
    let graph = graph(json!([
        ["Custom", "AWS::CloudFormation::CustomResource", null, {"ServiceToken": topic}],
        ["Topic", "AWS::SNS::Topic", topic],
        ["Sub", "AWS::SNS::Subscription", "s", {"TopicArn": topic, "Endpoint": arn("handler")}],
        ["OtherSub", "AWS::SNS::Subscription", "t", {"TopicArn": "arn:aws:sns:us-east-1:1:other", "Endpoint": arn("handler")}],
        ["Handler", FUNCTION, "handler", {"Role": "role-1"}],
        ["Role", ROLE, "role-1"],
        ["Policy", "AWS::IAM::Policy", "p", {"Roles": ["role-1"]}],
    ]));
    let edges: Vec<String> = graph.arrows().into_iter().filter(|edge| edge.starts_with("Custom>")).collect();
    assert_eq!(edges, ["Custom>Handler", "Custom>Policy", "Custom>Role", "Custom>Sub", "Custom>Topic"]);
}

// Any row that uses a role (`Role` / `…RoleArn`) → the IAM policy rows attached to that role.
#[test]
fn what_uses_a_role_goes_before_the_roles_policies() {
    let role_arn = "arn:aws:iam::123456789012:role/role-1";
    let rows = |user: &str, properties: Value| {
        graph(json!([
            ["User", user, null, properties],
            ["Role", ROLE, "role-1"],
            ["Policy", "AWS::IAM::Policy", "p", {"Roles": ["role-1"]}],
        ]))
        .arrows()
    };
    for (user, properties) in [
        (FUNCTION, json!({"Role": role_arn})),
        ("AWS::ECS::TaskDefinition", json!({"TaskRoleArn": role_arn})),
        ("AWS::StepFunctions::StateMachine", json!({"RoleArn": role_arn})),
        ("AWS::Events::Rule", json!({"Targets": [{"RoleArn": role_arn}]})),
        ("AWS::CodeBuild::Project", json!({"ServiceRole": "role-1"})),
    ] {
        assert_eq!(rows(user, properties), ["User>Policy"], "{user}");
    }
    assert_eq!(rows(FUNCTION, json!({"Role": {"Fn::GetAtt": ["Role", "Arn"]}})), ["User>Policy", "User>Role"]);
    for other in [json!({"Role": "arn:aws:iam::1:role/else"}), json!({"Name": role_arn}), json!({"Role": "arn:aws:x:::role-1"})] {
        assert_eq!(rows(FUNCTION, other.clone()), Vec::<String>::new(), "{other}");
    }
}

// Lambda function → log group `/aws/lambda/{function name}`.
#[test]
fn a_function_goes_before_its_log_group() {
    let group = "AWS::Logs::LogGroup";
    let graph = graph(json!([
        ["F", FUNCTION, "orders"],
        ["G", FUNCTION, arn("billing"), {"LoggingConfig": {"LogGroup": "/custom/billing"}}],
        ["FLogs", group, "/aws/lambda/orders"],
        ["GLogs", group, "/aws/lambda/billing"],
        ["Custom", group, "/custom/billing"],
        ["Else", group, "/aws/lambda/orders-2"],
    ]));
    assert_eq!(graph.arrows(), ["F>FLogs", "G>Custom", "G>GLogs"]);
}

// Bucket emptier (`Custom::S3AutoDeleteObjects` with `BucketName`) → that bucket's policy row and bucket row.
#[test]
fn an_emptier_goes_before_its_bucket_and_the_buckets_policy() {
    let emptier = "Custom::S3AutoDeleteObjects";
    let rows = |name: Value, policy: Value| {
        graph(json!([
            ["Empty", emptier, null, {"BucketName": name}],
            ["Bucket", "AWS::S3::Bucket", "assets"], ["Other", "AWS::S3::Bucket", "other"],
            ["Policy", "AWS::S3::BucketPolicy", "policy-id", {"Bucket": policy}],
            ["ById", "AWS::S3::BucketPolicy", "assets", {}],
            ["OtherPolicy", "AWS::S3::BucketPolicy", "other", {"Bucket": "other"}],
        ]))
        .arrows()
        .into_iter()
        .filter(|edge| edge.starts_with("Empty>"))
        .collect::<Vec<_>>()
    };
    let want = ["Empty>Bucket", "Empty>ById", "Empty>Policy"];
    for (name, policy) in [
        (json!("assets"), json!("assets")),
        (json!({"Ref": "Bucket"}), json!("assets")),
        (json!("assets"), json!({"Ref": "Bucket"})),
        (json!({"Ref": "Bucket"}), json!({"Ref": "Bucket"})),
    ] {
        assert_eq!(rows(name.clone(), policy.clone()), want, "{name} {policy}");
    }
    assert_eq!(rows(json!("***"), json!("assets")), Vec::<String>::new());
}

// A composite alarm goes before each alarm that its rule names: by AlarmName, else physical id; ARNs are cut; unknown names
// and itself are ignored; composites of composites work the same.
#[test]
fn a_composite_alarm_goes_before_the_alarms_it_names() {
    let (alarm, composite) = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm");
    let rule = r#"alarm("named") OR OK('by-id') AND INSUFFICIENT_DATA(arn:aws:cloudwatch:us-east-1:1:alarm:by-arn) OR ALARM(inner) OR ALARM(outer) OR ALARM(elsewhere)"#;
    let graph = graph(json!([
        ["Outer", composite, "outer", {"AlarmName": "outer", "AlarmRule": rule}],
        ["Inner", composite, "inner", {"AlarmRule": "NOT ALARM(named)"}],
        ["Named", alarm, "physical", {"AlarmName": "named"}],
        ["ById", alarm, "by-id", {"AlarmName": {"Fn::Join": ["", []]}}],
        ["ByArn", alarm, "by-arn"],
        ["Unnamed", alarm, "other"],
        ["Masked", composite, "m", {"AlarmRule": {"Fn::Join": ["", []]}}],
    ]));
    assert_eq!(graph.arrows(), ["Inner>Named", "Outer>ByArn", "Outer>ById", "Outer>Inner", "Outer>Named"]);
}

// A recorded edge always wins: compensations are inserted like implicit edges.
#[test]
fn a_compensation_never_turns_a_recorded_edge() {
    let graph = graph(json!([
        ["Custom", "Custom::Seed", null, {"ServiceToken": arn("handler")}],
        ["Handler", FUNCTION, "handler", {"Role": "role-1"}, ["Custom"]],
        ["Role", ROLE, "role-1"],
        ["Logs", "AWS::Logs::LogGroup", "/aws/lambda/handler", {}, ["Handler"]],
    ]));
    assert_eq!(graph.arrows(), ["Custom>Role", "Handler>Custom", "Logs>Handler"]);
    assert_eq!(graph.warnings.len(), 2, "{:?}", graph.warnings);
}
