use ebb_core::{Code, ErrorClass, Look, Step};
use serde_json::json;

use crate::testing::{Bench, Script, assert_fenced, assert_not_addressed, assert_passes};

const LISTENER: &str = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/web/1/2";
const LOAD_BALANCER: &str = "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/web/1";
const TARGET_GROUP: &str = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/3";

const DELETE: &[&str] = &["Action=DeleteLoadBalancer&", "loadbalancer%2Fapp%2Fweb%2F1"];
const READ: &[&str] = &["Action=DescribeLoadBalancerAttributes&", "loadbalancer%2Fapp%2Fweb%2F1"];
const OFF: &[&str] = &["Action=ModifyLoadBalancerAttributes&", "Key=deletion_protection.enabled", "Value=false"];
const ON: &[&str] = &["Action=ModifyLoadBalancerAttributes&", "Key=deletion_protection.enabled", "Value=true"];
const PROTECTED: &str = "Load balancer 'app/web/1' cannot be deleted because deletion protection is enabled";

fn done(action: &str) -> String {
    format!("<{action}Response><{action}Result/></{action}Response>")
}

fn attributes(protected: bool) -> String {
    format!(
        "<DescribeLoadBalancerAttributesResponse><DescribeLoadBalancerAttributesResult><Attributes>\
         <member><Key>access_logs.s3.enabled</Key><Value>true</Value></member>\
         <member><Key>deletion_protection.enabled</Key><Value>{protected}</Value></member>\
         </Attributes></DescribeLoadBalancerAttributesResult></DescribeLoadBalancerAttributesResponse>"
    )
}

fn load_balancer() -> Bench {
    Bench::new("AWS::ElasticLoadBalancingV2::LoadBalancer", LOAD_BALANCER, json!({}))
}

fn unprotecting() -> Bench {
    let mut bench = load_balancer();
    bench.run.options.remove_protection = true;
    bench
}

/// A type: its row, its delete, the codes that say it is gone.
type Row = (fn() -> Bench, &'static str, &'static [&'static str]);

fn rows() -> [Row; 3] {
    [
        (
            || Bench::new("AWS::ElasticLoadBalancingV2::Listener", LISTENER, json!({})),
            "DeleteListener",
            &["ListenerNotFound", "ListenerNotFoundException", "LoadBalancerNotFound"],
        ),
        (load_balancer, "DeleteLoadBalancer", &["LoadBalancerNotFound", "LoadBalancerNotFoundException"]),
        (
            || Bench::new("AWS::ElasticLoadBalancingV2::TargetGroup", TARGET_GROUP, json!({})),
            "DeleteTargetGroup",
            &["TargetGroupNotFound", "TargetGroupNotFoundException"],
        ),
    ]
}

// An accepted delete is gone: the interfaces that linger are waited for by their subnets.
#[tokio::test]
async fn one_call_deletes_each() {
    for (row, action, gone) in rows() {
        let call = format!("Action={action}&");
        let script = Script::new().on(&[&call, "Arn=arn%3Aaws%3Aelasticloadbalancing"], 200, done(action));
        assert_eq!(row().step(&script).await, Ok(Step::DELETED), "{action}");
        script.assert_done();
        for code in gone {
            let script = Script::new().query_error(&[&call], code, "no");
            assert_eq!(row().step(&script).await, Ok(Step::ALREADY_GONE), "{action} {code}");
        }
        for (code, class) in [("AccessDenied", ErrorClass::Denied), ("ValidationError", ErrorClass::Terminal)] {
            let script = Script::new().query_error(&[&call], code, "no");
            assert_eq!(row().step(&script).await.map_err(|e| e.class), Err(class), "{action}");
        }
        assert_passes(row(), || Script::new().query_error(&[&call], "ThrottlingException", "slow"), 2, 60).await;
        assert_fenced(row(), Script::new()).await;
    }
}

// An unknown target group also succeeds, so its ARN must be one of this region and kind.
#[tokio::test]
async fn what_is_not_an_arn_of_this_kind_and_region_makes_no_call() {
    for (row, ..) in rows() {
        let with = |id: &str| {
            let mut bench = row();
            bench.resource.physical_id = id.into();
            bench
        };
        for id in ["web", "", "arn:aws:elasticloadbalancing:us-east-1:1:rule/web", "arn:aws:elasticloadbalancing:us-east-1:1:"] {
            assert_not_addressed(with(id), Code::MalformedPhysicalId).await;
        }
        assert_not_addressed(with("***"), Code::MaskedAddress).await;
        assert_not_addressed(with(&row().resource.physical_id.replace("us-east-1", "eu-west-1")), Code::WrongRegion).await;
    }
}

#[tokio::test]
async fn what_is_in_use_is_waited_for_within_its_budget() {
    let in_use = |action: &str| Script::new().query_error(&[&format!("Action={action}&")], "ResourceInUse", "in use");
    let [(listener, ..), (load_balancer, ..), _] = rows();
    assert_passes(listener(), || in_use("DeleteListener"), 5, 120).await;
    assert_passes(load_balancer(), || in_use("DeleteLoadBalancer"), 15, 900).await;
}

#[tokio::test]
async fn the_load_balancers_that_hold_a_target_group_are_named() {
    let group = |arn: &str, by: &str| {
        format!(
            "<member><TargetGroupArn>{arn}</TargetGroupArn><LoadBalancerArns><member>{by}</member></LoadBalancerArns></member>"
        )
    };
    let other = LOAD_BALANCER.replace("web", "other");
    let groups = format!(
        "<DescribeTargetGroupsResponse><DescribeTargetGroupsResult><TargetGroups>{}{}</TargetGroups></DescribeTargetGroupsResult>\
         </DescribeTargetGroupsResponse>",
        group(&TARGET_GROUP.replace("web", "other"), &other),
        group(TARGET_GROUP, LOAD_BALANCER)
    );
    let failing = || {
        Script::new().query_error(&["Action=DeleteTargetGroup&"], "ResourceInUse", "in use").on(
            &["Action=DescribeTargetGroups&", "targetgroup%2Fweb%2F3"],
            200,
            groups.clone(),
        )
    };
    let [.., (target_group, ..)] = rows();
    let step = target_group().step(&failing()).await;
    let named = "ResourceInUse: held by app/web/1 (load balancer)";
    assert!(matches!(&step, Ok(Step::Pending { note, .. }) if *note == named), "{step:?}");
    assert_passes(target_group(), failing, 5, 300).await;
}

#[tokio::test]
async fn a_protected_load_balancer_stays_unless_asked() {
    let script = Script::new().query_error(DELETE, "OperationNotPermitted", PROTECTED);
    let error = load_balancer().step(&script).await.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Protected, Code::Protected.name()));
    assert!(error.message.contains("removeProtection") && error.message.contains(PROTECTED), "{}", error.message);
    script.assert_done();
}

