use serde_json::{Value, json};

use super::super::testing::graph;
use crate::state::samples::{NETWORK, changed};

/// Every pair of cdkd's list: (deleted later, deleted earlier).
const PAIRS: [(&str, &str); 26] = [
    ("AWS::EC2::InternetGateway", "AWS::EC2::VPCGatewayAttachment"),
    ("AWS::EC2::InternetGateway", "AWS::EC2::NatGateway"),
    ("AWS::EC2::VPCGatewayAttachment", "AWS::EC2::NatGateway"),
    ("AWS::Events::EventBus", "AWS::Events::Rule"),
    ("AWS::Athena::WorkGroup", "AWS::Athena::NamedQuery"),
    ("AWS::CloudFront::ResponseHeadersPolicy", "AWS::CloudFront::Distribution"),
    ("AWS::CloudFront::CachePolicy", "AWS::CloudFront::Distribution"),
    ("AWS::CloudFront::OriginAccessControl", "AWS::CloudFront::Distribution"),
    ("AWS::EC2::VPC", "AWS::EC2::Subnet"),
    ("AWS::EC2::VPC", "AWS::EC2::SecurityGroup"),
    ("AWS::EC2::VPC", "AWS::EC2::InternetGateway"),
    ("AWS::EC2::VPC", "AWS::EC2::EgressOnlyInternetGateway"),
    ("AWS::EC2::VPC", "AWS::EC2::VPCGatewayAttachment"),
    ("AWS::EC2::VPC", "AWS::EC2::RouteTable"),
    ("AWS::EC2::Subnet", "AWS::EC2::SubnetRouteTableAssociation"),
    ("AWS::EC2::Subnet", "AWS::Lambda::Function"),
    ("AWS::EC2::RouteTable", "AWS::EC2::Route"),
    ("AWS::EC2::RouteTable", "AWS::EC2::SubnetRouteTableAssociation"),
    ("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupIngress"),
    ("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupEgress"),
    ("AWS::EC2::SecurityGroup", "AWS::Lambda::Function"),
    ("AWS::Glue::Database", "AWS::Glue::Table"),
    ("AWS::Logs::LogGroup", "AWS::Logs::LogStream"),
    ("AWS::S3Tables::TableBucket", "AWS::S3Tables::Namespace"),
    ("AWS::S3Tables::TableBucket", "AWS::S3Tables::Table"),
    ("AWS::S3Vectors::VectorBucket", "AWS::S3Vectors::Index"),
];

/// Properties that tell nothing, whichever of them a rule reads.
fn masked() -> Value {
    const NAMES: [&str; 15] = [
        "DatabaseName",
        "LogGroupName",
        "TableBucketARN",
        "VectorBucketName",
        "InternetGatewayId",
        "EventBusName",
        "WorkGroup",
        "DistributionConfig",
        "VpcId",
        "SubnetId",
        "VpcConfig",
        "RouteTableId",
        "GroupId",
        "SourceSecurityGroupId",
        "DestinationSecurityGroupId",
    ];
    NAMES.into_iter().map(|name| (name.to_owned(), json!("***"))).collect::<serde_json::Map<_, _>>().into()
}

// KEY is deleted after every instance of each listed type; all pairs where nothing tells which belong together.
#[test]
fn every_pair_of_the_list_holds_for_all_rows_whose_ids_do_not_tell() {
    for (key, earlier) in PAIRS {
        let graph = graph(json!([["K1", key], ["K2", key], ["E1", earlier, null, masked()], ["E2", earlier, null, masked()]]));
        assert_eq!(graph.arrows(), ["E1>K1", "E1>K2", "E2>K1", "E2>K2"], "{earlier} before {key}");
        assert!(graph.warnings.is_empty());
    }
}

// An absent address tells nothing where the row cannot be without one.
#[test]
fn a_row_without_its_address_goes_before_all() {
    for (key, earlier) in PAIRS {
        let optional = ["AWS::Lambda::Function", "AWS::Events::Rule", "AWS::Athena::NamedQuery", "AWS::S3Vectors::Index"]
            .contains(&earlier)
            || (key, earlier) == ("AWS::EC2::InternetGateway", "AWS::EC2::VPCGatewayAttachment");
        let graph = graph(json!([["K1", key], ["K2", key], ["E1", earlier]]));
        let want: &[&str] = if optional { &[] } else { &["E1>K1", "E1>K2"] };
        assert_eq!(graph.arrows(), want, "{earlier} before {key}");
    }
}

