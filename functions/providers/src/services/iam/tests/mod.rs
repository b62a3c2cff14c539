//! Replays of IAM: what is attached is asked of IAM and taken off before the delete.

mod users;

use ebb_core::{Code, ErrorClass, Step};
use serde_json::{Value, json};

use crate::testing::{Bench, Script, assert_not_addressed, assert_passes};

/// An answer of IAM's query protocol.
fn answer(action: &str, result: &str) -> String {
    format!("<{action}Response><{action}Result>{result}</{action}Result></{action}Response>")
}

fn members(list: &str, items: &[String], marker: Option<&str>) -> String {
    let items: String = items.iter().map(|item| format!("<member>{item}</member>")).collect();
    let more = match marker {
        Some(marker) => format!("<IsTruncated>true</IsTruncated><Marker>{marker}</Marker>"),
        None => "<IsTruncated>false</IsTruncated>".to_owned(),
    };
    format!("<{list}>{items}</{list}>{more}")
}

trait Iam: Sized {
    /// A list call, asked with `wants`, that answers one page.
    fn page(self, action: &str, wants: &[&str], list: &str, items: &[String], marker: Option<&str>) -> Self;
    /// A call that answers nothing.
    fn done(self, action: &str, wants: &[&str]) -> Self;
    /// A call that fails.
    fn fails(self, action: &str, code: &str) -> Self;
}

fn wanted<'a>(action: &'a str, wants: &[&'a str]) -> Vec<&'a str> {
    [&[action], wants].concat()
}

impl Iam for Script {
    fn page(self, action: &str, wants: &[&str], list: &str, items: &[String], marker: Option<&str>) -> Self {
        self.on(&wanted(&format!("Action={action}&"), wants), 200, answer(action, &members(list, items, marker)))
    }
    fn done(self, action: &str, wants: &[&str]) -> Self {
        self.on(&wanted(&format!("Action={action}&"), wants), 200, answer(action, ""))
    }
    fn fails(self, action: &str, code: &str) -> Self {
        self.query_error(&[&format!("Action={action}&")], code, "as the test wants it")
    }
}

fn attached(name: &str) -> String {
    format!("<PolicyName>{name}</PolicyName><PolicyArn>arn:aws:iam::aws:policy/{name}</PolicyArn>")
}

fn profile(name: &str) -> String {
    format!(
        "<Path>/</Path><InstanceProfileName>{name}</InstanceProfileName><InstanceProfileId>A</InstanceProfileId>\
         <Arn>arn:aws:iam::123456789012:instance-profile/{name}</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate><Roles/>"
    )
}

/// A role with nothing attached, up to its delete.
fn bare_role() -> Script {
    Script::new()
        .page("ListAttachedRolePolicies", &[], "AttachedPolicies", &[], None)
        .page("ListRolePolicies", &[], "PolicyNames", &[], None)
        .page("ListInstanceProfilesForRole", &[], "InstanceProfiles", &[], None)
}

fn role() -> Bench {
    Bench::new("AWS::IAM::Role", "app-role", json!({}))
}

/// Detach managed, delete inline, leave instance profiles, each list to its last page; then the role.
#[tokio::test]
async fn a_role_is_stripped_page_by_page() {
    let script = Script::new()
        .page("ListAttachedRolePolicies", &["RoleName=app-role"], "AttachedPolicies", &[attached("One")], Some("more"))
        .page("ListAttachedRolePolicies", &["Marker=more"], "AttachedPolicies", &[attached("Two")], None)
        .done("DetachRolePolicy", &["RoleName=app-role", "policy%2FOne"])
        .done("DetachRolePolicy", &["policy%2FTwo"])
        .page("ListRolePolicies", &[], "PolicyNames", &["inline-1".into()], Some("next"))
        .page("ListRolePolicies", &["Marker=next"], "PolicyNames", &["inline-2".into()], None)
        .done("DeleteRolePolicy", &["PolicyName=inline-1"])
        .fails("DeleteRolePolicy", "NoSuchEntity")
        .page("ListInstanceProfilesForRole", &[], "InstanceProfiles", &[profile("p1")], Some("last"))
        .page("ListInstanceProfilesForRole", &["Marker=last"], "InstanceProfiles", &[profile("p2")], None)
        .done("RemoveRoleFromInstanceProfile", &["InstanceProfileName=p1", "RoleName=app-role"])
        .done("RemoveRoleFromInstanceProfile", &["InstanceProfileName=p2"])
        .done("DeleteRole", &["RoleName=app-role"]);
    assert_eq!(role().step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_role_that_is_not_there_is_gone() {
    let script = Script::new().fails("ListAttachedRolePolicies", "NoSuchEntity");
    assert_eq!(role().step(&script).await, Ok(Step::ALREADY_GONE));
    let script = bare_role().fails("DeleteRole", "NoSuchEntity");
    assert_eq!(role().step(&script).await, Ok(Step::ALREADY_GONE));
}

/// DeleteConflict at the end: repeat the sweep after 3 s, up to 90 s.
#[tokio::test]
async fn a_conflict_repeats_the_sweep_for_a_minute_and_a_half() {
    let conflict = || bare_role().fails("DeleteRole", "DeleteConflict");
    let mut bench = role();
    for _ in 0..2 {
        let script = conflict();
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() <= 9));
        script.assert_done();
        bench.pass(45);
    }
    let error = bench.step(&conflict()).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, "DeleteConflict"));
    assert!(error.message.contains("for 90 s"), "{}", error.message);
}

