//! Users, groups, memberships and access keys.

use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use super::{Iam, answer, attached};
use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

fn user() -> Bench {
    Bench::new("AWS::IAM::User", "ann", json!({}))
}

fn named(kind: &str, name: &str) -> String {
    format!(
        "<Path>/</Path><{kind}Name>{name}</{kind}Name><{kind}Id>A</{kind}Id><Arn>a</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate>"
    )
}

fn device(serial: &str) -> String {
    format!("<UserName>ann</UserName><SerialNumber>{serial}</SerialNumber><EnableDate>2026-01-01T00:00:00Z</EnableDate>")
}

fn ssh_key(id: &str) -> String {
    format!(
        "<UserName>ann</UserName><SSHPublicKeyId>{id}</SSHPublicKeyId><Status>Active</Status>\
         <UploadDate>2026-01-01T00:00:00Z</UploadDate>"
    )
}

fn credential(id: &str) -> String {
    format!(
        "<UserName>ann</UserName><Status>Active</Status><ServiceUserName>ann-at-1</ServiceUserName>\
         <CreateDate>2026-01-01T00:00:00Z</CreateDate><ServiceSpecificCredentialId>{id}</ServiceSpecificCredentialId>\
         <ServiceName>codecommit.amazonaws.com</ServiceName>"
    )
}

fn certificate(id: &str) -> String {
    format!(
        "<UserName>ann</UserName><CertificateId>{id}</CertificateId><CertificateBody>b</CertificateBody><Status>Active</Status>"
    )
}

/// The calls of a user that has nothing, up to its delete.
fn bare() -> Script {
    let found = format!("<User>{}</User>", named("User", "ann"));
    Script::new()
        .on(&["Action=GetUser&", "UserName=ann"], 200, answer("GetUser", &found))
        .page("ListGroupsForUser", &[], "Groups", &[], None)
        .page("ListAttachedUserPolicies", &[], "AttachedPolicies", &[], None)
        .page("ListUserPolicies", &[], "PolicyNames", &[], None)
        .fails("DeleteLoginProfile", "NoSuchEntity")
        .page("ListAccessKeys", &[], "AccessKeyMetadata", &[], None)
        .page("ListMFADevices", &[], "MFADevices", &[], None)
        .page("ListSSHPublicKeys", &[], "SSHPublicKeys", &[], None)
        .page("ListServiceSpecificCredentials", &[], "ServiceSpecificCredentials", &[], None)
        .page("ListSigningCertificates", &[], "Certificates", &[], None)
        .fails("DeleteUserPermissionsBoundary", "NoSuchEntity")
}

/// The calls of a user that has one of everything, and two pages of groups.
fn full() -> Script {
    let found = format!("<User>{}</User>", named("User", "ann"));
    let devices = [device("arn:aws:iam::123456789012:mfa/ann"), device("GAHT12345678")];
    Script::new()
        .on(&["Action=GetUser&", "UserName=ann"], 200, answer("GetUser", &found))
        .page("ListGroupsForUser", &["UserName=ann"], "Groups", &[named("Group", "staff")], Some("more"))
        .page("ListGroupsForUser", &["Marker=more"], "Groups", &[named("Group", "admins")], None)
        .done("RemoveUserFromGroup", &["GroupName=staff", "UserName=ann"])
        .done("RemoveUserFromGroup", &["GroupName=admins", "UserName=ann"])
        .page("ListAttachedUserPolicies", &["UserName=ann"], "AttachedPolicies", &[attached("One")], None)
        .done("DetachUserPolicy", &["policy%2FOne", "UserName=ann"])
        .page("ListUserPolicies", &["UserName=ann"], "PolicyNames", &["inline".into()], None)
        .done("DeleteUserPolicy", &["PolicyName=inline", "UserName=ann"])
        .done("DeleteLoginProfile", &["UserName=ann"])
        .page("ListAccessKeys", &["UserName=ann"], "AccessKeyMetadata", &["<AccessKeyId>AKIA1</AccessKeyId>".into()], None)
        .done("DeleteAccessKey", &["AccessKeyId=AKIA1", "UserName=ann"])
        .page("ListMFADevices", &["UserName=ann"], "MFADevices", &devices, None)
        .done("DeactivateMFADevice", &["UserName=ann", "mfa%2Fann"])
        .done("DeleteVirtualMFADevice", &["mfa%2Fann"])
        .done("DeactivateMFADevice", &["UserName=ann", "SerialNumber=GAHT12345678"])
        .page("ListSSHPublicKeys", &["UserName=ann"], "SSHPublicKeys", &[ssh_key("APKA1")], None)
        .done("DeleteSSHPublicKey", &["SSHPublicKeyId=APKA1", "UserName=ann"])
        .page(
            "ListServiceSpecificCredentials",
            &["UserName=ann"],
            "ServiceSpecificCredentials",
            &[credential("ACCA1")],
            Some("m"),
        )
        .done("DeleteServiceSpecificCredential", &["ServiceSpecificCredentialId=ACCA1", "UserName=ann"])
        .page("ListServiceSpecificCredentials", &["Marker=m"], "ServiceSpecificCredentials", &[], None)
        .page("ListSigningCertificates", &["UserName=ann"], "Certificates", &[certificate("CERT1")], None)
        .done("DeleteSigningCertificate", &["CertificateId=CERT1", "UserName=ann"])
        .done("DeleteUserPermissionsBoundary", &["UserName=ann"])
}

