//! What one call deletes, and what each of its errors means.

use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use super::{done, list, next, pending, step};
use crate::registry::{find, types};
use crate::testing::{Bench, Script};

struct Case {
    resource_type: &'static str,
    id: &'static str,
    properties: Value,
    action: &'static str,
    wants: &'static [&'static str],
}

fn case(resource_type: &'static str, id: &'static str, action: &'static str, wants: &'static [&'static str]) -> Case {
    Case { resource_type, id, properties: json!({}), action, wants }
}

/// Types that one call deletes; the recorded id says it all.
fn cases() -> Vec<Case> {
    let from = |cidr: &str| json!({ "GroupId": "sg-1", "IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": cidr });
    vec![
        case("AWS::EC2::EIP", "52.1.2.3|eipalloc-1", "ReleaseAddress", &["AllocationId=eipalloc-1"]),
        case("AWS::EC2::FlowLog", "fl-1", "DeleteFlowLogs", &["FlowLogId.1=fl-1"]),
        case("AWS::EC2::InternetGateway", "igw-1", "DeleteInternetGateway", &["InternetGatewayId=igw-1"]),
        case("AWS::EC2::NetworkAcl", "acl-1", "DeleteNetworkAcl", &["NetworkAclId=acl-1"]),
        case(
            "AWS::EC2::NetworkAclEntry",
            "acl-1|100|true",
            "DeleteNetworkAclEntry",
            &["NetworkAclId=acl-1", "RuleNumber=100", "Egress=true"],
        ),
        case("AWS::EC2::Route", "rtb-1|0.0.0.0/0", "DeleteRoute", &["RouteTableId=rtb-1", "DestinationCidrBlock=0.0.0.0%2F0"]),
        case("AWS::EC2::RouteTable", "rtb-1", "DeleteRouteTable", &["RouteTableId=rtb-1"]),
        case("AWS::EC2::SecurityGroup", "sg-1", "DeleteSecurityGroup", &["GroupId=sg-1"]),
        Case {
            properties: from("10.0.0.0/8"),
            ..case("AWS::EC2::SecurityGroupEgress", "sg-1|tcp|443|443", "RevokeSecurityGroupEgress", &["GroupId=sg-1"])
        },
        Case {
            properties: from("10.0.0.0/8"),
            ..case("AWS::EC2::SecurityGroupIngress", "sg-1|tcp|443|443", "RevokeSecurityGroupIngress", &["GroupId=sg-1"])
        },
        case("AWS::EC2::Subnet", "subnet-1", "DeleteSubnet", &["SubnetId=subnet-1"]),
        case("AWS::EC2::SubnetRouteTableAssociation", "rtbassoc-1", "DisassociateRouteTable", &["AssociationId=rtbassoc-1"]),
        case("AWS::EC2::VPC", "vpc-1", "DeleteVpc", &["VpcId=vpc-1"]),
        case(
            "AWS::EC2::VPCGatewayAttachment",
            "igw-1|vpc-1",
            "DetachInternetGateway",
            &["InternetGatewayId=igw-1", "VpcId=vpc-1"],
        ),
    ]
}

impl Case {
    fn wants(&self) -> Vec<String> {
        let action = format!("Action={}&", self.action);
        std::iter::once(action).chain(self.wants.iter().map(|w| (*w).to_owned())).collect()
    }

    fn on_error(&self, code: &str) -> Result<Step, ebb_core::DeleteError> {
        let wants = self.wants();
        let wants: Vec<&str> = wants.iter().map(String::as_str).collect();
        step(self.resource_type, self.id, self.properties.clone(), Script::new().ec2_error(&wants, code, "as EC2 words it"))
    }
}

#[test]
fn one_call_deletes_it() {
    for case in cases() {
        let wants = case.wants();
        let wants: Vec<&str> = wants.iter().map(String::as_str).collect();
        let script = Script::new().on(&wants, 200, done(case.action));
        assert_eq!(step(case.resource_type, case.id, case.properties, script), Ok(Step::DELETED), "{}", case.resource_type);
    }
}

#[test]
fn each_code_that_says_it_is_not_there_is_gone() {
    for case in cases() {
        let gone = find(case.resource_type).unwrap().rules.gone;
        assert!(!gone.is_empty(), "{}", case.resource_type);
        for code in gone {
            assert_eq!(case.on_error(code), Ok(Step::ALREADY_GONE), "{} {code}", case.resource_type);
        }
    }
}

/// A rate limit passes, a missing right does not, and an invalid parameter never counts as gone.
#[test]
fn what_holds_for_all_of_ec2_holds_for_each() {
    for case in cases() {
        let name = case.resource_type;
        pending(case.on_error("RequestLimitExceeded"));
        assert_eq!(case.on_error("UnauthorizedOperation").map_err(|e| e.class), Err(ErrorClass::Denied), "{name}");
        assert_eq!(case.on_error("InvalidParameterValue").map_err(|e| e.class), Err(ErrorClass::Terminal), "{name}");
        assert_eq!(case.on_error("InvalidID").map_err(|e| e.class), Err(ErrorClass::Terminal), "{name}");
    }
}

#[test]
fn terminal_codes_end_the_row() {
    for (name, id, code) in
        [("AWS::EC2::SecurityGroup", "sg-1", "CannotDelete"), ("AWS::EC2::NetworkAcl", "acl-1", "InvalidParameterValue")]
    {
        let script = Script::new().ec2_error(&["Action=Delete"], code, "the default one");
        assert_eq!(
            step(name, id, json!({}), script).map_err(|e| (e.class, e.code)),
            Err((ErrorClass::Terminal, code.to_owned()))
        );
    }
}

#[test]
fn no_call_leaves_behind_a_shut_fence() {
    let slow = [
        ("AWS::EC2::NatGateway", "nat-1"),
        ("AWS::EC2::VPCEndpoint", "vpce-1"),
        ("AWS::EC2::Instance", "i-1"),
        ("AWS::EC2::Volume", "vol-1"),
    ];
    let slow = slow.into_iter().map(|(name, id)| case(name, id, "", &[]));
    let all: Vec<Case> = cases().into_iter().chain(slow).collect();
    for case in &all {
        let mut bench = Bench::new(case.resource_type, case.id, case.properties.clone());
        bench.fence(false);
        let script = Script::new();
        assert_eq!(next(&mut bench, script.clone()).map_err(|e| e.code), Err(Code::FenceShut.name()), "{}", case.resource_type);
        assert_eq!(script.seen(), Vec::<String>::new());
    }
    // Its fence is in `acl_associations.rs`: it reads before it changes anything.
    let tested =
        |name: &str| name == "AWS::EC2::SubnetNetworkAclAssociation" || all.iter().any(|case| case.resource_type == name);
    assert!(types().iter().filter(|def| def.name.starts_with("AWS::EC2::")).all(|def| tested(def.name)), "a type is not here");
}

#[test]
fn a_route_sends_the_one_destination_it_has() {
    for (destination, wants) in [
        ("10.0.0.0/8", "DestinationCidrBlock=10.0.0.0%2F8"),
        ("::/0", "DestinationIpv6CidrBlock=%3A%3A%2F0"),
        ("pl-1", "DestinationPrefixListId=pl-1"),
    ] {
        let script = Script::new().on(&["Action=DeleteRoute&", wants], 200, done("DeleteRoute"));
        let id = format!("rtb-1|{destination}");
        assert_eq!(step("AWS::EC2::Route", &id, json!({}), script.clone()), Ok(Step::DELETED));
        assert_eq!(script.seen()[0].matches("Destination").count(), 1, "{:?}", script.seen());
    }
}

/// Contract 2.9: a malformed id is rebuilt from the properties where they suffice, else it fails or skips the row, and no
/// call is made.
#[test]
fn malformed_ids() {
    let fails = |name: &str, id: &str| {
        let answer = step(name, id, json!({}), Script::new());
        assert_eq!(
            answer.map_err(|e| (e.class, e.code)),
            Err((ErrorClass::Terminal, Code::MalformedPhysicalId.name())),
            "{name} {id}"
        );
    };
    for id in ["rtb-1", "rtb-1|", "|10.0.0.0/8", "rtb-1|10.0.0.0/8|x", ""] {
        fails("AWS::EC2::Route", id);
    }
    for id in ["igw-1", "igw-1|", "|vpc-1", "igw-1|vpc-1|x", "vpc-1|igw-1"] {
        fails("AWS::EC2::VPCGatewayAttachment", id);
    }
    for id in ["sg-1", "sg-1|tcp|443", "sg-1|tcp|443|443|x", "|tcp|443|443", "sg-1|tcp|https|443"] {
        fails("AWS::EC2::SecurityGroupIngress", id);
        fails("AWS::EC2::SecurityGroupEgress", id);
    }
    for (name, id) in [
        ("AWS::EC2::NetworkAclEntry", "acl-1|100"),
        ("AWS::EC2::NetworkAclEntry", "acl-1||true"),
        ("AWS::EC2::NetworkAclEntry", "acl-1|100|yes"),
        ("AWS::EC2::EIP", "nonsense"),
        ("AWS::EC2::EIP", ""),
        ("AWS::EC2::SecurityGroup", "web-servers"),
    ] {
        let answer = step(name, id, json!({}), Script::new());
        assert!(matches!(answer, Ok(Step::Skipped { code: Code::MalformedPhysicalId, .. })), "{name} {id}: {answer:?}");
    }
}

#[test]
fn properties_rebuild_a_malformed_id() {
    let properties = json!({ "RouteTableId": "rtb-2", "DestinationIpv6CidrBlock": "::/0" });
    let script = Script::new().on(&["RouteTableId=rtb-2", "DestinationIpv6CidrBlock="], 200, done("DeleteRoute"));
    assert_eq!(step("AWS::EC2::Route", "Route", properties, script), Ok(Step::DELETED));

    let properties = json!({ "NetworkAclId": "acl-2", "RuleNumber": "200", "Egress": "true" });
    let script = Script::new().on(&["NetworkAclId=acl-2", "RuleNumber=200", "Egress=true"], 200, done("DeleteNetworkAclEntry"));
    assert_eq!(step("AWS::EC2::NetworkAclEntry", "Entry", properties, script), Ok(Step::DELETED));
}

/// Contract 2.8: a mask is never sent.
#[test]
fn masked_addresses_skip_the_row() {
    for (name, id, properties) in [
        ("AWS::EC2::Route", "Route", json!({ "RouteTableId": "***", "DestinationCidrBlock": "10.0.0.0/8" })),
        ("AWS::EC2::Route", "Route", json!({ "RouteTableId": "rtb-1", "DestinationCidrBlock": "{{resolve:ssm:cidr}}" })),
        ("AWS::EC2::NetworkAclEntry", "Entry", json!({ "NetworkAclId": "***", "RuleNumber": 100 })),
        ("AWS::EC2::VPCGatewayAttachment", "IGW|vpc-1", json!({ "InternetGatewayId": "***" })),
        ("AWS::EC2::SecurityGroup", "web-servers", json!({ "VpcId": "***" })),
    ] {
        let answer = step(name, id, properties, Script::new());
        assert!(matches!(answer, Ok(Step::Skipped { code: Code::MaskedAddress, .. })), "{name}: {answer:?}");
    }
}

/// DeleteFlowLogs succeeds and names in its answer what did not go.
#[test]
fn an_error_inside_the_answer_is_an_error() {
    let inside = |id: &str, code: &str| {
        list(
            "DeleteFlowLogs",
            "unsuccessful",
            &[format!("<resourceId>{id}</resourceId><error><code>{code}</code><message>m</message></error>")],
        )
    };
    let run = |body: String| step("AWS::EC2::FlowLog", "fl-1", json!({}), Script::new().on(&["DeleteFlowLogs"], 200, body));
    assert_eq!(run(inside("fl-1", "InvalidFlowLogId.NotFound")), Ok(Step::ALREADY_GONE));
    assert_eq!(run(inside("fl-1", "UnauthorizedOperation")).map_err(|e| e.class), Err(ErrorClass::Denied));
    assert_eq!(run(inside("fl-other", "InvalidFlowLogId.NotFound")), Ok(Step::DELETED));
}

/// A name says something only within its VPC; the same name elsewhere is another group.
#[test]
fn a_group_recorded_by_name_is_found_in_its_vpc() {
    let group =
        |id: &str, name: &str, vpc: &str| format!("<groupId>{id}</groupId><groupName>{name}</groupName><vpcId>{vpc}</vpcId>");
    let neighbours = [group("sg-8", "web", "vpc-2"), group("sg-9", "webs", "vpc-1")];
    let wants = ["DescribeSecurityGroups", "Value.1=web", "Value.1=vpc-1"];
    let groups = |all: &[String]| list("DescribeSecurityGroups", "securityGroupInfo", all);
    let properties = json!({ "VpcId": "vpc-1" });

    let [a, b] = neighbours.clone();
    let script = Script::new().on(&wants, 200, groups(&[a, b, group("sg-1", "web", "vpc-1")])).on(
        &["DeleteSecurityGroup", "GroupId=sg-1"],
        200,
        done("DeleteSecurityGroup"),
    );
    assert_eq!(step("AWS::EC2::SecurityGroup", "web", properties.clone(), script), Ok(Step::DELETED));

    let script = Script::new().on(&wants, 200, groups(&neighbours));
    assert_eq!(step("AWS::EC2::SecurityGroup", "web", properties, script), Ok(Step::ALREADY_GONE));
}