#[tokio::test]
async fn a_look_names_the_protection() {
    let script = Script::new().on(READ, 200, attributes(true)).on(READ, 200, attributes(false));
    assert!(matches!(load_balancer().look(&script).await, Ok(Look::Refuses { code: Code::Protected, .. })));
    assert_eq!(load_balancer().look(&script).await, Ok(Look::Clear));
    assert_eq!(unprotecting().look(&script).await, Ok(Look::Clear));
    script.assert_done();
    let script = Script::new().query_error(READ, "LoadBalancerNotFound", "no");
    assert_eq!(load_balancer().look(&script).await, Ok(Look::Clear));
}

// That it was on is remembered before it is switched off.
#[tokio::test]
async fn protection_is_remembered_switched_off_and_the_balancer_deleted() {
    let script = Script::new()
        .on(READ, 200, attributes(true))
        .on(READ, 200, attributes(true))
        .on(OFF, 200, done("ModifyLoadBalancerAttributes"))
        .on(DELETE, 200, done("DeleteLoadBalancer"));
    let mut bench = unprotecting();
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { memo: Some(_), .. })));
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();

    let script = Script::new().on(READ, 200, attributes(false)).on(DELETE, 200, done("DeleteLoadBalancer"));
    assert_eq!(unprotecting().step(&script).await, Ok(Step::DELETED), "not flipped when it is off");
    script.assert_done();
    let script = Script::new().query_error(READ, "LoadBalancerNotFound", "no");
    assert_eq!(unprotecting().step(&script).await, Ok(Step::ALREADY_GONE));
}

#[tokio::test]
async fn a_delete_that_fails_for_good_puts_the_protection_back() {
    let script = Script::new()
        .on(READ, 200, attributes(true))
        .on(READ, 200, attributes(true))
        .on(OFF, 200, done("ModifyLoadBalancerAttributes"))
        .query_error(DELETE, "ResourceInUse", "an endpoint service uses it")
        .on(READ, 200, attributes(false))
        .query_error(DELETE, "AccessDenied", "no")
        .on(ON, 200, done("ModifyLoadBalancerAttributes"));
    let mut bench = unprotecting();
    for _ in 0..2 {
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    }
    let error = bench.step(&script).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("AccessDenied", "no (deletion protection is on again)"));
    script.assert_done();

    let script = Script::new().on(READ, 200, attributes(false)).query_error(DELETE, "AccessDenied", "no");
    assert_eq!(unprotecting().step(&script).await.map_err(|e| e.message), Err("no".into()), "it was off before");
    script.assert_done();
}

#[tokio::test]
async fn a_flip_that_is_denied_is_left_to_the_delete() {
    let script = Script::new().query_error(READ, "AccessDenied", "no").query_error(OFF, "AccessDenied", "no").query_error(
        DELETE,
        "OperationNotPermitted",
        PROTECTED,
    );
    let error = unprotecting().step(&script).await.unwrap_err();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Protected, "OperationNotPermitted"));
    script.assert_done();
}

#[tokio::test]
async fn a_flip_that_passes_is_tried_again_before_the_delete() {
    let script = Script::new()
        .on(READ, 200, attributes(true))
        .on(READ, 200, attributes(true))
        .query_error(OFF, "Throttling", "slow")
        .on(READ, 200, attributes(true))
        .on(OFF, 200, done("ModifyLoadBalancerAttributes"))
        .on(DELETE, 200, done("DeleteLoadBalancer"));
    let mut bench = unprotecting();
    for _ in 0..2 {
        assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    }
    assert_eq!(bench.step(&script).await, Ok(Step::DELETED));
    script.assert_done();
}

#[tokio::test]
async fn a_shut_fence_switches_nothing_off() {
    let script = Script::new().on(READ, 200, attributes(true)).on(READ, 200, attributes(true));
    let mut bench = unprotecting();
    bench.fence(false);
    assert!(matches!(bench.step(&script).await, Ok(Step::Pending { .. })));
    assert_eq!(bench.step(&script).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
    script.assert_done();
}
