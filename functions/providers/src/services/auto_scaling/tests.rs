use ebb_core::provider::ProvisionedBy;
use ebb_core::{Code, ErrorClass, Look, Step};
use serde_json::json;

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const DESCRIBE: &[&str] = &["Action=DescribeAutoScalingGroups&", "AutoScalingGroupNames.member.1=web"];
const FORCED: &[&str] = &["Action=DeleteAutoScalingGroup&", "AutoScalingGroupName=web", "ForceDelete=true"];
const UNFORCED: &[&str] = &["Action=DeleteAutoScalingGroup&", "AutoScalingGroupName=web", "ForceDelete=false"];
const OFF: &[&str] = &["Action=UpdateAutoScalingGroup&", "AutoScalingGroupName=web", "DeletionProtection=none"];
const PROTECTED: &str = "The group cannot be deleted while deletion protection is on";

fn done(action: &str) -> String {
    format!("<{action}Response><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></{action}Response>")
}

fn member(name: &str, protection: &str, instances: &[&str], status: &str) -> String {
    let instances: String = instances.iter().map(|id| format!("<member><InstanceId>{id}</InstanceId></member>")).collect();
    let status = if status.is_empty() { String::new() } else { format!("<Status>{status}</Status>") };
    format!(
        "<member><AutoScalingGroupName>{name}</AutoScalingGroupName><DeletionProtection>{protection}</DeletionProtection>\
         <Instances>{instances}</Instances>{status}</member>"
    )
}

fn groups(members: &[String]) -> String {
    format!(
        "<DescribeAutoScalingGroupsResponse><DescribeAutoScalingGroupsResult><AutoScalingGroups>{}</AutoScalingGroups>\
         </DescribeAutoScalingGroupsResult></DescribeAutoScalingGroupsResponse>",
        members.concat()
    )
}

/// A neighbour is listed beside it, as an endpoint that ignores the name would do.
fn found(protection: &str, instances: &[&str]) -> String {
    groups(&[member("webs", "none", &["i-far"], ""), member("web", protection, instances, "")])
}

fn going() -> String {
    groups(&[member("web", "none", &["i-1"], "Delete in progress")])
}

fn none() -> String {
    groups(&[])
}

fn group() -> Bench {
    Bench::new("AWS::AutoScaling::AutoScalingGroup", "web", json!({}))
}

fn unprotecting() -> Bench {
    let mut bench = group();
    bench.run.options.remove_protection = true;
    bench
}

fn release(id: &str) -> String {
    format!("InstanceId={id}")
}

trait Scaling: Sized {
    /// The termination protection of an instance is switched off.
    fn releases(self, id: &str) -> Self;
}

impl Scaling for Script {
    fn releases(self, id: &str) -> Self {
        self.on(
            &["Action=ModifyInstanceAttribute&", &release(id), "DisableApiTermination.Value=false"],
            200,
            "<ModifyInstanceAttributeResponse><return>true</return></ModifyInstanceAttributeResponse>",
        )
    }
}

fn is_pending(step: &Result<Step, ebb_core::DeleteError>) -> bool {
    matches!(step, Ok(Step::Pending { look_again, .. }) if look_again.as_secs() == 15)
}

#[tokio::test]
async fn a_group_goes_with_its_instances_and_is_watched_until_it_is_not_listed() {
    for id in ["web", "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:6a1f:autoScalingGroupName/web"] {
        let script = Script::new()
            .on(DESCRIBE, 200, found("none", &["i-1"]))
            .on(FORCED, 200, done("DeleteAutoScalingGroup"))
            .on(DESCRIBE, 200, going())
            .on(DESCRIBE, 200, none());
        let mut bench = Bench::new("AWS::AutoScaling::AutoScalingGroup", id, json!({}));
        assert!(is_pending(&bench.step(&script).await));
        bench.pass(15);
        assert!(is_pending(&bench.step(&script).await));
        assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
        script.assert_done();
    }
}

#[tokio::test]
async fn a_group_that_is_not_listed_is_gone() {
    for listed in [none(), groups(&[member("webs", "none", &["i-far"], "")])] {
        let script = Script::new().on(DESCRIBE, 200, listed);
        assert_eq!(group().step(&script).await, Ok(Step::ALREADY_GONE));
        script.assert_done();
    }
}

// Not found is a ValidationError like any other: only the text tells.
#[tokio::test]
async fn only_the_text_of_a_validation_error_says_gone() {
    for (text, gone) in [
        ("AutoScalingGroup name not found - AutoScalingGroup 'web' not found", true),
        ("The group does not exist", true),
        ("Value at 'name' failed to satisfy constraint", false),
    ] {
        let script = Script::new().on(DESCRIBE, 200, found("none", &["i-1"])).query_error(FORCED, "ValidationError", text);
        let step = group().step(&script).await;
        assert_eq!(step.clone().ok() == Some(Step::ALREADY_GONE), gone, "{text}: {step:?}");
        assert_eq!(step.is_err(), !gone);
    }
}