#[test]
fn a_row_goes_before_the_one_that_it_names() {
    for (key, earlier, naming) in [
        ("AWS::EC2::InternetGateway", "AWS::EC2::VPCGatewayAttachment", json!({"InternetGatewayId": "k-2"})),
        ("AWS::Events::EventBus", "AWS::Events::Rule", json!({"EventBusName": "k-2"})),
        ("AWS::Events::EventBus", "AWS::Events::Rule", json!({"EventBusName": "arn:aws:events:us-east-1:1:event-bus/k-2"})),
        ("AWS::Athena::WorkGroup", "AWS::Athena::NamedQuery", json!({"WorkGroup": "k-2"})),
        (
            "AWS::CloudFront::CachePolicy",
            "AWS::CloudFront::Distribution",
            json!({"DistributionConfig": {"DefaultCacheBehavior": {"CachePolicyId": "k-2"}}}),
        ),
        (
            "AWS::CloudFront::ResponseHeadersPolicy",
            "AWS::CloudFront::Distribution",
            json!({"DistributionConfig": {"CacheBehaviors": [{"ResponseHeadersPolicyId": "k-2"}]}}),
        ),
        (
            "AWS::CloudFront::OriginAccessControl",
            "AWS::CloudFront::Distribution",
            json!({"DistributionConfig": {"Origins": [{"OriginAccessControlId": "k-2"}]}}),
        ),
        ("AWS::EC2::VPC", "AWS::EC2::Subnet", json!({"VpcId": "k-2"})),
        ("AWS::EC2::VPC", "AWS::EC2::SecurityGroup", json!({"VpcId": "k-2"})),
        ("AWS::EC2::VPC", "AWS::EC2::EgressOnlyInternetGateway", json!({"VpcId": "k-2"})),
        ("AWS::EC2::VPC", "AWS::EC2::VPCGatewayAttachment", json!({"VpcId": "k-2"})),
        ("AWS::EC2::VPC", "AWS::EC2::RouteTable", json!({"VpcId": "k-2"})),
        ("AWS::EC2::Subnet", "AWS::EC2::SubnetRouteTableAssociation", json!({"SubnetId": "k-2"})),
        ("AWS::EC2::Subnet", "AWS::Lambda::Function", json!({"VpcConfig": {"SubnetIds": ["k-2", "elsewhere"]}})),
        ("AWS::EC2::RouteTable", "AWS::EC2::Route", json!({"RouteTableId": "k-2"})),
        ("AWS::EC2::RouteTable", "AWS::EC2::SubnetRouteTableAssociation", json!({"RouteTableId": "k-2"})),
        ("AWS::EC2::SecurityGroup", "AWS::EC2::SecurityGroupIngress", json!({"GroupId": "k-2"})),
        (
            "AWS::EC2::SecurityGroup",
            "AWS::EC2::SecurityGroupIngress",
            json!({"GroupId": "elsewhere", "SourceSecurityGroupId": "k-2"}),
        ),
        (
            "AWS::EC2::SecurityGroup",
            "AWS::EC2::SecurityGroupEgress",
            json!({"GroupId": "elsewhere", "DestinationSecurityGroupId": "k-2"}),
        ),
        ("AWS::EC2::SecurityGroup", "AWS::Lambda::Function", json!({"VpcConfig": {"SecurityGroupIds": ["k-2"]}})),
        ("AWS::Glue::Database", "AWS::Glue::Table", json!({"DatabaseName": "k-2"})),
        ("AWS::Logs::LogGroup", "AWS::Logs::LogStream", json!({"LogGroupName": "k-2"})),
        (
            "AWS::S3Tables::TableBucket",
            "AWS::S3Tables::Table",
            json!({"TableBucketARN": "arn:aws:s3tables:us-east-1:1:bucket/k-2", "Namespace": "sales"}),
        ),
        ("AWS::S3Tables::TableBucket", "AWS::S3Tables::Namespace", json!({"TableBucketARN": "k-2"})),
        ("AWS::S3Vectors::VectorBucket", "AWS::S3Vectors::Index", json!({"VectorBucketName": "k-2"})),
        (
            "AWS::S3Vectors::VectorBucket",
            "AWS::S3Vectors::Index",
            json!({"VectorBucketArn": "arn:aws:s3vectors:us-east-1:1:bucket/k-2"}),
        ),
    ] {
        let rows = json!([["K1", key, "k-1"], ["K2", key, "k-2"], ["E", earlier, null, naming]]);
        assert_eq!(graph(rows).arrows(), ["E>K2"], "{earlier} before {key}");
    }
}

