//! What holds a resource is looked for once and named; nothing of it is touched.

use ebb_core::ErrorClass;
use serde_json::json;

use super::{Interface, LAMBDAS, interfaces, list, next, pending, seconds};
use crate::testing::{Bench, Script};

struct Held {
    resource_type: &'static str,
    id: &'static str,
    action: &'static str,
    /// The looks, in order: what the request holds, the answer.
    looks: Vec<(&'static str, String)>,
    named: &'static str,
    wait: u64,
    give_up: u64,
}

fn held() -> Vec<Held> {
    let public = "<association><publicIp>52.1.2.3</publicIp></association><attachment><instanceId>i-1</instanceId></attachment>";
    let in_vpc = || {
        interfaces(&[
            Interface { id: "eni-far", vpc: "vpc-2", more: public, ..LAMBDAS },
            Interface { id: "eni-db", description: "RDSNetworkInterface", status: "in-use", ..LAMBDAS },
            Interface { id: "eni-web", description: "", status: "in-use", more: public, ..LAMBDAS },
        ])
    };
    let endpoint = |id: &str, vpc: &str, state: &str| {
        format!(
            "<vpcEndpointId>{id}</vpcEndpointId><vpcId>{vpc}</vpcId><serviceName>guardduty-data</serviceName><state>{state}</state>"
        )
    };
    let endpoints = [
        endpoint("vpce-1", "vpc-1", "available"),
        endpoint("vpce-2", "vpc-2", "available"),
        endpoint("vpce-3", "vpc-1", "deleted"),
    ];
    let group =
        |id: &str, name: &str, vpc: &str| format!("<groupId>{id}</groupId><groupName>{name}</groupName><vpcId>{vpc}</vpcId>");
    let groups = [group("sg-1", "GuardDuty", "vpc-1"), group("sg-2", "default", "vpc-1"), group("sg-3", "other", "vpc-2")];
    let gateway = |id: &str, vpc: &str| {
        format!("<internetGatewayId>{id}</internetGatewayId><attachmentSet><item><vpcId>{vpc}</vpcId></item></attachmentSet>")
    };
    let table = |id: &str, association: &str| {
        format!("<routeTableId>{id}</routeTableId><associationSet><item>{association}</item></associationSet>")
    };
    let acl = |id: &str, subnet: &str| {
        format!("<networkAclId>{id}</networkAclId><associationSet><item><subnetId>{subnet}</subnetId></item></associationSet>")
    };
    vec![
        Held {
            resource_type: "AWS::EC2::VPC",
            id: "vpc-1",
            action: "DeleteVpc",
            looks: vec![
                ("Name=vpc-id", in_vpc()),
                ("DescribeVpcEndpoints", list("DescribeVpcEndpoints", "vpcEndpointSet", &endpoints)),
                ("DescribeSecurityGroups", list("DescribeSecurityGroups", "securityGroupInfo", &groups)),
            ],
            named: "eni-db (RDSNetworkInterface; owner 123456789012; in-use), eni-web (no description; owner i-1; in-use), \
                    vpce-1 (endpoint of guardduty-data), sg-1 (security group GuardDuty)",
            wait: 5,
            give_up: 225,
        },
        Held {
            resource_type: "AWS::EC2::VPCGatewayAttachment",
            id: "igw-1|vpc-1",
            action: "DetachInternetGateway",
            looks: vec![("DescribeNetworkInterfaces", in_vpc())],
            named: "eni-web (no description; owner i-1; in-use)",
            wait: 10,
            give_up: 600,
        },
        Held {
            resource_type: "AWS::EC2::InternetGateway",
            id: "igw-1",
            action: "DeleteInternetGateway",
            looks: vec![(
                "InternetGatewayId.1=igw-1",
                list("DescribeInternetGateways", "internetGatewaySet", &[gateway("igw-2", "vpc-2"), gateway("igw-1", "vpc-1")]),
            )],
            named: "vpc-1 (attached)",
            wait: 10,
            give_up: 600,
        },
        Held {
            resource_type: "AWS::EC2::RouteTable",
            id: "rtb-1",
            action: "DeleteRouteTable",
            looks: vec![(
                "RouteTableId.1=rtb-1",
                list(
                    "DescribeRouteTables",
                    "routeTableSet",
                    &[
                        table("rtb-2", "<subnetId>subnet-2</subnetId>"),
                        table("rtb-1", "<main>false</main><subnetId>subnet-1</subnetId>"),
                    ],
                ),
            )],
            named: "subnet-1 (associated)",
            wait: 5,
            give_up: 120,
        },
        Held {
            resource_type: "AWS::EC2::RouteTable",
            id: "rtb-1",
            action: "DeleteRouteTable",
            looks: vec![(
                "DescribeRouteTables",
                list("DescribeRouteTables", "routeTableSet", &[table("rtb-1", "<main>true</main>")]),
            )],
            named: "the VPC, whose main route table it is",
            wait: 5,
            give_up: 120,
        },
        Held {
            resource_type: "AWS::EC2::NetworkAcl",
            id: "acl-1",
            action: "DeleteNetworkAcl",
            looks: vec![(
                "NetworkAclId.1=acl-1",
                list("DescribeNetworkAcls", "networkAclSet", &[acl("acl-2", "subnet-2"), acl("acl-1", "subnet-1")]),
            )],
            named: "subnet-1 (associated)",
            wait: 5,
            give_up: 300,
        },
    ]
}

#[test]
fn the_holder_is_named_and_left_alone() {
    for case in held() {
        let run = |bench: &mut Bench| {
            let script = Script::new().ec2_error(&[&format!("Action={}&", case.action)], "DependencyViolation", "it is held");
            next(
                bench,
                case.looks
                    .iter()
                    .fold(script, |script, (wants, answer)| script.on(&["Action=Describe", wants], 200, answer.clone())),
            )
        };
        let mut bench = Bench::new(case.resource_type, case.id, json!({}));
        let (look_again, note) = pending(run(&mut bench));
        assert_eq!(note, format!("DependencyViolation: held by {}", case.named), "{}", case.resource_type);
        assert_eq!(look_again, seconds(case.wait));

        bench.pass(case.give_up - 1);
        pending(run(&mut bench));
        bench.pass(1);
        let error = run(&mut bench).unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, "DependencyViolation"));
        let ending = format!("it is held (for {} s; held by {})", case.give_up, case.named);
        assert_eq!(error.message, ending, "{}", case.resource_type);
    }
}

