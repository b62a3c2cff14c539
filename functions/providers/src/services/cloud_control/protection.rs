//! Protections that only Cloud Control can switch off: read live, patched when the request lifts them, put back when the
//! delete fails for good. `UpdateResource` is a request like the delete: its token is remembered and looked at.

use std::time::Duration;

use aws_sdk_cloudcontrol::types::{OperationStatus, ProgressEvent};
use ebb_core::{Code, DeleteError, ErrorClass, Look, Resource, Step, text};
use serde_json::{Value, json};

use super::identifier::{self, Identifier};
use super::memo::{Failed, Memo};
use super::{RULES, spacing};
use crate::Cx;
use crate::call::{CallError, CallResult, StepError, StepResult};
use crate::classify::classify;
use crate::protection::refusal;

/// Most bytes of a failure that the memo carries until the protection is on again (`StepResult::MAX_MEMO_BYTES`).
const LONGEST_MESSAGE: usize = 160;

/// A property that protects a type.
struct Protection {
    resource_type: &'static str,
    property: &'static str,
    /// The protection is an object with a mode, not a flag.
    mode: bool,
}

const fn flag(resource_type: &'static str, property: &'static str) -> Protection {
    Protection { resource_type, property, mode: false }
}

/// cdkd patches the same types.
const PROTECTIONS: &[Protection] = &[
    flag("AWS::DSQL::Cluster", "DeletionProtectionEnabled"),
    flag("AWS::DocDB::GlobalCluster", "DeletionProtection"),
    flag("AWS::EKS::Cluster", "DeletionProtection"),
    flag("AWS::NeptuneGraph::Graph", "DeletionProtection"),
    flag("AWS::RDS::GlobalCluster", "DeletionProtection"),
    flag("AWS::SMSVOICE::ProtectConfiguration", "DeletionProtectionEnabled"),
    Protection { resource_type: "AWS::VerifiedPermissions::PolicyStore", property: "DeletionProtection", mode: true },
];

impl Protection {
    fn of(r: &Resource) -> Option<&'static Protection> {
        PROTECTIONS.iter().find(|p| p.resource_type == r.resource_type)
    }

    fn is_on(&self, model: &Value) -> bool {
        let value = &model[self.property];
        if self.mode { value["Mode"] == "ENABLED" } else { *value == true || *value == "true" }
    }

    fn patch(&self, on: bool) -> String {
        let value = match (self.mode, on) {
            (false, on) => json!(on),
            (true, true) => json!({ "Mode": "ENABLED" }),
            (true, false) => json!({ "Mode": "DISABLED" }),
        };
        json!([{ "op": "add", "path": format!("/{}", self.property), "value": value }]).to_string()
    }
}

/// Types that have a look of this road.
#[cfg(test)]
pub(crate) fn looked_at() -> impl Iterator<Item = &'static str> {
    PROTECTIONS.iter().map(|p| p.resource_type)
}

/// Whether the type's protection is on in AWS; `None` for a type that has none here.
async fn live(r: &Resource, id: &Identifier, cx: &Cx<'_>) -> Result<Option<bool>, StepError> {
    let Some(protection) = Protection::of(r) else { return Ok(None) };
    let answer = cx.aws.cloudcontrol().get_resource().type_name(&r.resource_type).identifier(id.sent()).send().await?;
    let model = answer.resource_description().and_then(|d| d.properties()).unwrap_or("{}");
    Ok(Some(serde_json::from_str::<Value>(model).is_ok_and(|model| protection.is_on(&model))))
}

/// Refuses as AWS would.
pub(super) async fn look(r: &Resource, cx: &Cx<'_>) -> Result<Look, StepError> {
    if Protection::of(r).is_none() || cx.run.options.remove_protection {
        return Ok(Look::Clear);
    }
    match live(r, &identifier::of(r, cx)?, cx).await? {
        Some(true) => Ok(Look::Refuses { code: Code::Protected, reason: refusal().into() }),
        _ => Ok(Look::Clear),
    }
}

/// Sends the patch and answers its event.
async fn patch(r: &Resource, id: &Identifier, on: bool, memo: &Memo, cx: &Cx<'_>) -> Result<Option<ProgressEvent>, StepError> {
    let Some(protection) = Protection::of(r) else { return Ok(None) };
    cx.fence.check().await?;
    let purpose = format!("protection {on} {}", memo.generation);
    let update = cx.aws.cloudcontrol().update_resource().type_name(&r.resource_type).identifier(id.sent());
    let update = update.patch_document(protection.patch(on)).client_token(cx.ctx.token(r, &purpose));
    Ok(update.send().await.about_other()?.progress_event)
}

/// Where the request of a patch stands; `None` while it runs.
async fn ended(token: &str, cx: &Cx<'_>) -> Result<Option<Result<(), String>>, StepError> {
    let status = cx.aws.cloudcontrol().get_resource_request_status().request_token(token).send().await.about_other();
    let event = match status {
        Ok(answer) => answer.progress_event,
        Err(error) if error.aws_code() == Some("RequestTokenNotFoundException") => None,
        Err(error) => return Err(error),
    };
    Ok(outcome(event.as_ref()))
}