/// Any membership, policy, password, key, device, credential or certificate blocks the delete.
#[tokio::test]
async fn a_user_loses_all_that_blocks_its_delete() {
    let script = full().done("DeleteUser", &["UserName=ann"]);
    assert_eq!(user().step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = bare().done("DeleteUser", &["UserName=ann"]);
    let mut bench = Bench::new("AWS::IAM::User", "arn:aws:iam::123456789012:user/people/ann", json!({}));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_user_that_is_not_there_is_gone() {
    let script = Script::new().fails("GetUser", "NoSuchEntity");
    assert_eq!(user().step(&script).await, Ok(Step::ALREADY_GONE));
    let script = bare().fails("DeleteUser", "NoSuchEntity");
    assert_eq!(user().step(&script).await, Ok(Step::ALREADY_GONE));
}

/// What the sweep finds again and again is what holds the user.
#[tokio::test]
async fn a_conflict_names_what_the_sweep_found_and_repeats_it() {
    let step = user().step(&full().fails("DeleteUser", "DeleteConflict")).await;
    let named = "DeleteConflict: held by group staff, group admins, policy arn:aws:iam::aws:policy/One (attached), \
                 policy inline (inline), a password and 6 more";
    assert!(matches!(&step, Ok(Step::Pending { note, .. }) if *note == named), "{step:?}");
    for (code, wait, give_up) in
        [("DeleteConflict", 3, 90), ("EntityTemporarilyUnmodifiable", 5, 60), ("ConcurrentModification", 3, 60)]
    {
        assert_passes(user(), || bare().fails("DeleteUser", code), wait, give_up).await;
    }
    let script = bare().fails("DeleteUser", "LimitExceeded");
    assert_eq!(user().step(&script).await.map_err(|e| e.class), Err(ErrorClass::Terminal), "a quota, not a throttle");
}

#[tokio::test]
async fn a_sweep_without_time_goes_on_in_the_next_step() {
    let found = format!("<User>{}</User>", named("User", "ann"));
    let script = Script::new()
        .on(&["Action=GetUser&"], 200, answer("GetUser", &found))
        .page("ListGroupsForUser", &[], "Groups", &[], None)
        .page("ListAttachedUserPolicies", &[], "AttachedPolicies", &[], None)
        .page("ListUserPolicies", &[], "PolicyNames", &[], None)
        .fails("DeleteLoginProfile", "NoSuchEntity")
        .page("ListAccessKeys", &[], "AccessKeyMetadata", &[], None)
        .page("ListMFADevices", &[], "MFADevices", &[], None);
    let mut bench = user();
    bench.soft_budget = 0;
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { look_again, .. }) if look_again.is_zero()));
    script.assert_done();
}

