//! Lambda's interfaces behind a subnet or a group. The endpoint of these replays ignores every filter.

use ebb_core::ErrorClass;
use serde_json::{Value, json};

use super::{Interface, LAMBDAS, done, interfaces, list, next, pending, seconds};
use crate::testing::{Bench, Script};

/// A type, its row, the call that is refused.
fn rows() -> [(&'static str, &'static str, &'static str, &'static str); 2] {
    [
        ("AWS::EC2::Subnet", "subnet-1", "DeleteSubnet", "Name=subnet-id"),
        ("AWS::EC2::SecurityGroup", "sg-1", "DeleteSecurityGroup", "Name=group-id"),
    ]
}

/// Interfaces of other subnets and groups: Lambda's too, detached too.
fn neighbours() -> Vec<Interface<'static>> {
    vec![
        Interface { id: "eni-far", vpc: "vpc-2", subnet: "subnet-2", group: "sg-2", ..LAMBDAS },
        Interface { id: "eni-near", subnet: "subnet-10", group: "sg-10", ..LAMBDAS },
        Interface { id: "eni-elsewhere", description: "ELB app/web/1", subnet: "subnet-2", group: "sg-2", ..LAMBDAS },
    ]
}

fn refused(action: &str, filter: &str, found: Vec<Interface<'_>>) -> Script {
    let all: Vec<Interface<'_>> = neighbours().into_iter().chain(found).collect();
    Script::new().ec2_error(&[&format!("Action={action}&")], "DependencyViolation", "has dependencies and cannot be deleted").on(
        &["DescribeNetworkInterfaces", filter],
        200,
        interfaces(&all),
    )
}

#[test]
fn detached_ones_go_and_nothing_else() {
    for (name, id, action, filter) in rows() {
        let attached = Interface { id: "eni-busy", status: "in-use", ..LAMBDAS };
        let by_hand = Interface { id: "eni-mine", description: "made by hand", ..LAMBDAS };
        let script = refused(action, filter, vec![LAMBDAS, attached, by_hand]).on(
            &["DeleteNetworkInterface&", "NetworkInterfaceId=eni-free"],
            200,
            done("DeleteNetworkInterface"),
        );
        let mut bench = Bench::new(name, id, json!({}));
        let (look_again, note) = pending(next(&mut bench, script));
        assert_eq!((look_again, note.as_str()), (seconds(1), "deleted 1 detached interfaces of Lambda"), "{name}");
    }
}

#[test]
fn attached_ones_are_waited_for() {
    for (name, id, action, filter) in rows() {
        let attached = Interface { id: "eni-busy", status: "in-use", ..LAMBDAS };
        let mut bench = Bench::new(name, id, json!({}));
        let (look_again, note) = pending(next(&mut bench, refused(action, filter, vec![attached])));
        assert_eq!(look_again, seconds(15));
        assert!(note.contains("eni-busy (AWS Lambda VPC ENI-fn-0f3c; owner 123456789012; in-use)"), "{note}");

        let script = Script::new().on(&[&format!("Action={action}&")], 200, done(action));
        assert_eq!(next(&mut bench, script), Ok(ebb_core::Step::DELETED), "it goes once they let go");
    }
}

/// One that has just been attached, or is Lambda's to delete, is no reason to fail the subnet.
#[test]
fn one_that_will_not_go_is_named() {
    let (name, id, action, filter) = rows()[0];
    for (code, left) in
        [("InvalidNetworkInterface.InUse", true), ("OperationNotPermitted", true), ("InvalidNetworkInterfaceID.NotFound", false)]
    {
        let script = refused(action, filter, vec![LAMBDAS]).ec2_error(&["DeleteNetworkInterface&", "eni-free"], code, "m");
        let (look_again, note) = pending(next(&mut Bench::new(name, id, json!({})), script));
        assert_eq!(look_again, if left { seconds(15) } else { seconds(1) }, "{code}");
        assert_eq!(note.contains(code), left, "{note}");
    }
}