/// Repeated sweeps that find the same again name what holds the role; a boundary that a policy is stays, and is named.
#[tokio::test]
async fn a_conflict_names_what_holds() {
    let script = Script::new()
        .page("ListAttachedRolePolicies", &[], "AttachedPolicies", &[attached("One")], None)
        .done("DetachRolePolicy", &[])
        .page("ListRolePolicies", &[], "PolicyNames", &["inline".into()], None)
        .done("DeleteRolePolicy", &[])
        .page("ListInstanceProfilesForRole", &[], "InstanceProfiles", &[profile("web")], None)
        .done("RemoveRoleFromInstanceProfile", &[])
        .fails("DeleteRole", "DeleteConflict");
    let step = role().step(&script).await;
    let named =
        "DeleteConflict: held by policy arn:aws:iam::aws:policy/One (attached), policy inline (inline), instance profile web";
    assert!(matches!(&step, Ok(Step::Pending { note, .. }) if *note == named), "{step:?}");

    let script = unbounded()
        .on(&["Action=ListEntitiesForPolicy", "PolicyUsageFilter=PermissionsPolicy"], 200, entities(&[], &[], &[], None))
        .page("ListPolicyVersions", &[], "Versions", &[version("v1", true)], None)
        .fails("DeletePolicy", "DeleteConflict")
        .on(BOUNDARIES, 200, entities(&[], &["one"], &["ann"], None));
    let step = Bench::new("AWS::IAM::ManagedPolicy", ARN, json!({})).step(&script).await;
    let named = "DeleteConflict: held by role one (as its boundary), user ann (as its boundary)";
    assert!(matches!(&step, Ok(Step::Pending { note, .. }) if *note == named), "{step:?}");
    script.assert_done();
}

/// `LimitExceeded` is a quota here, not a throttle; a service-linked role cannot be modified.
#[tokio::test]
async fn quotas_and_service_linked_roles_are_final() {
    for code in ["LimitExceeded", "UnmodifiableEntity"] {
        let error = role().step(&bare_role().fails("DeleteRole", code)).await.unwrap_err();
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Terminal, code));
    }
    let throttled = bare_role().fails("DeleteRole", "Throttling");
    assert!(matches!(role().step(&throttled).await, Ok(Step::Pending { .. })));
}

/// The fence is asked before every mutating call of a sweep.
#[tokio::test]
async fn a_sweep_stops_where_the_fence_shuts() {
    let script = Script::new()
        .page("ListAttachedRolePolicies", &[], "AttachedPolicies", &[attached("One"), attached("Two")], None)
        .done("DetachRolePolicy", &["policy%2FOne"]);
    let mut bench = role();
    bench.shut_after(1);
    assert_eq!(bench.step(&script).await.unwrap_err().class, ErrorClass::FenceShut);
    script.assert_done();
}

fn policy(id: &str, properties: Value) -> Bench {
    Bench::new("AWS::IAM::Policy", id, properties)
}