/// GetUser and the sweep without a name are about the caller.
#[tokio::test]
async fn no_name_makes_no_call() {
    for id in ["", "arn:aws:iam::123456789012:user/"] {
        assert_not_addressed(Bench::new("AWS::IAM::User", id, json!({})), Code::MalformedPhysicalId).await;
        assert_not_addressed(Bench::new("AWS::IAM::Group", id, json!({})), Code::MalformedPhysicalId).await;
    }
    assert_not_addressed(Bench::new("AWS::IAM::User", "***", json!({})), Code::MaskedAddress).await;
    assert_not_addressed(Bench::new("AWS::IAM::Group", "***", json!({})), Code::MaskedAddress).await;
}

#[tokio::test]
async fn a_sweep_of_a_user_stops_where_the_fence_shuts() {
    let mut bench = user();
    bench.shut_after(1);
    let found = format!("<User>{}</User>", named("User", "ann"));
    let groups = [named("Group", "staff"), named("Group", "admins")];
    let script = Script::new()
        .on(&["Action=GetUser&"], 200, answer("GetUser", &found))
        .page("ListGroupsForUser", &[], "Groups", &groups, None)
        .done("RemoveUserFromGroup", &["GroupName=staff"]);
    assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::FenceShut);
    script.assert_done();
}

fn group() -> Bench {
    Bench::new("AWS::IAM::Group", "staff", json!({}))
}

fn group_with(members: &[String], marker: Option<&str>) -> String {
    let users: String = members.iter().map(|user| format!("<member>{user}</member>")).collect();
    let more = marker.map_or("<IsTruncated>false</IsTruncated>".to_owned(), |m| {
        format!("<IsTruncated>true</IsTruncated><Marker>{m}</Marker>")
    });
    answer("GetGroup", &format!("<Group>{}</Group><Users>{users}</Users>{more}", named("Group", "staff")))
}

fn bare_group() -> Script {
    Script::new()
        .page("ListAttachedGroupPolicies", &["GroupName=staff"], "AttachedPolicies", &[], None)
        .page("ListGroupPolicies", &["GroupName=staff"], "PolicyNames", &[], None)
        .on(&["Action=GetGroup&", "GroupName=staff"], 200, group_with(&[], None))
}

/// Members that were added out of band block the delete too: GetGroup knows them, the state does not.
#[tokio::test]
async fn a_group_loses_its_policies_and_all_its_members() {
    let full = || {
        Script::new()
            .page("ListAttachedGroupPolicies", &["GroupName=staff"], "AttachedPolicies", &[attached("One")], None)
            .done("DetachGroupPolicy", &["GroupName=staff", "policy%2FOne"])
            .page("ListGroupPolicies", &["GroupName=staff"], "PolicyNames", &["inline".into()], None)
            .done("DeleteGroupPolicy", &["GroupName=staff", "PolicyName=inline"])
            .on(&["Action=GetGroup&"], 200, group_with(&[named("User", "ann")], Some("more")))
            .on(&["Action=GetGroup&", "Marker=more"], 200, group_with(&[named("User", "bob")], None))
            .done("RemoveUserFromGroup", &["GroupName=staff", "UserName=ann"])
            .fails("RemoveUserFromGroup", "NoSuchEntity")
    };
    let script = full().done("DeleteGroup", &["GroupName=staff"]);
    assert_eq!(group().step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let step = group().step(&full().fails("DeleteGroup", "DeleteConflict")).await;
    let named =
        "DeleteConflict: held by policy arn:aws:iam::aws:policy/One (attached), policy inline (inline), user ann, user bob";
    assert!(matches!(&step, Ok(Step::Pending { note, .. }) if *note == named), "{step:?}");
}

#[tokio::test]
async fn the_rest_of_a_groups_answers() {
    let script = Script::new().fails("ListAttachedGroupPolicies", "NoSuchEntity");
    assert_eq!(group().step(&script).await, Ok(Step::ALREADY_GONE));
    assert_passes(group(), || bare_group().fails("DeleteGroup", "DeleteConflict"), 3, 60).await;
    let mut bench = group();
    bench.fence(false);
    assert_eq!(bench.step(&bare_group()).await.unwrap_err().class, ErrorClass::FenceShut);

    let mut bench = group();
    bench.soft_budget = 0;
    let script = Script::new()
        .page("ListAttachedGroupPolicies", &[], "AttachedPolicies", &[], None)
        .page("ListGroupPolicies", &[], "PolicyNames", &[], None)
        .on(&["Action=GetGroup&"], 200, group_with(&[named("User", "ann")], None));
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { look_again, .. }) if look_again.is_zero()));
    script.assert_done();
}

