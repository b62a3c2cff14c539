//! Standalone rules: which rule of a group is revoked.

use ebb_core::{Code, Step};
use serde_json::{Value, json};

use super::{done, list, next, step};
use crate::testing::{Bench, Script};

const INGRESS: &str = "AWS::EC2::SecurityGroupIngress";
const EGRESS: &str = "AWS::EC2::SecurityGroupEgress";

fn revoke(resource_type: &str) -> &'static str {
    if resource_type == INGRESS { "RevokeSecurityGroupIngress" } else { "RevokeSecurityGroupEgress" }
}

/// What was sent of the rule.
fn sent(resource_type: &str, id: &str, properties: Value) -> String {
    let action = revoke(resource_type);
    let script = Script::new().on(&[&format!("Action={action}&"), "GroupId=sg-1"], 200, done(action));
    assert_eq!(step(resource_type, id, properties, script.clone()), Ok(Step::DELETED));
    let body = script.seen().remove(0);
    let mut fields: Vec<&str> =
        body.split('&').filter(|f| f.starts_with("IpPermissions") || f.starts_with("SecurityGroupRule")).collect();
    fields.sort_unstable();
    fields.join(" ").replace("IpPermissions.1.", "").replace("%2F", "/").replace("%3A", ":")
}

/// Two rules of the same ports differ only in whom they admit.
#[test]
fn a_rule_is_revoked_as_it_was_made() {
    let id = "sg-1|tcp|443|443";
    let with = |more: Value| {
        let mut properties = json!({ "GroupId": "sg-1", "IpProtocol": "tcp", "FromPort": "443", "ToPort": 443 });
        properties.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        properties
    };
    let ports = |peers: &str| {
        let mut fields = vec!["FromPort=443", "IpProtocol=tcp", "ToPort=443"];
        fields.extend(peers.split(' '));
        fields.sort_unstable();
        fields.join(" ")
    };
    for (resource_type, peer, wants) in [
        (INGRESS, json!({ "CidrIp": "10.0.0.0/8" }), "IpRanges.1.CidrIp=10.0.0.0/8"),
        (INGRESS, json!({ "CidrIpv6": "::/0" }), "Ipv6Ranges.1.CidrIpv6=::/0"),
        (INGRESS, json!({ "SourcePrefixListId": "pl-1" }), "PrefixListIds.1.PrefixListId=pl-1"),
        (INGRESS, json!({ "SourceSecurityGroupId": "sg-2" }), "Groups.1.GroupId=sg-2"),
        (
            INGRESS,
            json!({ "SourceSecurityGroupId": "sg-2", "SourceSecurityGroupOwnerId": "210987654321" }),
            "Groups.1.GroupId=sg-2 Groups.1.UserId=210987654321",
        ),
        (INGRESS, json!({ "SourceSecurityGroupName": "web" }), "Groups.1.GroupName=web"),
        (EGRESS, json!({ "CidrIp": "10.0.0.0/8" }), "IpRanges.1.CidrIp=10.0.0.0/8"),
        (EGRESS, json!({ "DestinationPrefixListId": "pl-1" }), "PrefixListIds.1.PrefixListId=pl-1"),
        (EGRESS, json!({ "DestinationSecurityGroupId": "sg-2" }), "Groups.1.GroupId=sg-2"),
    ] {
        assert_eq!(sent(resource_type, id, with(peer)), ports(wants));
    }
}

/// Protocol and ports may come from the id, where `-1` stands for no port.
#[test]
fn the_id_fills_in_protocol_and_ports() {
    let source = json!({ "CidrIp": "10.0.0.0/8" });
    let ranges = "IpRanges.1.CidrIp=10.0.0.0/8";
    assert_eq!(sent(INGRESS, "sg-1|tcp|80|81", source.clone()), format!("FromPort=80 IpProtocol=tcp {ranges} ToPort=81"));
    assert_eq!(sent(INGRESS, "sg-1|-1|-1|-1", source.clone()), format!("IpProtocol=-1 {ranges}"));
    let masked = json!({ "CidrIp": "10.0.0.0/8", "GroupId": "***", "IpProtocol": "***", "FromPort": "***" });
    assert_eq!(sent(INGRESS, "sg-1|udp|53|53", masked), format!("FromPort=53 IpProtocol=udp {ranges} ToPort=53"));
    let icmp = json!({ "IpProtocol": "icmp", "FromPort": 8, "ToPort": -1, "CidrIp": "10.0.0.0/8" });
    assert_eq!(sent(INGRESS, "sg-1|icmp|8|-1", icmp), format!("FromPort=8 IpProtocol=icmp {ranges} ToPort=-1"));
}

#[test]
fn a_known_rule_id_is_enough() {
    let source = json!({ "GroupId": "sg-1", "CidrIp": "***" });
    assert_eq!(sent(INGRESS, "sgr-1", source.clone()), "SecurityGroupRuleId.1=sgr-1");
    assert_eq!(sent(EGRESS, "sgr-1", source), "SecurityGroupRuleId.1=sgr-1");

    let mut bench = Bench::new(INGRESS, "sg-1|tcp|443|443", json!({ "CidrIp": "***" }));
    bench.resource.attributes.insert("Id".into(), json!("sgr-2"));
    let script = Script::new().on(&["SecurityGroupRuleId.1=sgr-2"], 200, done("RevokeSecurityGroupIngress"));
    assert_eq!(next(&mut bench, script), Ok(Step::DELETED));
}

/// Whom it admits stands in the properties alone: without that, another rule of the same ports could be hit.
#[test]
fn a_rule_without_a_usable_peer_is_skipped() {
    for (properties, code) in [
        (json!({ "CidrIp": "***" }), Code::MaskedAddress),
        (json!({ "CidrIp": "{{resolve:ssm:cidr}}" }), Code::MaskedAddress),
        (json!({ "SourceSecurityGroupId": "sg-2", "SourceSecurityGroupOwnerId": "***" }), Code::MaskedAddress),
        (json!({}), Code::MissingAddress),
        (json!({ "SourceSecurityGroupId": { "Ref": "Other" } }), Code::MissingAddress),
    ] {
        let answer = step(INGRESS, "sg-1|tcp|443|443", properties, Script::new());
        assert!(matches!(&answer, Ok(Step::Skipped { code: c, .. }) if *c == code), "{answer:?}");
    }
    for (properties, code) in [(json!({}), Code::MissingAddress), (json!({ "GroupId": "***" }), Code::MaskedAddress)] {
        let answer = step(EGRESS, "sgr-1", properties, Script::new());
        assert!(matches!(&answer, Ok(Step::Skipped { code: c, .. }) if *c == code), "{answer:?}");
    }
}

/// In a default VPC EC2 answers a rule that is not there as unknown instead of with an error.
#[test]
fn an_unknown_rule_was_gone_already() {
    for resource_type in [INGRESS, EGRESS] {
        let action = revoke(resource_type);
        let unknown =
            list(action, "unknownIpPermissionSet", &["<ipProtocol>tcp</ipProtocol><fromPort>443</fromPort>".to_owned()]);
        let script = Script::new().on(&[action], 200, unknown);
        let properties = json!({ "CidrIp": "10.0.0.0/8" });
        assert_eq!(step(resource_type, "sg-1|tcp|443|443", properties, script), Ok(Step::ALREADY_GONE));
    }
}