#[test]
fn an_intrinsic_names_its_row_and_one_that_cannot_be_read_all() {
    let table = "AWS::EC2::RouteTable";
    let route =
        |id: Value| graph(json!([["T1", table], ["T2", table], ["R", "AWS::EC2::Route", null, {"RouteTableId": id}]])).arrows();
    assert_eq!(route(json!({"Ref": "T2"})), ["R>T2"]);
    assert_eq!(route(json!({"Fn::GetAtt": ["T2", "RouteTableId"]})), ["R>T2"]);
    assert_eq!(route(json!({"Fn::ImportValue": "x"})), ["R>T1", "R>T2"]);
    assert_eq!(route(json!("{{resolve:ssm:/table}}")), ["R>T1", "R>T2"]);
    // It names a table of another stack.
    assert_eq!(route(json!("rtb-elsewhere")), Vec::<String>::new());

    let policy = "AWS::CloudFront::CachePolicy";
    let distribution = |config: Value| {
        let rows =
            json!([["P1", policy], ["P2", policy], ["D", "AWS::CloudFront::Distribution", null, {"DistributionConfig": config}]]);
        graph(rows).arrows()
    };
    assert_eq!(distribution(json!({"Comment": "none of ours"})), Vec::<String>::new());
    assert_eq!(distribution(json!({"CachePolicyId": {"Fn::ImportValue": "x"}})), ["D>P1", "D>P2"]);
    assert_eq!(distribution(json!({"CachePolicyId": "P1", "Origins": [{"HeaderValue": "***"}]})), ["D>P1", "D>P2"]);
}

// Gateways, attachments and NAT gateways are tied by their VPC.
#[test]
fn two_networks_in_a_stack_do_not_wait_for_each_other() {
    let network = |n: u8| {
        let (vpc, igw, subnet) = (format!("vpc-{n}"), format!("igw-{n}"), format!("subnet-{n}"));
        vec![
            json!([format!("Vpc{n}"), "AWS::EC2::VPC", vpc]),
            json!([format!("Igw{n}"), "AWS::EC2::InternetGateway", igw]),
            json!([format!("Attach{n}"), "AWS::EC2::VPCGatewayAttachment", null, {"VpcId": vpc, "InternetGatewayId": igw}]),
            json!([format!("Subnet{n}"), "AWS::EC2::Subnet", subnet, {"VpcId": vpc}]),
            json!([format!("Nat{n}"), "AWS::EC2::NatGateway", format!("nat-{n}"), {"SubnetId": subnet}]),
        ]
    };
    let mut rows = network(1);
    rows.extend(network(2));
    let arrows = graph(rows.clone().into()).arrows();
    let want = |n: u8| {
        [
            format!("Attach{n}>Igw{n}"),
            format!("Attach{n}>Vpc{n}"),
            format!("Igw{n}>Vpc{n}"),
            format!("Nat{n}>Attach{n}"),
            format!("Nat{n}>Igw{n}"),
            format!("Subnet{n}>Vpc{n}"),
        ]
    };
    let mut both: Vec<String> = want(1).into_iter().chain(want(2)).collect();
    both.sort();
    assert_eq!(arrows, both);

    // A gateway that only another stack attaches, and a NAT gateway in another stack's subnet, may be of any.
    rows.push(json!(["Igw3", "AWS::EC2::InternetGateway", "igw-3"]));
    rows.push(json!(["Nat3", "AWS::EC2::NatGateway", "nat-3", {"SubnetId": "subnet-elsewhere"}]));
    let arrows = graph(rows.into()).arrows();
    for edge in ["Igw3>Vpc1", "Igw3>Vpc2", "Nat1>Igw3", "Nat3>Attach1", "Nat3>Attach2", "Nat3>Igw1", "Nat3>Igw2", "Nat3>Igw3"] {
        assert!(arrows.contains(&edge.to_owned()), "{edge} in {arrows:?}");
    }
}

