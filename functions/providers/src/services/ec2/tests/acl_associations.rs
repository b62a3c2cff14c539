//! A subnet always has a network ACL: what a stack gave it makes way for the default one of its VPC.

use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use super::{done, list, next, step};
use crate::testing::{Bench, Script};

const TYPE: &str = "AWS::EC2::SubnetNetworkAclAssociation";
const BY_SUBNET: &[&str] = &["Action=DescribeNetworkAcls&", "Name=association.subnet-id", "Value.1=subnet-1"];
const BY_VPC: &[&str] = &["Action=DescribeNetworkAcls&", "Name=vpc-id", "Value.1=vpc-1", "Name=default"];
const REPLACE: &[&str] = &["Action=ReplaceNetworkAclAssociation&", "AssociationId=aclassoc-9", "NetworkAclId=acl-default"];

fn recorded() -> Value {
    json!({ "SubnetId": "subnet-1", "NetworkAclId": "acl-1" })
}

fn acl(id: &str, vpc: &str, default: bool, associations: &[(&str, &str)]) -> String {
    let associations: String = associations
        .iter()
        .map(|(id, subnet)| {
            format!("<item><networkAclAssociationId>{id}</networkAclAssociationId><subnetId>{subnet}</subnetId></item>")
        })
        .collect();
    format!(
        "<networkAclId>{id}</networkAclId><vpcId>{vpc}</vpcId><default>{default}</default>\
         <associationSet>{associations}</associationSet>"
    )
}

fn acls(all: &[String]) -> String {
    list("DescribeNetworkAcls", "networkAclSet", all)
}

/// The subnet's ACL is `id` now, under another association than the recorded one; neighbours are listed beside it.
fn subnet_has(id: &str, default: bool) -> String {
    acls(&[
        acl("acl-2", "vpc-1", false, &[("aclassoc-2", "subnet-2")]),
        acl(id, "vpc-1", default, &[("aclassoc-8", "subnet-8"), ("aclassoc-9", "subnet-1")]),
    ])
}

fn defaults() -> String {
    acls(&[acl("acl-far", "vpc-2", true, &[]), acl("acl-2", "vpc-1", false, &[]), acl("acl-default", "vpc-1", true, &[])])
}

/// An association has another id whenever it is replaced: the recorded one may be stale.
#[test]
fn the_association_of_now_is_replaced_by_the_default_acl() {
    let script = Script::new().on(BY_SUBNET, 200, subnet_has("acl-1", false)).on(BY_VPC, 200, defaults()).on(
        REPLACE,
        200,
        done("ReplaceNetworkAclAssociation"),
    );
    assert_eq!(step(TYPE, "aclassoc-1", recorded(), script), Ok(Step::DELETED));

    let by_id = &["Action=DescribeNetworkAcls&", "Name=association.association-id", "Value.1=aclassoc-9"];
    let script = Script::new().on(by_id, 200, subnet_has("acl-1", false)).on(BY_VPC, 200, defaults()).on(
        REPLACE,
        200,
        done("ReplaceNetworkAclAssociation"),
    );
    assert_eq!(step(TYPE, "aclassoc-9", json!({}), script), Ok(Step::DELETED));
}

#[test]
fn what_is_not_ours_any_more_stays() {
    for found in [subnet_has("acl-other", false), subnet_has("acl-1", true), acls(&[])] {
        let script = Script::new().on(BY_SUBNET, 200, found);
        assert_eq!(step(TYPE, "aclassoc-1", recorded(), script), Ok(Step::ALREADY_GONE));
    }
    // Without the recorded ACL, only the recorded association is ours.
    let script = Script::new().on(BY_SUBNET, 200, subnet_has("acl-1", false));
    assert_eq!(step(TYPE, "aclassoc-1", json!({ "SubnetId": "subnet-1" }), script), Ok(Step::ALREADY_GONE));
    let script = Script::new().on(&["Name=association.association-id"], 200, subnet_has("acl-1", false));
    assert_eq!(step(TYPE, "aclassoc-1", json!({}), script), Ok(Step::ALREADY_GONE));
}

#[test]
fn the_errors_of_an_association() {
    let replace = |code: &str| {
        let script = Script::new().on(BY_SUBNET, 200, subnet_has("acl-1", false)).on(BY_VPC, 200, defaults());
        step(TYPE, "aclassoc-1", recorded(), script.ec2_error(REPLACE, code, "as EC2 words it"))
    };
    for code in ["InvalidAssociationID.NotFound", "InvalidSubnetID.NotFound"] {
        assert_eq!(replace(code), Ok(Step::ALREADY_GONE));
    }
    assert_eq!(replace("UnauthorizedOperation").map_err(|e| e.class), Err(ErrorClass::Denied));
    let script =
        Script::new().on(BY_SUBNET, 200, subnet_has("acl-1", false)).on(BY_VPC, 200, acls(&[acl("acl-far", "vpc-2", true, &[])]));
    let answer = step(TYPE, "aclassoc-1", recorded(), script);
    assert!(matches!(answer, Ok(Step::Skipped { code: Code::MissingAddress, .. })), "{answer:?}");
}

#[test]
fn a_mask_makes_no_call_and_a_shut_fence_no_change() {
    for properties in [json!({ "SubnetId": "***" }), json!({ "SubnetId": "subnet-1", "NetworkAclId": "***" })] {
        let answer = step(TYPE, "aclassoc-1", properties, Script::new());
        assert!(matches!(answer, Ok(Step::Skipped { code: Code::MaskedAddress, .. })), "{answer:?}");
    }
    let mut bench = Bench::new(TYPE, "aclassoc-1", recorded());
    bench.fence(false);
    let script = Script::new().on(BY_SUBNET, 200, subnet_has("acl-1", false)).on(BY_VPC, 200, defaults());
    assert_eq!(next(&mut bench, script).map_err(|e| e.class), Err(ErrorClass::FenceShut));
}