/// Interfaces of others are named with what they are for, whose they are and how they stand; the row gives up after half
/// an hour and says the same.
#[test]
fn what_is_not_lambdas_is_named() {
    for (name, id, action, filter) in rows() {
        let run = |bench: &mut Bench| {
            let balancer = Interface {
                id: "eni-lb",
                description: "ELB app/web/1",
                status: "in-use",
                more: "<requesterId>amazon-elb</requesterId>",
                ..LAMBDAS
            };
            let mut script = refused(action, filter, vec![balancer]);
            if action == "DeleteSecurityGroup" {
                script = script.on(&["DescribeSecurityGroups"], 200, groups(json!([]))).on(
                    &["DescribeSecurityGroups"],
                    200,
                    groups(json!([])),
                );
            }
            next(bench, script)
        };
        let mut bench = Bench::new(name, id, json!({}));
        let (look_again, note) = pending(run(&mut bench));
        assert_eq!(look_again, seconds(5));
        assert_eq!(note, "DependencyViolation: held by eni-lb (ELB app/web/1; owner amazon-elb; in-use)", "{name}");
        bench.pass(1800);
        let error = run(&mut bench).unwrap_err();
        assert_eq!(error.class, ErrorClass::Terminal);
        assert!(error.message.contains("(for 1800 s; held by eni-lb"), "{}", error.message);
    }
}

fn groups(all: Value) -> String {
    let items: Vec<String> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|g| {
            let permission = |names: &Value| {
                let names = names.as_str().unwrap_or("sg-none");
                format!("<item><ipProtocol>tcp</ipProtocol><groups><item><groupId>{names}</groupId></item></groups></item>")
            };
            format!(
                "<groupId>{}</groupId><groupName>g</groupName><ipPermissions>{}</ipPermissions><ipPermissionsEgress>{}</ipPermissionsEgress>",
                g["id"].as_str().unwrap(),
                permission(&g["ingress"]),
                permission(&g["egress"])
            )
        })
        .collect();
    list("DescribeSecurityGroups", "securityGroupInfo", &items)
}

/// Whether the stack owns another group is not known to a step: its rules are named, never revoked.
#[test]
fn rules_of_other_groups_stay() {
    let all = json!([
        { "id": "sg-1", "ingress": "sg-1", "egress": "sg-1" },
        { "id": "sg-2", "ingress": "sg-1" },
        { "id": "sg-3", "egress": "sg-1" },
        { "id": "sg-4", "ingress": "sg-10" },
    ]);
    let (name, id, action, filter) = rows()[1];
    for code in ["DependencyViolation", "InvalidGroup.InUse"] {
        let script = Script::new()
            .ec2_error(&[&format!("Action={action}&")], code, "m")
            .on(&["DescribeNetworkInterfaces", filter], 200, interfaces(&neighbours()))
            .on(&["DescribeSecurityGroups", "Name=ip-permission.group-id", "Value.1=sg-1"], 200, groups(all.clone()))
            .on(&["DescribeSecurityGroups", "Name=egress.ip-permission.group-id"], 200, groups(all.clone()));
        let (_, note) = pending(next(&mut Bench::new(name, id, json!({})), script));
        let held = "held by sg-2 (its ingress rules name this group), sg-3 (its egress rules name this group)";
        assert_eq!(note, format!("{code}: {held}"));
    }
}

#[test]
fn no_interface_goes_without_the_fence() {
    let (name, id, ..) = rows()[0];
    let mut bench = Bench::new(name, id, json!({}));
    bench.fence(false);
    let error = next(&mut bench, Script::new()).unwrap_err();
    assert_eq!(error.class, ErrorClass::FenceShut);
}

/// A look that is not allowed fails as what it is, and never as "the subnet is not there".
#[test]
fn a_look_that_fails_is_not_about_the_subnet() {
    let (name, id, action, _) = rows()[0];
    let script = Script::new().ec2_error(&[&format!("Action={action}&")], "DependencyViolation", "m").ec2_error(
        &["DescribeNetworkInterfaces"],
        "InvalidSubnetID.NotFound",
        "an odd answer",
    );
    assert_eq!(next(&mut Bench::new(name, id, json!({})), script).map_err(|e| e.class), Err(ErrorClass::Terminal));
}
