//! Elastic IP addresses: how one is found, whom it is taken from and whom not.

use ebb_core::{ErrorClass, Step};
use serde_json::json;

use super::{done, list, next, pending, seconds, step};
use crate::testing::{Bench, Script};

const EIP: &str = "AWS::EC2::EIP";
const ID: &str = "52.1.2.3|eipalloc-1";

fn address(ip: &str, allocation: &str, more: &str) -> String {
    format!("<publicIp>{ip}</publicIp><allocationId>{allocation}</allocationId>{more}")
}

fn addresses(all: &[String]) -> String {
    list("DescribeAddresses", "addressesSet", all)
}

/// Another address of the account: an endpoint that ignores the ids lists it as well.
fn neighbour() -> String {
    address("52.9.9.9", "eipalloc-9", "<associationId>eipassoc-9</associationId><instanceId>i-1</instanceId>")
}

fn release() -> String {
    done("ReleaseAddress")
}

#[test]
fn each_form_of_the_id_finds_it() {
    for id in [ID, "eipalloc-1", "eipalloc-1|52.1.2.3"] {
        let script = Script::new().on(&["ReleaseAddress", "AllocationId=eipalloc-1"], 200, release());
        assert_eq!(step(EIP, id, json!({}), script), Ok(Step::DELETED));
    }
    let script = Script::new()
        .on(&["DescribeAddresses", "PublicIp.1=52.1.2.3"], 200, addresses(&[neighbour(), address("52.1.2.3", "eipalloc-1", "")]))
        .on(&["ReleaseAddress", "AllocationId=eipalloc-1"], 200, release());
    assert_eq!(step(EIP, "52.1.2.3", json!({}), script), Ok(Step::DELETED));
    let mut bench = Bench::new(EIP, "52.1.2.3", json!({}));
    bench.resource.attributes.insert("AllocationId".into(), json!("eipalloc-1"));
    let script = Script::new().on(&["ReleaseAddress", "AllocationId=eipalloc-1"], 200, release());
    assert_eq!(next(&mut bench, script), Ok(Step::DELETED));
}

#[test]
fn an_address_that_nobody_lists_is_gone() {
    let script = Script::new().on(&["DescribeAddresses"], 200, addresses(&[neighbour()]));
    assert_eq!(step(EIP, "52.1.2.3", json!({}), script), Ok(Step::ALREADY_GONE));
    let script = Script::new().ec2_error(&["DescribeAddresses"], "InvalidAddress.NotFound", "no such address");
    assert_eq!(step(EIP, "52.1.2.3", json!({}), script), Ok(Step::ALREADY_GONE));
}

/// The row put it on the instance, and no other row records that.
#[test]
fn it_is_taken_from_the_instance_of_the_row() {
    let ours = address("52.1.2.3", "eipalloc-1", "<associationId>eipassoc-1</associationId><instanceId>i-1</instanceId>");
    let script = Script::new()
        .on(&["DescribeAddresses", "AllocationId.1=eipalloc-1"], 200, addresses(&[neighbour(), ours]))
        .on(&["DisassociateAddress", "AssociationId=eipassoc-1"], 200, done("DisassociateAddress"))
        .on(&["ReleaseAddress", "AllocationId=eipalloc-1"], 200, release());
    assert_eq!(step(EIP, ID, json!({ "InstanceId": "i-1" }), script), Ok(Step::DELETED));
}

/// Whoever else holds it lets go of it by being deleted.
#[test]
fn it_is_never_taken_from_another_owner() {
    let held = |more: &str| addresses(&[neighbour(), address("52.1.2.3", "eipalloc-1", more)]);
    let other = "<associationId>eipassoc-1</associationId><instanceId>i-2</instanceId>";
    let nat = "<associationId>eipassoc-1</associationId><networkInterfaceId>eni-1</networkInterfaceId>\
               <networkInterfaceOwnerId>amazon-aws</networkInterfaceOwnerId>";
    for (code, properties, more, name) in [
        ("InvalidIPAddress.InUse", json!({ "InstanceId": "i-1" }), other, "i-2"),
        ("InvalidIPAddress.InUse", json!({ "InstanceId": "***" }), other, "i-2"),
        ("AuthFailure", json!({}), nat, "eni-1 (owner amazon-aws)"),
        ("DependencyViolation", json!({}), nat, "eni-1 (owner amazon-aws)"),
    ] {
        let looks_first = properties["InstanceId"] == json!("i-1");
        let run = |bench: &mut Bench| {
            let mut script = Script::new();
            if looks_first {
                script = script.on(&["DescribeAddresses"], 200, held(more));
            }
            let script = script.ec2_error(&["Action=ReleaseAddress"], code, "held").on(&["DescribeAddresses"], 200, held(more));
            next(bench, script)
        };
        let mut bench = Bench::new(EIP, ID, properties);
        let (look_again, note) = pending(run(&mut bench));
        assert_eq!((look_again, note), (seconds(10), format!("{code}: held by {name}")));
        bench.pass(600);
        let error = run(&mut bench).unwrap_err();
        assert_eq!(error.class, ErrorClass::Terminal);
        assert!(error.message.contains(name), "{}", error.message);
    }
}

/// AuthFailure hides a holder; where there is none it is a missing right.
#[test]
fn an_auth_failure_without_an_association_is_a_denial() {
    let free = addresses(&[address("52.1.2.3", "eipalloc-1", "")]);
    let script =
        Script::new().ec2_error(&["ReleaseAddress"], "AuthFailure", "no permission").on(&["DescribeAddresses"], 200, free);
    assert_eq!(step(EIP, ID, json!({}), script).map_err(|e| e.class), Err(ErrorClass::Denied));
    let script = Script::new().ec2_error(&["ReleaseAddress"], "AuthFailure", "no permission").on(
        &["DescribeAddresses"],
        200,
        addresses(&[neighbour()]),
    );
    assert_eq!(step(EIP, ID, json!({}), script), Ok(Step::ALREADY_GONE));
}
