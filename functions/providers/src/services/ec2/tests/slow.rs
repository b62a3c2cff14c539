//! Deletes that AWS carries out later: NAT gateways, endpoints, VPN attachments.

use ebb_core::{ErrorClass, Step};
use serde_json::json;

use super::{done, list, next, pending, seconds, step};
use crate::testing::{Bench, Script};

/// A type whose delete is watched.
struct Slow {
    resource_type: &'static str,
    id: &'static str,
    delete: &'static str,
    deleted: String,
    look: &'static str,
    first_look: u64,
    going: &'static str,
    gone: &'static str,
    there: &'static str,
    not_found: &'static [&'static str],
}

impl Slow {
    /// What the look answers: a neighbour in `there`, and ours in `state` if any.
    fn seen(&self, state: Option<&str>) -> String {
        let one = |id: &str, state: &str| match self.look {
            "DescribeNatGateways" => format!("<natGatewayId>{id}</natGatewayId><state>{state}</state>"),
            "DescribeVpcEndpoints" => format!("<vpcEndpointId>{id}</vpcEndpointId><state>{state}</state>"),
            "DescribeInstances" => format!(
                "<instancesSet><item><instanceId>{id}</instanceId><instanceState><name>{state}</name></instanceState></item></instancesSet>"
            ),
            "DescribeVolumes" => format!("<volumeId>{id}</volumeId><status>{state}</status>"),
            _ => format!(
                "<vpnGatewayId>{id}</vpnGatewayId><attachments><item><vpcId>vpc-2</vpcId><state>attached</state></item>\
                 <item><vpcId>vpc-1</vpcId><state>{state}</state></item></attachments>"
            ),
        };
        let set = match self.look {
            "DescribeNatGateways" => "natGatewaySet",
            "DescribeVpcEndpoints" => "vpcEndpointSet",
            "DescribeInstances" => "reservationSet",
            "DescribeVolumes" => "volumeSet",
            _ => "vpnGatewaySet",
        };
        let id = self.id.split('|').next().unwrap();
        let items: Vec<String> = std::iter::once(one("neighbour", self.there)).chain(state.map(|s| one(id, s))).collect();
        list(self.look, set, &items)
    }

    fn bench(&self) -> Bench {
        Bench::new(self.resource_type, self.id, json!({}))
    }

    fn delete(&self, script: Script) -> Script {
        let id = self.id.split('|').next().unwrap();
        script.on(&[&format!("Action={}&", self.delete), id], 200, self.deleted.clone())
    }

    fn look(&self, script: Script, state: Option<&str>) -> Script {
        script.on(&[&format!("Action={}&", self.look)], 200, self.seen(state))
    }
}

fn slow() -> Vec<Slow> {
    vec![
        Slow {
            resource_type: "AWS::EC2::NatGateway",
            id: "nat-1",
            delete: "DeleteNatGateway",
            deleted: done("DeleteNatGateway"),
            look: "DescribeNatGateways",
            first_look: 90,
            going: "deleting",
            gone: "deleted",
            there: "available",
            not_found: &["NatGatewayNotFound", "InvalidNatGatewayID.NotFound"],
        },
        Slow {
            resource_type: "AWS::EC2::VPCEndpoint",
            id: "vpce-1",
            delete: "DeleteVpcEndpoints",
            deleted: done("DeleteVpcEndpoints"),
            look: "DescribeVpcEndpoints",
            first_look: 60,
            going: "deleting",
            gone: "deleted",
            there: "available",
            not_found: &["InvalidVpcEndpoint.NotFound", "InvalidVpcEndpointId.NotFound"],
        },
        Slow {
            resource_type: "AWS::EC2::Instance",
            id: "i-1",
            delete: "TerminateInstances",
            deleted: done("TerminateInstances"),
            look: "DescribeInstances",
            first_look: 45,
            going: "shutting-down",
            gone: "terminated",
            there: "running",
            not_found: &["InvalidInstanceID.NotFound"],
        },
        Slow {
            resource_type: "AWS::EC2::Volume",
            id: "vol-1",
            delete: "DeleteVolume",
            deleted: done("DeleteVolume"),
            look: "DescribeVolumes",
            first_look: 5,
            going: "deleting",
            gone: "deleted",
            there: "available",
            not_found: &["InvalidVolume.NotFound"],
        },
        Slow {
            resource_type: "AWS::EC2::VPCGatewayAttachment",
            id: "vgw-1|vpc-1",
            delete: "DetachVpnGateway",
            deleted: done("DetachVpnGateway"),
            look: "DescribeVpnGateways",
            first_look: 3,
            going: "detaching",
            gone: "detached",
            there: "attached",
            not_found: &["InvalidVpnGatewayAttachment.NotFound", "InvalidVpnGatewayID.NotFound"],
        },
    ]
}