fn outcome(event: Option<&ProgressEvent>) -> Option<Result<(), String>> {
    match event.and_then(|event| event.operation_status.as_ref()) {
        Some(OperationStatus::Success) => Some(Ok(())),
        Some(OperationStatus::Failed) => {
            let code = event.and_then(|event| event.error_code.as_ref()).map_or("Failed", |code| code.as_str());
            Some(Err(code.to_owned()))
        }
        Some(OperationStatus::CancelComplete) => Some(Err("CancelComplete".to_owned())),
        None => Some(Err("RequestTokenNotFoundException".to_owned())),
        Some(_) => None,
    }
}

/// The next thing to do before the delete; `None` when there is nothing more to do. A patch that fails is AWS's to judge at
/// the delete.
pub(super) async fn switch_off(r: &Resource, id: &Identifier, memo: &mut Memo, cx: &Cx<'_>) -> Result<Option<Step>, StepError> {
    const GOING: &str = "deletion protection is being switched off";
    if !cx.run.options.remove_protection || memo.patched || Protection::of(r).is_none() {
        return Ok(None);
    }
    if let Some(token) = memo.patch.clone() {
        let Some(ended) = ended(&token, cx).await? else {
            memo.looks += 1;
            return Ok(Some(memo.pending(spacing(memo.looks), GOING)));
        };
        if let Err(code) = ended {
            tracing::warn!(resource = %r.logical_id, code, "the deletion protection could not be switched off");
        }
        *memo = Memo { patch: None, patched: true, looks: 0, ..memo.clone() };
        return Ok(None);
    }
    match live(r, id, cx).await {
        Ok(Some(true)) => {}
        Ok(_) => {
            memo.patched = true;
            return Ok(None);
        }
        Err(StepError::Call(call)) if classify(&call, &RULES).class == ErrorClass::Denied => {
            tracing::warn!(resource = %r.logical_id, code = call.code, "cannot read the protection: the delete will tell");
            memo.patched = true;
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    if memo.protection_on_at.is_none() {
        memo.protection_on_at = Some(cx.clock.now());
        return Ok(Some(memo.pending(Duration::ZERO, "deletion protection is on: switching it off")));
    }
    match patch(r, id, false, memo, cx).await {
        Ok(Some(ProgressEvent { request_token: Some(token), .. })) => {
            memo.patch = Some(token);
            Ok(Some(memo.pending(spacing(0), GOING)))
        }
        Err(StepError::Call(call)) if passes(&call) => Err(call.into()),
        Err(StepError::Ours(error)) => Err(error.into()),
        failed => {
            let code = failed.err().and_then(|error| error.aws_code().map(str::to_owned)).unwrap_or_default();
            tracing::warn!(resource = %r.logical_id, code, "the deletion protection could not be switched off");
            memo.patched = true;
            Ok(None)
        }
    }
}

fn passes(call: &CallError) -> bool {
    matches!(classify(call, &RULES).class, ErrorClass::Retry { .. } | ErrorClass::Throttled | ErrorClass::FenceShut)
}

/// The delete has failed for good: a protection that this run switched off is put back first, in steps of its own.
pub(super) async fn failed(r: &Resource, id: &Identifier, error: DeleteError, mut memo: Memo, cx: &Cx<'_>) -> StepResult {
    if memo.protection_on_at.is_none() || Protection::of(r).is_none() {
        return Err(refused_as(error, cx).into());
    }
    match patch(r, id, true, &memo, cx).await {
        Ok(Some(ProgressEvent { request_token: Some(token), .. })) => {
            let DeleteError { class, code, message, .. } = error;
            let message = text::cut(&text::display(&message), LONGEST_MESSAGE);
            memo.failed = Some(Failed { code, message, denied: class == ErrorClass::Denied });
            memo.patch = Some(token);
            memo = Memo { token: None, asked_at: None, looks: 0, failing: None, ..memo };
            Ok(memo.pending(spacing(0), "the delete failed: deletion protection is being switched on again"))
        }
        other => {
            let code = match other {
                Err(StepError::Call(call)) => call.code,
                Err(StepError::Ours(shut)) => shut.code,
                _ => "no request token".to_owned(),
            };
            Err(with(error, Err(code)).into())
        }
    }
}

/// Waits for the protection to be on again, then tells the failure.
pub(super) async fn putting_back(failed: Failed, mut memo: Memo, cx: &Cx<'_>) -> StepResult {
    let outcome = match &memo.patch {
        Some(token) => ended(token, cx).await?,
        None => Some(Err("no request token".to_owned())),
    };
    let Some(outcome) = outcome else {
        memo.looks += 1;
        return Ok(memo.pending(spacing(memo.looks), "deletion protection is being switched on again"));
    };
    let Failed { code, message, denied } = failed;
    let class = if denied { ErrorClass::Denied } else { ErrorClass::Terminal };
    Err(with(DeleteError { class, code, message, request_id: None }, outcome).into())
}

/// The failure, and what became of the protection.
fn with(error: DeleteError, outcome: Result<(), String>) -> DeleteError {
    let message = match outcome {
        Ok(()) => format!("{} (deletion protection is on again)", error.message),
        Err(code) => {
            format!("{} (deletion protection was switched off and could not be switched on again: {code})", error.message)
        }
    };
    DeleteError { message, ..error }
}

/// A refusal for protection says how to lift it.
fn refused_as(error: DeleteError, cx: &Cx<'_>) -> DeleteError {
    if error.class != ErrorClass::Protected || cx.run.options.remove_protection {
        return error;
    }
    DeleteError { message: format!("{} ({})", refusal(), error.message), ..error }
}