// Case 842: two groups that admit each other through standalone ingress rows are no cycle; the rows go first.
#[test]
fn groups_that_admit_each_other_are_no_cycle() {
    let group = "AWS::EC2::SecurityGroup";
    let ingress = "AWS::EC2::SecurityGroupIngress";
    let graph = graph(json!([
        ["A", group, "sg-a"], ["B", group, "sg-b"], ["C", group, "sg-c"],
        ["AB", ingress, "sg-a|tcp|1|1", {"GroupId": "sg-a", "SourceSecurityGroupId": "sg-b"}, ["A", "B"]],
        ["BA", ingress, "sg-b|tcp|1|1", {"GroupId": "sg-b", "SourceSecurityGroupId": "sg-a"}, ["A", "B"]],
    ]));
    assert_eq!(graph.arrows(), ["AB>A", "AB>B", "BA>A", "BA>B"]);
    assert!(graph.warnings.is_empty());
}

// Case 817, 823: NAT gateways before gateway and attachment, also when nothing is recorded.
#[test]
fn a_nat_gateway_goes_before_the_gateway_it_uses() {
    let mut doc = changed(NETWORK, |state| {
        for (_, row) in state["resources"].as_object_mut().unwrap() {
            row["dependencies"] = json!([]);
        }
    });
    let built = crate::Graph::build(super::super::testing::nodes("S", &doc)).unwrap();
    for edge in ["Nat14>Igw02", "Nat14>IgwAttach03", "IgwAttach03>Igw02", "Igw02>Vpc01", "Worker19>WorkerGroup16"] {
        assert!(built.arrows().contains(&edge.to_owned()), "{edge}");
    }
    assert!(!built.arrows().contains(&"Worker19>CacheGroup17".to_owned()));
    doc = changed(NETWORK, |state| state["resources"]["Worker19"]["properties"]["VpcConfig"]["SecurityGroupIds"] = json!("***"));
    let built = crate::Graph::build(super::super::testing::nodes("S", &doc)).unwrap();
    assert!(built.arrows().contains(&"Worker19>CacheGroup17".to_owned()));
}

// Implicit edges whose KEY row already needs the earlier row are left out, with a warning each: recorded edges always win.
#[test]
fn a_rule_that_would_close_a_cycle_is_left_out_with_a_warning() {
    let doc = changed(NETWORK, |state| {
        let rows = &mut state["resources"];
        rows["CacheGroup17"]["dependencies"].as_array_mut().unwrap().push(json!("TickPermission24"));
        // Its groups do not tell, so that the rule says: before every group.
        rows["Worker19"]["properties"]["VpcConfig"]["SecurityGroupIds"] = json!("***");
    });
    let graph = crate::Graph::build(super::super::testing::nodes("EdgeNetwork", &doc)).unwrap();
    assert_eq!(graph.warnings.len(), 1, "{:?}", graph.warnings);
    assert!(graph.warnings[0].contains("EdgeNetwork/Worker19 goes before EdgeNetwork/CacheGroup17"), "{:?}", graph.warnings);
    assert!(!graph.edges().contains(&("EdgeNetwork/Worker19", "EdgeNetwork/CacheGroup17")));
    assert!(graph.edges().contains(&("EdgeNetwork/CacheGroup17", "EdgeNetwork/TickPermission24")));
    assert_eq!(graph.levels().iter().map(Vec::len).sum::<usize>(), 26, "waves are still computed");
}

// Case: a group depends on a custom resource whose handler is a function, and "groups after functions" closes a loop.
#[test]
fn a_group_that_depends_on_a_custom_resource_goes_first() {
    let graph = graph(json!([
        ["Group", "AWS::EC2::SecurityGroup", "sg-1", {}, ["Custom"]],
        ["Custom", "Custom::Lookup", null, {"ServiceToken": "arn:aws:lambda:us-east-1:1:function:handler"}, ["Handler"]],
        ["Handler", "AWS::Lambda::Function", "handler", {"VpcConfig": "***"}],
    ]));
    assert_eq!(graph.arrows(), ["Custom>Handler", "Group>Custom"]);
    assert_eq!(graph.warnings.len(), 1, "{:?}", graph.warnings);
}