#[test]
fn a_fast_one_is_gone_in_one_step() {
    for case in slow() {
        for state in [Some(case.gone), None] {
            let script = case.look(case.delete(Script::new()), state);
            assert_eq!(next(&mut case.bench(), script), Ok(Step::DELETED), "{}", case.resource_type);
        }
    }
}

/// The first look comes when half of its kind are done, the later ones every ten seconds; nothing is asked twice.
#[test]
fn a_slow_one_is_asked_once_and_looked_at() {
    for case in slow() {
        let mut bench = case.bench();
        let (look_again, _) = pending(next(&mut bench, case.look(case.delete(Script::new()), Some(case.going))));
        assert_eq!(look_again, seconds(case.first_look), "{}", case.resource_type);
        for _ in 0..3 {
            bench.pass(10);
            let (look_again, _) = pending(next(&mut bench, case.look(Script::new(), Some(case.going))));
            assert_eq!(look_again, seconds(10));
        }
        assert_eq!(next(&mut bench, case.look(Script::new(), Some(case.gone))), Ok(Step::DELETED));
    }
}

#[test]
fn one_that_does_not_go_is_asked_again() {
    for case in slow() {
        let mut bench = case.bench();
        pending(next(&mut bench, case.look(case.delete(Script::new()), Some(case.there))));
        let script = case.delete(case.look(Script::new(), Some(case.there)));
        pending(next(&mut bench, script));
        assert_eq!(next(&mut bench, case.look(Script::new(), None)), Ok(Step::DELETED));
    }
}

/// A step that was killed after its delete is repeated: what is going may be answered as not found, so the look decides.
#[test]
fn not_found_is_believed_after_a_look() {
    for case in slow() {
        for code in case.not_found {
            let delete = || Script::new().ec2_error(&[case.delete], code, "not there");
            assert_eq!(next(&mut case.bench(), case.look(delete(), None)), Ok(Step::ALREADY_GONE), "{}", case.resource_type);
            let script = delete().ec2_error(&[case.look], code, "not there");
            assert_eq!(next(&mut case.bench(), script), Ok(Step::ALREADY_GONE), "{}", case.resource_type);
            pending(next(&mut case.bench(), case.look(delete(), Some(case.going))));
        }
    }
}

#[test]
fn a_shut_fence_asks_nothing_again() {
    for case in slow() {
        let mut bench = case.bench();
        pending(next(&mut bench, case.look(case.delete(Script::new()), Some(case.there))));
        bench.fence(false);
        let answer = next(&mut bench, case.look(Script::new(), Some(case.there)));
        assert_eq!(answer.map_err(|e| e.class), Err(ErrorClass::FenceShut), "{}", case.resource_type);
    }
}

#[test]
fn errors_of_the_delete_are_told() {
    for case in slow() {
        let error = |code: &str| next(&mut case.bench(), Script::new().ec2_error(&[case.delete], code, "m"));
        assert_eq!(error("UnauthorizedOperation").map_err(|e| e.class), Err(ErrorClass::Denied), "{}", case.resource_type);
        assert_eq!(error("InvalidParameterValue").map_err(|e| e.class), Err(ErrorClass::Terminal), "{}", case.resource_type);
        pending(error("RequestLimitExceeded"));
    }
}

