//! What hangs on a function and goes in one call: aliases, versions, permissions, URLs, invoke configurations; and layers.

use ebb_core::provider::{Masked, is_masked};
use ebb_core::{Code, Resource, Step};

use super::name::check_region;
use super::{FunctionName, not_deleted};
use crate::Cx;
use crate::call::{StepError, StepResult};

/// The statement is the last part of the id; the function is a property, or the part of the id before it.
pub(super) async fn permission(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (recorded, statement) = match r.physical_id.rsplit_once('|') {
        Some((function, statement)) => (Some(function).filter(|f| !f.is_empty()), statement),
        None => (None, r.physical_id.as_str()),
    };
    if statement.is_empty() {
        return Err(StepError::Skip {
            code: Code::MalformedPhysicalId,
            reason: "permission has no statement id in state: no delete issued".into(),
        });
    }
    let function = match (r.address("FunctionName"), recorded) {
        (Ok(Some(function)), _) | (_, Some(function)) => function,
        (Err(masked), None) => return Err(masked.into()),
        (Ok(None), None) => return Err(StepError::missing("FunctionName")),
    };
    let name = FunctionName::parse(function, cx.aws.region())?;
    let call = cx.aws.lambda().remove_permission().function_name(name.function).statement_id(statement);
    // The policy of a version or alias is its own.
    call.set_qualifier(name.qualifier.map(str::to_owned)).send().await?;
    Ok(Step::DELETED)
}

/// Without its qualifier the call would address the URL of the unqualified function.
pub(super) async fn url(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let name = FunctionName::parse(&r.physical_id, cx.aws.region())?;
    let qualifier = r.address("Qualifier")?.or(name.qualifier);
    let call = cx.aws.lambda().delete_function_url_config().function_name(name.function);
    call.set_qualifier(qualifier.map(str::to_owned)).send().await?;
    Ok(Step::DELETED)
}

/// `function|qualifier`; `$LATEST` and no qualifier are the same configuration.
pub(super) async fn event_invoke_config(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let (function, qualifier) = match r.physical_id.split_once('|') {
        Some((function, qualifier)) => (function, Some(qualifier)),
        None => (r.physical_id.as_str(), None),
    };
    let name = FunctionName::parse(function, cx.aws.region())?;
    let qualifier = qualifier.or(name.qualifier).filter(|q| !q.is_empty() && *q != "$LATEST");
    let call = cx.aws.lambda().delete_function_event_invoke_config().function_name(name.function);
    call.set_qualifier(qualifier.map(str::to_owned)).send().await?;
    Ok(Step::DELETED)
}

/// DeleteFunction with a version deletes that version; without one it would delete the function.
pub(super) async fn version(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let name = FunctionName::parse(&r.physical_id, cx.aws.region())?;
    let version = name.qualifier.filter(|q| q.bytes().all(|b| b.is_ascii_digit()));
    let version = version.ok_or_else(|| StepError::malformed_id("a function's ARN with a version"))?;
    cx.aws.lambda().delete_function().function_name(name.function).qualifier(version).send().await.map_err(not_deleted)?;
    Ok(Step::DELETED)
}

/// The id is the alias's ARN, the function's with the alias behind it.
pub(super) async fn alias(r: &Resource, cx: &Cx<'_>) -> StepResult {
    let name = FunctionName::parse(&r.physical_id, cx.aws.region())?;
    let alias = name.qualifier.ok_or_else(|| StepError::malformed_id("a function's ARN with an alias"))?;
    cx.aws.lambda().delete_alias().function_name(name.function).name(alias).send().await?;
    Ok(Step::DELETED)
}

/// Functions that use it keep working, on a copy of Lambda's.
pub(super) async fn layer_version(r: &Resource, cx: &Cx<'_>) -> StepResult {
    if is_masked(&r.physical_id) {
        return Err(Masked { property: "physicalId".into() }.into());
    }
    let malformed = || StepError::malformed_id("a layer version's ARN");
    let parts: Vec<&str> = r.physical_id.split(':').collect();
    let ["arn", _, "lambda", at, _, "layer", layer, version] = parts[..] else { return Err(malformed()) };
    let version: i64 = version.parse().map_err(|_| malformed())?;
    check_region(at, cx.aws.region())?;
    if layer.is_empty() {
        return Err(malformed());
    }
    cx.aws.lambda().delete_layer_version().layer_name(layer).version_number(version).send().await?;
    Ok(Step::DELETED)
}