#[tokio::test]
async fn a_delete_that_did_not_take_is_asked_for_again() {
    let script = Script::new()
        .on(DESCRIBE, 200, found("none", &["i-1"]))
        .on(FORCED, 200, done("DeleteAutoScalingGroup"))
        .on(DESCRIBE, 200, found("none", &["i-1"]))
        .on(FORCED, 200, done("DeleteAutoScalingGroup"))
        .on(DESCRIBE, 200, none());
    let mut bench = group();
    assert!(is_pending(&bench.step(&script).await));
    assert!(is_pending(&bench.step(&script).await));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn what_passes_passes_within_its_budget() {
    for (code, wait, give_up) in
        [("ScalingActivityInProgress", 10, 900), ("ResourceInUse", 10, 900), ("ResourceContention", 3, 120)]
    {
        let failing = || Script::new().on(DESCRIBE, 200, found("none", &["i-1"])).query_error(FORCED, code, "busy");
        assert_passes(group(), failing, wait, give_up).await;
    }
    let script = Script::new().on(DESCRIBE, 200, found("none", &["i-1"])).query_error(FORCED, "AccessDenied", "no");
    assert_eq!(group().step(&script).await.map_err(|e| e.class), Err(ErrorClass::Denied));
}

#[tokio::test]
async fn a_protected_group_stays_unless_asked() {
    for level in ["prevent-all-deletion", "prevent-force-deletion"] {
        let script = Script::new().on(DESCRIBE, 200, found(level, &["i-1"])).query_error(FORCED, "ValidationError", PROTECTED);
        let error = group().step(&script).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Protected, Code::Protected.name()));
        assert!(error.message.contains("removeProtection"), "{}", error.message);
        script.assert_done();
    }
}

// That protection is for groups with instances: an empty one is deleted, but not by force.
#[tokio::test]
async fn an_empty_group_that_is_protected_against_force_goes_without_it() {
    let script =
        Script::new().on(DESCRIBE, 200, found("prevent-force-deletion", &[])).on(UNFORCED, 200, done("DeleteAutoScalingGroup"));
    assert!(is_pending(&group().step(&script).await));
    script.assert_done();
}

#[tokio::test]
async fn a_look_refuses_like_the_delete() {
    for (level, instances, refuses) in [
        ("prevent-all-deletion", &["i-1"][..], true),
        ("prevent-all-deletion", &[], true),
        ("prevent-force-deletion", &["i-1"], true),
        ("prevent-force-deletion", &[], false),
        ("none", &["i-1"], false),
    ] {
        let script = Script::new().on(DESCRIBE, 200, found(level, instances));
        let look = group().look(&script).await;
        assert_eq!(matches!(look, Ok(Look::Refuses { code: Code::Protected, .. })), refuses, "{level} {instances:?}");
        script.assert_done();
    }
    assert_eq!(unprotecting().look(&Script::new()).await, Ok(Look::Clear));
    assert_eq!(group().look(&Script::new().on(DESCRIBE, 200, none())).await, Ok(Look::Clear));
}

// The forced delete leaves an instance with termination protection running, owned by nobody.
#[tokio::test]
async fn with_removal_the_protections_of_group_and_instances_go_first() {
    let script = Script::new()
        .on(DESCRIBE, 200, found("prevent-all-deletion", &["i-2", "i-1"]))
        .on(DESCRIBE, 200, found("prevent-all-deletion", &["i-2", "i-1"]))
        .on(OFF, 200, done("UpdateAutoScalingGroup"))
        .releases("i-1")
        .ec2_error(&["Action=ModifyInstanceAttribute&", "InstanceId=i-2"], "InvalidInstanceID.NotFound", "no")
        .on(FORCED, 200, done("DeleteAutoScalingGroup"))
        .on(DESCRIBE, 200, none());
    let mut bench = unprotecting();
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { memo: Some(_), .. })));
    assert!(is_pending(&bench.step(&script).await));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_group_of_many_instances_is_released_over_several_steps() {
    let ids = ["i-3", "i-1", "i-2"];
    let mut bench = unprotecting();
    bench.soft_budget = 0;
    for id in ["i-1", "i-2"] {
        let answer = bench.next(Script::new().on(DESCRIBE, 200, found("none", &ids)).releases(id)).await;
        assert!(matches!(answer, Ok(Step::Pending { look_again, .. }) if look_again.is_zero()), "{answer:?}");
    }
    let script = Script::new().on(DESCRIBE, 200, found("none", &ids)).releases("i-3");
    assert!(is_pending(&bench.next(script.on(FORCED, 200, done("DeleteAutoScalingGroup"))).await));
}

