//! Whatever stands in a state that passed the gate: its graph is built or refused, in time, and its order fits every edge.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Graph, testing};
use crate::own::Own;
use crate::state::props::any_property;

/// Types whose properties are read for edges.
const TYPES: [&str; 18] = [
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CloudWatch::Alarm",
    "AWS::IAM::Role",
    "AWS::IAM::Policy",
    "AWS::IAM::ManagedPolicy",
    "AWS::Lambda::Function",
    "AWS::Lambda::Permission",
    "AWS::Logs::LogGroup",
    "Custom::Thing",
    "Custom::S3AutoDeleteObjects",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::EC2::Subnet",
    "AWS::EC2::VPC",
    "AWS::EC2::NatGateway",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::SNS::Subscription",
    "AWS::CloudFormation::Stack",
];

/// Properties that are read for edges, with ids and logical ids of other rows, or with anything.
const PROPERTIES: [&str; 15] = [
    "AlarmRule",
    "AlarmName",
    "Roles",
    "RoleName",
    "ManagedPolicyArns",
    "Role",
    "FunctionName",
    "ServiceToken",
    "BucketName",
    "Bucket",
    "VpcConfig",
    "VpcId",
    "SubnetId",
    "InternetGatewayId",
    "TopicArn",
];

fn value() -> impl Strategy<Value = Value> {
    let id = (0usize..12).prop_map(|n| format!("R{n}"));
    prop_oneof![
        id.clone().prop_map(|id| json!(id)),
        id.clone().prop_map(|id| json!({"Ref": id})),
        id.clone().prop_map(|id| json!([{"Fn::GetAtt": [id, "Arn"]}])),
        id.clone().prop_map(|id| json!({"Fn::Sub": format!("${{{id}}}-${{")})),
        id.clone().prop_map(|id| json!(format!("ALARM(\"{id}\") OR ok({id}"))),
        id.prop_map(|id| json!({"SubnetIds": [id], "SecurityGroupIds": {"Ref": id}})),
        any_property().prop_map(|json| serde_json::from_str(&json).unwrap_or_default()),
    ]
}

/// Type, properties, and what it depends on.
type Row = (&'static str, Vec<(&'static str, Value)>, Vec<String>);

fn rows() -> impl Strategy<Value = Value> {
    let property = (prop::sample::select(&PROPERTIES[..]), value());
    let needs = prop::collection::vec((0usize..14).prop_map(|n| format!("R{n}")), 0..2);
    let row = (prop::sample::select(&TYPES[..]), prop::collection::vec(property, 0..4), needs);
    prop::collection::vec(row, 0..12).prop_map(|rows| {
        let row = |(n, (kind, properties, needs)): (usize, Row)| {
            let properties: serde_json::Map<_, _> = properties.into_iter().map(|(name, v)| (name.to_owned(), v)).collect();
            json!([format!("R{n}"), kind, format!("R{n}"), properties, needs])
        };
        rows.into_iter().enumerate().map(row).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_rows_make_a_graph_or_a_refusal(rows in rows()) {
        let nodes = testing::rows(rows);
        let own = Own { app: "ebb", bucket: "b", target_role: Some("arn:aws:iam::210987654321:role/t") };
        for node in &nodes {
            let _ = (own.reason(&node.row), node.row.protected_by("ebb:protect"));
        }
        let count = nodes.len();
        let Ok(graph) = Graph::build(nodes) else { return Ok(()) };
        let mut place = vec![usize::MAX; count];
        graph.in_order().iter().enumerate().for_each(|(at, &node)| place[node] = at);
        for node in 0..count {
            prop_assert!(place[node] < count, "every row has its place");
            for &later in graph.needs(node) {
                prop_assert!(place[node] < place[later] && graph.needed_by(later).contains(&node));
            }
        }
    }
}

/// Thousands of rows that all stand in one another's way take no time that grows with their square.
#[test]
fn many_rows_of_one_vpc() {
    let mut rows = vec![json!(["Vpc", "AWS::EC2::VPC"]), json!(["Igw", "AWS::EC2::InternetGateway"])];
    rows.push(json!(["Out", "AWS::EC2::VPCGatewayAttachment", null, {"VpcId": "Vpc", "InternetGatewayId": "Igw"}]));
    for n in 0..3_000 {
        rows.push(json!([format!("Subnet{n}"), "AWS::EC2::Subnet", null, {"VpcId": "Vpc"}]));
        rows.push(json!([format!("Nat{n}"), "AWS::EC2::NatGateway", null, {"SubnetId": format!("Subnet{n}")}]));
    }
    let graph = testing::graph(rows.into());
    let vpc = graph.node("S/Vpc");
    assert!(graph.needed_by(vpc).len() > 3_000);
    assert_eq!(graph.in_order().last(), Some(&vpc), "the VPC goes last");
}