/// An inline policy leaves every role, group and user it names; gone is gone from one of them.
#[tokio::test]
async fn an_inline_policy_leaves_all_it_names() {
    let script = Script::new()
        .done("DeleteRolePolicy", &["PolicyName=access", "RoleName=app-role"])
        .fails("DeleteRolePolicy", "NoSuchEntity")
        .done("DeleteGroupPolicy", &["GroupName=staff", "PolicyName=access"])
        .done("DeleteUserPolicy", &["UserName=ann", "PolicyName=access"]);
    let properties = json!({ "Roles": ["app-role", "gone-role"], "Groups": ["staff"], "Users": ["ann"] });
    assert_eq!(policy("access", properties).step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().fails("DeleteRolePolicy", "NoSuchEntity");
    assert_eq!(policy("access", json!({ "Roles": ["app-role"] })).step(&script).await, Ok(Step::ALREADY_GONE));
}

/// Policy name, or legacy `policyName:roleName`; the text before the first `:` is the name.
#[tokio::test]
async fn a_legacy_id_names_the_role_where_the_properties_do_not() {
    let script = Script::new().done("DeleteRolePolicy", &["PolicyName=access", "RoleName=app-role"]);
    assert_eq!(policy("access:app-role", json!({})).step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().done("DeleteRolePolicy", &["PolicyName=access", "RoleName=other"]);
    assert_eq!(policy("access:app-role", json!({ "Roles": ["other"] })).step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().done("DeleteRolePolicy", &["PolicyName=access", "RoleName=app-role"]);
    assert_eq!(policy(":app-role", json!({ "PolicyName": "access" })).step(&script).await, Ok(Step::DELETED));
}

/// Several names behind masks are more than the one role that the id tells.
#[tokio::test]
async fn a_legacy_id_names_the_role_that_is_masked() {
    for roles in [json!("***"), json!(["***"]), json!(["{{resolve:ssm:r}}"])] {
        let script = Script::new()
            .done("DeleteRolePolicy", &["PolicyName=access", "RoleName=app-role"])
            .done("DeleteUserPolicy", &["PolicyName=access", "UserName=ann"]);
        let properties = json!({ "Roles": roles, "Users": ["ann"] });
        assert_eq!(policy("access:app-role", properties).step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
    for roles in [json!(["***", "***"]), json!(["other", "***"]), json!([{ "Ref": "R" }])] {
        assert_not_addressed(policy("access:app-role", json!({ "Roles": roles })), Code::MaskedAddress).await;
    }
    assert_not_addressed(policy("access:", json!({ "Roles": "***" })), Code::MaskedAddress).await;
}

/// An empty list is attached to nothing and needs no call; a policy that names no list at all is not addressed.
#[tokio::test]
async fn nothing_named_and_nothing_attached_are_two_things() {
    let script = Script::new();
    assert_eq!(policy("access", json!({ "Roles": [], "Users": [] })).step(&script).await, Ok(Step::ALREADY_GONE));
    for (id, properties, code) in [
        ("access", json!({}), Code::MissingAddress),
        ("access:", json!({}), Code::MissingAddress),
        ("", json!({ "Roles": ["app-role"] }), Code::MalformedPhysicalId),
        ("", json!({ "PolicyName": "***", "Roles": ["app-role"] }), Code::MaskedAddress),
        ("access", json!({ "Roles": ["***"] }), Code::MaskedAddress),
        ("access", json!({ "Roles": ["app-role"], "Users": ["{{resolve:ssm:u}}"] }), Code::MaskedAddress),
        ("access", json!({ "Roles": "app-role" }), Code::MaskedAddress),
        ("access", json!({ "Groups": [{ "Ref": "G" }] }), Code::MaskedAddress),
    ] {
        let answer = policy(id, properties.clone()).step(&script).await;
        assert!(matches!(&answer, Ok(Step::Skipped { code: c, .. }) if *c == code), "{id} {properties}: {answer:?}");
    }
    assert_eq!(script.seen(), Vec::<String>::new());
}

const ARN: &str = "arn:aws:iam::123456789012:policy/shared";

fn entities(groups: &[&str], roles: &[&str], users: &[&str], marker: Option<&str>) -> String {
    let list = |list: &str, field: &str, names: &[&str]| {
        let names: String = names.iter().map(|name| format!("<member><{field}>{name}</{field}></member>")).collect();
        format!("<{list}>{names}</{list}>")
    };
    let more = marker.map_or("<IsTruncated>false</IsTruncated>".to_owned(), |m| {
        format!("<IsTruncated>true</IsTruncated><Marker>{m}</Marker>")
    });
    let result = list("PolicyGroups", "GroupName", groups)
        + &list("PolicyRoles", "RoleName", roles)
        + &list("PolicyUsers", "UserName", users)
        + &more;
    answer("ListEntitiesForPolicy", &result)
}

fn version(id: &str, default: bool) -> String {
    format!("<VersionId>{id}</VersionId><IsDefaultVersion>{default}</IsDefaultVersion>")
}

const BOUNDARIES: &[&str] = &["Action=ListEntitiesForPolicy", "PolicyUsageFilter=PermissionsBoundary"];

/// The policy is nobody's boundary.
fn unbounded() -> Script {
    Script::new().on(BOUNDARIES, 200, entities(&[], &[], &[], None))
}

/// It could not go: what it grants is not taken from anybody before.
#[tokio::test]
async fn a_policy_that_is_a_boundary_stays_attached() {
    let bounds = || {
        let more = [BOUNDARIES, &["Marker=more"]].concat();
        Script::new().on(BOUNDARIES, 200, entities(&[], &[], &[], Some("more"))).on(
            &more,
            200,
            entities(&[], &["one"], &["ann"], None),
        )
    };
    let managed = || Bench::new("AWS::IAM::ManagedPolicy", ARN, json!({}));
    let step = managed().next(bounds()).await;
    let named = "DeleteConflict: held by role one (as its boundary), user ann (as its boundary)";
    assert!(matches!(&step, Ok(Step::Pending { note, .. }) if *note == named), "{step:?}");
    assert_passes(managed(), bounds, 3, 90).await;
}

/// A policy of AWS is everybody's: its list would name what other stacks are attached to, and each would be detached.
#[tokio::test]
async fn only_a_customer_managed_policy_is_addressed() {
    for id in [
        "",
        "shared",
        "arn:aws:iam::aws:policy/ReadOnlyAccess",
        "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole",
        "arn:aws:iam::123456789012:role/shared",
        "arn:aws:iam::123456789012:policy/",
        "arn:aws:iam:::policy/shared",
    ] {
        assert_not_addressed(Bench::new("AWS::IAM::ManagedPolicy", id, json!({})), Code::MalformedPhysicalId).await;
    }
    assert_not_addressed(Bench::new("AWS::IAM::ManagedPolicy", "***", json!({})), Code::MaskedAddress).await;
}

/// Detached from everything (uses as a boundary stay), versions but the default one deleted, then the policy.
#[tokio::test]
async fn a_managed_policy_is_detached_and_loses_its_versions() {
    let list = "Action=ListEntitiesForPolicy";
    let script = unbounded()
        .on(&[list, "PolicyUsageFilter=PermissionsPolicy"], 200, entities(&["staff"], &["one"], &[], Some("more")))
        .done("DetachGroupPolicy", &["GroupName=staff"])
        .done("DetachRolePolicy", &["RoleName=one"])
        .on(&[list, "Marker=more"], 200, entities(&[], &["two"], &["ann"], None))
        .fails("DetachRolePolicy", "NoSuchEntity")
        .done("DetachUserPolicy", &["UserName=ann"])
        .page("ListPolicyVersions", &[], "Versions", &[version("v3", true), version("v2", false)], Some("old"))
        .page("ListPolicyVersions", &["Marker=old"], "Versions", &[version("v1", false)], None)
        .done("DeletePolicyVersion", &["VersionId=v2"])
        .done("DeletePolicyVersion", &["VersionId=v1"])
        .done("DeletePolicy", &["policy%2Fshared"]);
    assert_eq!(Bench::new("AWS::IAM::ManagedPolicy", ARN, json!({})).step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().fails("ListEntitiesForPolicy", "NoSuchEntity");
    assert_eq!(Bench::new("AWS::IAM::ManagedPolicy", ARN, json!({})).step(&script).await, Ok(Step::ALREADY_GONE));
}

#[tokio::test]
async fn an_instance_profile_lets_its_roles_go_first() {
    let role = "<Roles><member><Path>/</Path><RoleName>app-role</RoleName><RoleId>A</RoleId><Arn>a</Arn>\
                <CreateDate>2026-01-01T00:00:00Z</CreateDate></member></Roles>";
    let found = format!("<InstanceProfile>{}</InstanceProfile>", profile("web").replace("<Roles/>", role));
    let script = Script::new()
        .on(&["Action=GetInstanceProfile", "InstanceProfileName=web"], 200, answer("GetInstanceProfile", &found))
        .done("RemoveRoleFromInstanceProfile", &["InstanceProfileName=web", "RoleName=app-role"])
        .done("DeleteInstanceProfile", &["InstanceProfileName=web"]);
    assert_eq!(Bench::new("AWS::IAM::InstanceProfile", "web", json!({})).step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().fails("GetInstanceProfile", "NoSuchEntity");
    assert_eq!(Bench::new("AWS::IAM::InstanceProfile", "web", json!({})).step(&script).await, Ok(Step::ALREADY_GONE));
}
