//! DynamoDB: tables and global tables. An accepted DeleteTable of a plain table counts as gone. ResourceInUseException has passing and lasting causes, so
//! the table's status decides, not the code.

mod global_table;

use std::time::Duration;

use aws_sdk_dynamodb::types::{IndexStatus, TableDescription, TableStatus};
use ebb_core::{Code, DeleteError, ErrorClass, Look, Resource, Step};

use crate::Cx;
use crate::arn::{Arn, same_region};
use crate::call::{CallError, StepError, StepResult};
use crate::classify::{Rules, classify, retry};
use crate::protection;
use crate::registry::TypeDef;

const GONE: &[&str] = &["ResourceNotFoundException"];
const INDEX_BUSY: &str = "cannot delete table while indexes are being";

/// `LimitExceededException` counts control-plane operations at the same time here: it passes.
const RULES: Rules = Rules {
    gone: GONE,
    retry: &[
        retry("ResourceInUseException~cannot delete table while indexes are being", 8, 1100),
        retry("LimitExceededException", 5, 300),
        retry("InternalServerError", 3, 60),
    ],
    terminal: &[],
    protected: PROTECTED,
};

const PROTECTED: &[&str] = &["ValidationException~protected against deletion", "ValidationException~deletion protection"];

pub(crate) const TYPES: &[TypeDef] = &[
    TypeDef {
        name: "AWS::DynamoDB::GlobalTable",
        step: |r, cx| Box::pin(global_table::global_table(r, cx)),
        look: Some(|r, cx| Box::pin(look(r, cx))),
        actions: &[
            "application-autoscaling:DeregisterScalableTarget",
            "application-autoscaling:DescribeScalableTargets",
            "cloudformation:DeleteResource",
            "dynamodb:DeleteTable",
            "dynamodb:DeleteTableReplica",
            "dynamodb:DescribeTable",
            "dynamodb:UpdateTable",
        ],
        rules: global_table::RULES,
    },
    TypeDef {
        name: "AWS::DynamoDB::Table",
        step: |r, cx| Box::pin(table(r, cx)),
        look: Some(|r, cx| Box::pin(look(r, cx))),
        actions: &["dynamodb:DeleteTable", "dynamodb:DescribeTable", "dynamodb:UpdateTable"],
        rules: RULES,
    },
];

/// The name in a recorded id that may be a name or an ARN.
fn name<'r>(r: &'r Resource, cx: &Cx<'_>) -> Result<&'r str, StepError> {
    let id = r.physical_id.as_str();
    same_region(id, cx)?;
    match Arn::parse(id) {
        Some(arn) => arn.resource.strip_prefix("table/").ok_or_else(|| StepError::malformed_id("a table name or ARN")),
        None => Ok(id),
    }
}

/// Protection off when asked, wait until the table is active again, delete.
async fn table(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let table = name(r, cx)?;
    if cx.run.options.remove_protection
        && let Some(step) = unprotect(table, cx).await?
    {
        return Ok(step);
    }
    match cx.aws.dynamodb().delete_table().table_name(table).send().await.map_err(CallError::from) {
        Ok(_) => Ok(Step::DELETED),
        Err(call) if call.is(&["ResourceInUseException"]) && !call.message.to_lowercase().contains(INDEX_BUSY) => {
            busy(table, call, cx).await
        }
        Err(call) => Err(failed(table, call, cx).await),
    }
}

async fn describe(table: &str, cx: &Cx<'_>) -> Result<TableDescription, CallError> {
    let answer = cx.aws.dynamodb().describe_table().table_name(table).send().await?;
    Ok(answer.table.unwrap_or_else(|| TableDescription::builder().build()))
}

async fn protect(table: &str, on: bool, cx: &Cx<'_>) -> Result<(), CallError> {
    cx.aws.dynamodb().update_table().table_name(table).deletion_protection_enabled(on).send().await?;
    Ok(())
}

/// The next thing to do before the delete; `None` when there is nothing more to do, or no way to do it: a flip that is
/// denied is AWS's to refuse at the delete.
async fn unprotect(table: &str, cx: &Cx<'_>) -> Result<Option<Step>, StepError> {
    let found = match describe(table, cx).await {
        Ok(found) => found,
        Err(call) if classify(&call, &RULES).class == ErrorClass::Denied => {
            tracing::warn!(code = call.code, "cannot read the table's protection: switching it off unseen");
            cx.fence.check().await?;
            flip_off(table, cx).await;
            return Ok(None);
        }
        Err(call) => return Err(StepError::Call(call)),
    };
    if found.table_status == Some(TableStatus::Deleting) {
        return Ok(Some(Step::DELETED));
    }
    switch_off(&found, table, cx).await
}

/// Remembers a protection that is on, then switches it off, then waits until the table is active again.
async fn switch_off(found: &TableDescription, table: &str, cx: &Cx<'_>) -> Result<Option<Step>, StepError> {
    if found.deletion_protection_enabled == Some(true) {
        if let Some(step) = protection::remember(cx) {
            return Ok(Some(step));
        }
        if !protection::settling(cx) {
            return Ok(None);
        }
        cx.fence.check().await?;
        let goes_on = flip_off(table, cx).await;
        return Ok(goes_on.then(|| Step::pending(Duration::from_secs(1), "deletion protection is being switched off")));
    }
    let updating = found.table_status == Some(TableStatus::Updating) && protection::settling(cx);
    Ok(updating.then(|| Step::pending(Duration::from_secs(1), "the table is being updated")))
}

/// Whether it is off, or may be with the next try.
async fn flip_off(table: &str, cx: &Cx<'_>) -> bool {
    let Err(call) = protect(table, false, cx).await else { return true };
    tracing::warn!(code = call.code, "cannot switch the table's protection off");
    let class = classify(&call, &RULES).class;
    call.is(&["ResourceInUseException"])
        || matches!(class, ErrorClass::Retry { .. } | ErrorClass::Throttled | ErrorClass::FenceShut)
}

/// In use: on its way out already, changing and soon free, or for good.
async fn busy(table: &str, call: CallError, cx: &Cx<'_>) -> StepResult {
    let found = describe(table, cx).await?;
    let settled = |status: Option<&IndexStatus>| status.is_none_or(|s| *s == IndexStatus::Active);
    match &found.table_status {
        Some(TableStatus::Deleting) => Ok(Step::DELETED),
        Some(TableStatus::Creating | TableStatus::Updating) => Err(passes(call)),
        _ if !found.global_secondary_indexes().iter().all(|i| settled(i.index_status())) => Err(passes(call)),
        _ => Err(failed(table, call, cx).await),
    }
}

fn passes(call: CallError) -> StepError {
    StepError::Ours(DeleteError {
        class: ErrorClass::Retry { after: Duration::from_secs(5), give_up: Some(Duration::from_secs(600)) },
        code: call.code,
        message: call.message,
        request_id: call.request_id,
    })
}

async fn failed(table: &str, call: CallError, cx: &Cx<'_>) -> StepError {
    protection::failed(call, &RULES, cx, protect(table, true, cx)).await
}

async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    if cx.run.options.remove_protection {
        return Ok(Look::Clear);
    }
    match describe(name(r, cx)?, cx).await?.deletion_protection_enabled {
        Some(true) => Ok(Look::Refuses { code: Code::Protected, reason: protection::refusal().into() }),
        _ => Ok(Look::Clear),
    }
}

#[cfg(test)]
mod tests;