/// cdkd counts a NAT gateway that AWS has been deleting for a quarter of an hour as gone, and a VPN detach after ten
/// minutes; an endpoint is looked at until it is gone.
#[test]
fn how_long_each_is_waited_for() {
    for case in slow() {
        let patience = match case.look {
            "DescribeNatGateways" => Some(900),
            "DescribeVpnGateways" => Some(600),
            _ => None,
        };
        let mut bench = case.bench();
        pending(next(&mut bench, case.look(case.delete(Script::new()), Some(case.going))));
        bench.pass(patience.unwrap_or(7200) - 1);
        pending(next(&mut bench, case.look(Script::new(), Some(case.going))));
        bench.pass(1);
        let answer = next(&mut bench, case.look(Script::new(), Some(case.going)));
        match patience {
            Some(_) => assert_eq!(answer, Ok(Step::DELETED), "{}", case.resource_type),
            None => drop(pending(answer)),
        }
    }
}

#[test]
fn a_nat_gateway_that_never_worked_is_gone() {
    let case = &slow()[0];
    assert_eq!(next(&mut case.bench(), case.look(case.delete(Script::new()), Some("failed"))), Ok(Step::DELETED));
    let (look_again, _) = pending(step("AWS::EC2::NatGateway", "nat-1", json!({}), {
        Script::new().ec2_error(&["DeleteNatGateway"], "DependencyViolation", "routes are changing")
    }));
    assert_eq!(look_again, seconds(10));
}

/// DeleteVpcEndpoints succeeds and names in its answer what did not go.
#[test]
fn an_endpoint_that_did_not_go_is_an_error() {
    let inside = |code: &str| {
        let item = format!("<resourceId>vpce-1</resourceId><error><code>{code}</code><message>m</message></error>");
        Script::new().on(
            &["DeleteVpcEndpoints", "VpcEndpointId.1=vpce-1"],
            200,
            list("DeleteVpcEndpoints", "unsuccessful", &[item]),
        )
    };
    let case = &slow()[1];
    let answer = next(&mut case.bench(), case.look(inside("InvalidVpcEndpoint.NotFound"), None));
    assert_eq!(answer, Ok(Step::ALREADY_GONE));
    let answer = next(&mut case.bench(), inside("OperationNotPermitted"));
    assert_eq!(answer.map_err(|e| e.class), Err(ErrorClass::Protected), "managed by a service");
}

/// Cloud Control's form of the id names the kind of gateway; the properties name the gateway.
#[test]
fn gateways_named_by_kind() {
    let script = Script::new().on(
        &["DetachInternetGateway", "InternetGatewayId=igw-7", "VpcId=vpc-1"],
        200,
        done("DetachInternetGateway"),
    );
    let properties = json!({ "InternetGatewayId": "igw-7", "VpcId": "vpc-1" });
    assert_eq!(step("AWS::EC2::VPCGatewayAttachment", "IGW|vpc-1", properties, script), Ok(Step::DELETED));

    let script = Script::new().on(&["DetachVpnGateway", "VpnGatewayId=vgw-7", "VpcId=vpc-1"], 200, done("DetachVpnGateway")).on(
        &["DescribeVpnGateways"],
        200,
        list("DescribeVpnGateways", "vpnGatewaySet", &[]),
    );
    assert_eq!(
        step("AWS::EC2::VPCGatewayAttachment", "VGW|vpc-1", json!({ "VpnGatewayId": "vgw-7" }), script),
        Ok(Step::DELETED)
    );
}

/// A row with both gateways detaches both.
#[test]
fn both_gateways_of_a_row_go() {
    let properties = json!({ "VpnGatewayId": "vgw-1" });
    let script = Script::new()
        .ec2_error(&["DetachInternetGateway"], "Gateway.NotAttached", "not attached")
        .on(&["DetachVpnGateway", "vgw-1"], 200, done("DetachVpnGateway"))
        .on(&["DescribeVpnGateways"], 200, list("DescribeVpnGateways", "vpnGatewaySet", &[]));
    assert_eq!(step("AWS::EC2::VPCGatewayAttachment", "igw-1|vpc-1", properties, script), Ok(Step::DELETED));
}