fn membership(properties: Value) -> Bench {
    Bench::new("AWS::IAM::UserToGroupAddition", "Membership", properties)
}

/// The id carries no identity of AWS; the group's other members stay.
#[tokio::test]
async fn an_addition_takes_out_the_users_it_names() {
    let named = json!({ "GroupName": "staff", "Users": ["ann", "bob"] });
    let script = Script::new()
        .done("RemoveUserFromGroup", &["GroupName=staff", "UserName=ann"])
        .fails("RemoveUserFromGroup", "NoSuchEntity");
    assert_eq!(membership(named.clone()).step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    // Group or users went in the same run.
    let script = Script::new().fails("RemoveUserFromGroup", "NoSuchEntity").fails("RemoveUserFromGroup", "NoSuchEntity");
    assert_eq!(membership(named.clone()).step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();

    let script = Script::new();
    assert_eq!(membership(json!({ "GroupName": "staff", "Users": [] })).step(&script).await, Ok(Step::ALREADY_GONE));
    let mut bench = membership(named);
    bench.fence(false);
    assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::FenceShut);
    assert_eq!(script.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn an_addition_that_names_nothing_is_not_addressed() {
    for (properties, code) in [
        (json!({}), Code::MissingAddress),
        (json!({ "GroupName": "staff" }), Code::MissingAddress),
        (json!({ "Users": ["ann"] }), Code::MissingAddress),
        (json!({ "GroupName": "***", "Users": ["ann"] }), Code::MaskedAddress),
        (json!({ "GroupName": "staff", "Users": ["ann", "***"] }), Code::MaskedAddress),
        (json!({ "GroupName": "staff", "Users": "ann" }), Code::MaskedAddress),
    ] {
        assert_not_addressed(membership(properties), code).await;
    }
}

fn key(properties: Value) -> Bench {
    Bench::new("AWS::IAM::AccessKey", "AKIA1", properties)
}

/// Without a user IAM looks among the caller's own keys, and its not-found would hide a live key.
#[tokio::test]
async fn a_key_is_deleted_with_its_owner_named() {
    let delete = &["AccessKeyId=AKIA1", "UserName=ann"];
    let script = Script::new().done("DeleteAccessKey", delete).fails("DeleteAccessKey", "NoSuchEntity");
    assert_eq!(key(json!({ "UserName": "ann" })).step(&script).await, Ok(Step::DELETED));
    assert_eq!(key(json!({ "UserName": "ann" })).step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();

    let owner = "<UserName>ann</UserName>";
    let asked = &["Action=GetAccessKeyLastUsed&", "AccessKeyId=AKIA1"];
    let script = Script::new().on(asked, 200, answer("GetAccessKeyLastUsed", owner)).done("DeleteAccessKey", delete);
    assert_eq!(key(json!({})).step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().on(asked, 200, answer("GetAccessKeyLastUsed", owner)).done("DeleteAccessKey", delete);
    assert_eq!(key(json!({ "UserName": "***" })).step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().on(asked, 200, answer("GetAccessKeyLastUsed", ""));
    let step = key(json!({})).step(&script).await;
    assert!(matches!(step, Ok(Step::Skipped { code: Code::MissingAddress, .. })), "{step:?}");
    script.assert_done();
}

#[tokio::test]
async fn the_rest_of_a_keys_answers() {
    for id in ["", "***", "AKIA 1"] {
        assert_not_addressed(Bench::new("AWS::IAM::AccessKey", id, json!({ "UserName": "ann" })), Code::MalformedPhysicalId)
            .await;
    }
    let script = Script::new().fails("GetAccessKeyLastUsed", "NoSuchEntity");
    assert_eq!(key(json!({})).step(&script).await, Ok(Step::ALREADY_GONE));
    let script = Script::new().fails("DeleteAccessKey", "LimitExceeded");
    assert_eq!(key(json!({ "UserName": "ann" })).step(&script).await.unwrap_err().class, ErrorClass::Terminal);
    assert_fenced(key(json!({ "UserName": "ann" })), Script::new()).await;
}