// One that came meanwhile would be left running alone, wherever its id stands among the others'.
#[tokio::test]
async fn a_group_whose_instances_changed_is_gone_through_again() {
    for ids in [&["i-0", "i-2", "i-3"][..], &["i-0", "i-1", "i-2", "i-3"], &["i-3"]] {
        let mut bench = unprotecting();
        bench.soft_budget = 0;
        let script = Script::new().on(DESCRIBE, 200, found("none", &["i-1", "i-2", "i-3"])).releases("i-1");
        assert!(matches!(bench.next(script).await, Ok(Step::Pending { look_again, .. }) if look_again.is_zero()));
        bench.soft_budget = 10_000;
        let script = ids.iter().fold(Script::new().on(DESCRIBE, 200, found("none", ids)), |script, id| script.releases(id));
        assert!(is_pending(&bench.next(script.on(FORCED, 200, done("DeleteAutoScalingGroup"))).await), "{ids:?}");
    }
}

// At the level that it was on.
#[tokio::test]
async fn a_delete_that_fails_for_good_puts_the_protection_back() {
    for level in ["prevent-all-deletion", "prevent-force-deletion"] {
        let script = Script::new()
            .on(DESCRIBE, 200, found(level, &["i-1"]))
            .on(DESCRIBE, 200, found(level, &["i-1"]))
            .on(OFF, 200, done("UpdateAutoScalingGroup"))
            .releases("i-1")
            .query_error(FORCED, "ScalingActivityInProgress", "busy")
            .on(DESCRIBE, 200, found("none", &["i-1"]))
            .releases("i-1")
            .query_error(FORCED, "AccessDenied", "no")
            .on(&["Action=UpdateAutoScalingGroup&", &format!("DeletionProtection={level}")], 200, done("UpdateAutoScalingGroup"));
        let mut bench = unprotecting();
        for _ in 0..2 {
            assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
        }
        let error = bench.step(&script).await.unwrap_err();
        assert_eq!(error.message, "no (deletion protection is on again)");
        script.assert_done();
    }
}

// Best effort: what the flip could not do, AWS refuses at the delete.
#[tokio::test]
async fn a_flip_that_fails_for_good_is_left_to_the_delete() {
    let script = Script::new()
        .on(DESCRIBE, 200, found("prevent-all-deletion", &[]))
        .on(DESCRIBE, 200, found("prevent-all-deletion", &[]))
        .query_error(OFF, "AccessDenied", "no")
        .query_error(FORCED, "ValidationError", PROTECTED)
        .on(&["Action=UpdateAutoScalingGroup&", "prevent-all-deletion"], 200, done("UpdateAutoScalingGroup"));
    let mut bench = unprotecting();
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::Protected));
    script.assert_done();
}

// Cloud Control can neither lift the protection nor force the delete.
#[tokio::test]
async fn a_row_of_cloud_control_comes_here_when_protections_are_lifted() {
    let mut bench = unprotecting();
    bench.resource.provisioned_by = ProvisionedBy::CloudControl;
    let script = Script::new().on(DESCRIBE, 200, none());
    assert_eq!(bench.step(&script).await, Ok(Step::ALREADY_GONE));
    script.assert_done();

    let mut bench = group();
    bench.resource.provisioned_by = ProvisionedBy::CloudControl;
    let script = Script::new().otherwise(400, r#"{"__type":"AccessDeniedException","message":"no"}"#);
    assert!(bench.step(&script).await.is_err());
    assert!(!script.seen().iter().any(|call| call.contains("DeleteAutoScalingGroup")), "{:?}", script.seen());
}

#[tokio::test]
async fn what_is_not_addressed_makes_no_call() {
    let with = |id: &str| Bench::new("AWS::AutoScaling::AutoScalingGroup", id, json!({}));
    let elsewhere = "arn:aws:autoscaling:eu-west-1:123456789012:autoScalingGroup:6a1f:autoScalingGroupName/web";
    assert_not_addressed(with(elsewhere), Code::WrongRegion).await;
    assert_not_addressed(with(""), Code::MalformedPhysicalId).await;
    assert_not_addressed(with("arn:aws:autoscaling:us-east-1:1:scalingPolicy:6a1f"), Code::MalformedPhysicalId).await;
    assert_not_addressed(with("***"), Code::MaskedAddress).await;
}

#[tokio::test]
async fn a_shut_fence_lets_looks_pass_and_nothing_else() {
    assert_fenced(group(), Script::new().on(DESCRIBE, 200, found("none", &["i-1"]))).await;

    let script = Script::new().on(DESCRIBE, 200, found("none", &["i-1", "i-2"])).releases("i-1");
    let mut bench = unprotecting();
    bench.shut_after(1);
    assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    script.assert_done();
}
