//! CloudWatch Logs: log groups, metric filters, subscription filters. A log group's deletion protection is switched off
//! only when the request asks for it.

use ebb_core::{Look, Resource, Step};

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, retry};
use crate::protection;
use crate::registry::TypeDef;

const RULES: Rules = Rules {
    gone: &["ResourceNotFoundException"],
    retry: &[
        retry("OperationAbortedException", 2, 60),
        retry("ServiceUnavailableException", 3, 60),
        retry("ThrottlingException", 2, 60),
    ],
    terminal: &[],
    protected: &["ValidationException~deletion protection", "InvalidParameterException~deletion protection"],
};

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::Logs::LogGroup",
        step: |r, cx| Box::pin(log_group(r, cx)),
        look: Some(|r, cx| Box::pin(look(r, cx))),
        actions: &["logs:DeleteLogGroup", "logs:DescribeLogGroups", "logs:PutLogGroupDeletionProtection"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::Logs::MetricFilter",
        step: |r, cx| Box::pin(metric_filter(r, cx)),
        look: None,
        actions: &["logs:DeleteMetricFilter"],
        rules: RULES,
    },
    TypeDef {
        name: "AWS::Logs::SubscriptionFilter",
        step: |r, cx| Box::pin(subscription_filter(r, cx)),
        look: None,
        actions: &["logs:DeleteSubscriptionFilter"],
        rules: RULES,
    },
];

/// The name in a recorded id that may be a name or an ARN with or without `:*`.
fn group_name<'r>(r: &'r Resource, cx: &Cx<'_>) -> Result<&'r str, StepError> {
    let id = r.physical_id.as_str();
    same_region(id, cx)?;
    match Arn::parse(id) {
        Some(arn) => arn
            .resource
            .strip_prefix("log-group:")
            .map(|name| name.strip_suffix(":*").unwrap_or(name))
            .ok_or_else(|| StepError::malformed_id("a log group's name or ARN")),
        None => Ok(id),
    }
}

/// Protection off when asked, delete.
async fn log_group(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let group = group_name(r, cx)?;
    if let Some(step) = protection::lift(&RULES, cx, protected(group, cx), protect(group, false, cx)).await? {
        return Ok(step);
    }
    match cx.aws.logs().delete_log_group().log_group_name(group).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) => Err(protection::failed(call, &RULES, cx, protect(group, true, cx)).await),
    }
}

/// Whether the group is protected; not so when there is none of this very name. The call filters by prefix.
async fn protected(group: &str, cx: &Cx<'_>) -> Result<bool, CallError> {
    let mut pages = cx.aws.logs().describe_log_groups().log_group_name_prefix(group).into_paginator().items().send();
    while let Some(found) = pages.try_next().await? {
        if found.log_group_name() == Some(group) {
            return Ok(found.deletion_protection_enabled() == Some(true));
        }
    }
    Ok(false)
}

async fn protect(group: &str, on: bool, cx: &Cx<'_>) -> Result<(), CallError> {
    let flip = cx.aws.logs().put_log_group_deletion_protection().log_group_identifier(group).deletion_protection_enabled(on);
    flip.send().await?;
    Ok(())
}

async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    protection::look(cx, protected(group_name(r, cx)?, cx)).await
}

/// Group and filter from an id `group|filter`, or a bare filter name with its recorded group.
fn filter(r: &Resource) -> Result<(&str, &str), StepError> {
    match r.physical_id.split_once('|') {
        Some((group, filter)) if !group.is_empty() && !filter.is_empty() => Ok((group, filter)),
        None if !r.physical_id.is_empty() => {
            Ok((r.address("LogGroupName")?.ok_or_else(|| StepError::missing("LogGroupName"))?, &r.physical_id))
        }
        _ => Err(StepError::malformed_id("logGroup|filter")),
    }
}

/// Not found is gone, whether the filter or its whole group is missing.
async fn metric_filter(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (group, filter) = filter(r)?;
    cx.aws.logs().delete_metric_filter().log_group_name(group).filter_name(filter).send().await?;
    Ok(Step::DELETED)
}

/// As for a metric filter.
async fn subscription_filter(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (group, filter) = filter(r)?;
    cx.aws.logs().delete_subscription_filter().log_group_name(group).filter_name(filter).send().await?;
    Ok(Step::DELETED)
}

#[cfg(test)]
mod tests;