/// The look only names: that it fails does not change what the delete was answered.
#[test]
fn a_look_that_fails_says_so_among_the_names() {
    for case in held() {
        let script = Script::new().ec2_error(&[&format!("Action={}&", case.action)], "DependencyViolation", "it is held");
        let looks = case.looks.iter().map(|(wants, _)| wants);
        let script =
            looks.fold(script, |script, wants| script.ec2_error(&["Action=Describe", wants], "UnauthorizedOperation", "no"));
        let (_, note) = pending(next(&mut Bench::new(case.resource_type, case.id, json!({})), script));
        assert!(note.contains("could not be listed (UnauthorizedOperation)"), "{}: {note}", case.resource_type);
    }
}

#[test]
fn more_than_five_holders_are_counted() {
    let ids: Vec<String> = (0..7).map(|n| format!("eni-{n}")).collect();
    let all: Vec<Interface<'_>> = ids.iter().map(|id| Interface { id, description: "x", status: "in-use", ..LAMBDAS }).collect();
    let script = Script::new().ec2_error(&["DeleteSubnet"], "DependencyViolation", "it is held").on(
        &["DescribeNetworkInterfaces"],
        200,
        interfaces(&all),
    );
    let (_, note) = pending(next(&mut Bench::new("AWS::EC2::Subnet", "subnet-1", json!({})), script));
    assert!(note.contains("eni-4") && !note.contains("eni-5") && note.ends_with(" and 2 more"), "{note}");
}

/// A group is held by interfaces (whose they are, and what for) and by rules of other groups: one answer names both.
#[test]
fn a_group_is_held_by_interfaces_and_by_rules_elsewhere() {
    let balancer = Interface {
        id: "eni-lb",
        description: "ELB app/web/1",
        status: "in-use",
        more: "<requesterId>amazon-elb</requesterId>",
        ..LAMBDAS
    };
    let rule = "<item><ipProtocol>tcp</ipProtocol><groups><item><groupId>sg-1</groupId></item></groups></item>";
    let admits = |id: &str| format!("<groupId>{id}</groupId><ipPermissions>{rule}</ipPermissions>");
    let groups = |all: &[String]| list("DescribeSecurityGroups", "securityGroupInfo", all);
    for code in ["DependencyViolation", "InvalidGroup.InUse"] {
        let script = Script::new()
            .ec2_error(&["Action=DeleteSecurityGroup&"], code, "it is held")
            .on(&["Action=DescribeNetworkInterfaces&", "Name=group-id"], 200, interfaces(std::slice::from_ref(&balancer)))
            .on(&["Name=ip-permission.group-id"], 200, groups(&[admits("sg-1"), admits("sg-2")]))
            .on(&["Name=egress.ip-permission.group-id"], 200, groups(&[]));
        let (look_again, note) = pending(next(&mut Bench::new("AWS::EC2::SecurityGroup", "sg-1", json!({})), script));
        let holders = "eni-lb (ELB app/web/1; owner amazon-elb; in-use), sg-2 (its ingress rules name this group)";
        assert_eq!((look_again, note), (seconds(5), format!("{code}: held by {holders}")));
    }
}
