//! Elastic Load Balancing: application, network and gateway load balancers, their listeners and target groups. A load
//! balancer is gone in seconds; its interfaces need minutes more, which the subnets and groups wait for.

use aws_sdk_elasticloadbalancingv2::types::LoadBalancerAttribute;
use ebb_core::{Look, Resource, Step};

use crate::Cx;
use crate::arn::{Arn, name_of};
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Retry, Rules, blocked, is_blocked, retry};
use crate::holders::named;
use crate::protection;
use crate::registry::TypeDef;

const THROTTLED: Retry = retry("ThrottlingException", 2, 60);

const LOAD_BALANCER: Rules = Rules {
    gone: &["LoadBalancerNotFound", "LoadBalancerNotFoundException"],
    retry: &[retry("ResourceInUse", 15, 900), THROTTLED],
    terminal: &[],
    protected: &["OperationNotPermitted"],
};

const TARGET_GROUP: Rules = Rules {
    gone: &["TargetGroupNotFound", "TargetGroupNotFoundException"],
    retry: &[blocked("ResourceInUse", 5, 300), THROTTLED],
    ..Rules::NONE
};

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::ElasticLoadBalancingV2::Listener",
        step: |r, cx| Box::pin(listener(r, cx)),
        look: None,
        actions: &["elasticloadbalancing:DeleteListener"],
        rules: Rules {
            gone: &["ListenerNotFound", "ListenerNotFoundException", "LoadBalancerNotFound"],
            retry: &[retry("ResourceInUse", 5, 120), THROTTLED],
            ..Rules::NONE
        },
    },
    TypeDef {
        name: "AWS::ElasticLoadBalancingV2::LoadBalancer",
        step: |r, cx| Box::pin(load_balancer(r, cx)),
        look: Some(|r, cx| Box::pin(look(r, cx))),
        actions: &[
            "elasticloadbalancing:DeleteLoadBalancer",
            "elasticloadbalancing:DescribeLoadBalancerAttributes",
            "elasticloadbalancing:ModifyLoadBalancerAttributes",
        ],
        rules: LOAD_BALANCER,
    },
    TypeDef {
        name: "AWS::ElasticLoadBalancingV2::TargetGroup",
        step: |r, cx| Box::pin(target_group(r, cx)),
        look: None,
        actions: &["elasticloadbalancing:DeleteTargetGroup", "elasticloadbalancing:DescribeTargetGroups"],
        rules: TARGET_GROUP,
    },
];

/// The recorded ARN, which is all that this API takes. Deletes of target groups succeed for unknown ones, so its region
/// counts.
fn arn<'r>(r: &'r Resource, kind: &str, cx: &Cx<'_>) -> Result<&'r str, StepError> {
    name_of(r, kind, cx)?;
    let id = r.physical_id.as_str();
    Arn::parse(id).map(|_| id).ok_or_else(|| StepError::malformed_id(&format!("an ARN with {kind}")))
}

/// Its rules go with it.
async fn listener(r: &Resource, cx: &Cx<'_>) -> StepResult {
    cx.aws.elb().delete_listener().listener_arn(arn(r, "listener/", cx)?).send().await?;
    Ok(Step::DELETED)
}

async fn load_balancer(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let arn = arn(r, "loadbalancer/", cx)?;
    if let Some(step) = protection::lift(&LOAD_BALANCER, cx, protected(arn, cx), protect(arn, false, cx)).await? {
        return Ok(step);
    }
    match cx.aws.elb().delete_load_balancer().load_balancer_arn(arn).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) => Err(protection::failed(call, &LOAD_BALANCER, cx, protect(arn, true, cx)).await),
    }
}

const PROTECTION: &str = "deletion_protection.enabled";

async fn protected(arn: &str, cx: &Cx<'_>) -> Result<bool, CallError> {
    let answer = cx.aws.elb().describe_load_balancer_attributes().load_balancer_arn(arn).send().await?;
    Ok(answer.attributes().iter().any(|a| a.key() == Some(PROTECTION) && a.value() == Some("true")))
}

async fn protect(arn: &str, on: bool, cx: &Cx<'_>) -> Result<(), CallError> {
    let attribute = LoadBalancerAttribute::builder().key(PROTECTION).value(on.to_string()).build();
    cx.aws.elb().modify_load_balancer_attributes().load_balancer_arn(arn).attributes(attribute).send().await?;
    Ok(())
}

async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    protection::look(cx, protected(arn(r, "loadbalancer/", cx)?, cx)).await
}

/// Registered targets do not hold it, listeners and rules do.
async fn target_group(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let arn = arn(r, "targetgroup/", cx)?;
    match cx.aws.elb().delete_target_group().target_group_arn(arn).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if is_blocked(&call, &TARGET_GROUP) => {
            let by = named("load balancers", load_balancers_of(arn, cx).await);
            Err(call.held_by(by).into())
        }
        Err(call) => Err(call.into()),
    }
}

async fn load_balancers_of(group: &str, cx: &Cx<'_>) -> Result<Vec<String>, StepError> {
    let answer = cx.aws.elb().describe_target_groups().target_group_arns(group).send().await?;
    let ours = answer.target_groups().iter().filter(|g| g.target_group_arn() == Some(group));
    let name = |arn: &String| arn.split_once(":loadbalancer/").map_or(arn.clone(), |(_, name)| name.to_owned());
    Ok(ours.flat_map(|g| g.load_balancer_arns()).map(|arn| format!("{} (load balancer)", name(arn))).collect())
}

#[cfg(test)]
mod tests;
